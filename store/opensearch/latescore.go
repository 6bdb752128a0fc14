package opensearch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// lateScript scores a passage by late interaction from the doc values of its codes, as ann.CodesSimilarity
// does and to the same bit: what is compared is integer, and the sum is made in the order of the tokens.
// So a node answers with a number, where the codes are some kilobytes. A loop of a function may
// go round a million times; none does that often.
const lateScript = `
byte levelOf(int code) { return (byte) (44 * (code & 1) + 82 * (code >> 1 & 1) - 63); }
byte[] spread(byte[] p, int start, int end) {
  byte[] out = new byte[4 * (end - start)];
  for (int j = 0; j < end - start; j++) {
    int codes = p[start + j];
    int to = 64 * (j / 16) + j % 16;
    out[to] = levelOf(codes);
    out[to + 16] = levelOf(codes >> 2);
    out[to + 32] = levelOf(codes >> 4);
    out[to + 48] = levelOf(codes >> 6);
  }
  return out;
}
int product(byte[] p, int at, byte[] q, int from, int dim) {
  int sum = 0;
  int g = 0;
  for (; g + 16 <= dim; g += 16) {
    int i = from + g;
    sum += q[i] * p[at] + q[i + 1] * p[at + 1] + q[i + 2] * p[at + 2] + q[i + 3] * p[at + 3]
      + q[i + 4] * p[at + 64] + q[i + 5] * p[at + 65] + q[i + 6] * p[at + 66] + q[i + 7] * p[at + 67]
      + q[i + 8] * p[at + 128] + q[i + 9] * p[at + 129] + q[i + 10] * p[at + 130] + q[i + 11] * p[at + 131]
      + q[i + 12] * p[at + 192] + q[i + 13] * p[at + 193] + q[i + 14] * p[at + 194] + q[i + 15] * p[at + 195];
    at += 256;
  }
  for (; g < dim; g += 4) {
    int i = from + g;
    sum += q[i] * p[at] + q[i + 1] * p[at + 1] + q[i + 2] * p[at + 2] + q[i + 3] * p[at + 3];
    at += 64;
  }
  return sum;
}
int greatest(byte[] p, byte[] q, int from, int dim) {
  int best = -2147483648;
  for (int block = 0; block < p.length; block += 16 * dim) {
    for (int token = 0; token < 16; token++) {
      int sum = product(p, block + 4 * token, q, from, dim);
      if (sum > best) { best = sum; }
    }
  }
  return best;
}
def kept = doc[params.field];
if (kept.size() == 0) { return null; }
def codes = kept.value;
byte[] levels = spread(codes.bytes, codes.offset, codes.offset + codes.length);
byte[] q = Base64.getDecoder().decode(params.codes);
int dim = params.dim;
float score = 0;
for (int i = 0; i < params.scales.size(); i++) {
  int best = greatest(levels, q, i * dim, dim);
  score += (float) (((Number) params.scales.get(i)).floatValue() * (float) best);
}
return score;`

// scriptField is the name under which a hit has the script's score.
const scriptField = "late"

// mostScripted is the largest number of vectors of a question for which the cluster computes the scores. The script
// takes time with each of them, and fetching the codes takes the same time for any question: see
// docs/evidence/opensearch.md.
const mostScripted = 24

// unscriptedFor is for how long scores are computed here, of codes that are fetched, after a cluster did not run the
// script.
const unscriptedFor = time.Minute

// lateQuestion is a question to an expert of late interaction for which passages will be scored.
type lateQuestion struct {
	expert schema.Expert
	query  []float32
	script object
}

// Expect announces a question, as a vector for each token, before its hits are known. Prefetch then has the cluster
// score passages for it by a script; otherwise Scores fetches their codes and scores them here. Scores has to get the
// same slice, which is compared by its address, so the caller must not change it. Expect does nothing if the question
// is empty, does not fit the dimension or has more than mostScripted vectors, or if the cluster failed to run the
// script within unscriptedFor.
func (t tokens) Expect(query []float32) {
	if time.Now().UnixNano() < t.corpus.unscripted.Load() {
		return
	}
	codes, scales, err := ann.CodeQuestion(query, t.expert.Dimension)
	if err != nil || len(query) == 0 || len(scales) > mostScripted {
		return
	}
	bytes := make([]byte, len(codes))
	for i, c := range codes {
		bytes[i] = byte(c)
	}
	exact := make([]float64, len(scales)) // whose shortest form in JSON is read as the same
	for i, s := range scales {
		exact[i] = float64(s)
	}
	script := object{"lang": "painless", "source": lateScript, "params": object{
		"field": t.expert.Field(), "dim": t.expert.Dimension,
		"codes": base64.StdEncoding.EncodeToString(bytes), "scales": exact}}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := scoreKey{t.expert.Field(), strconv.Itoa(len(t.expecting))}
	t.expecting[key] = lateQuestion{t.expert, query, script}
}

// expectedOf returns the key under which Expect announced a vector for an expert; found is false if it did not. The
// vector is recognised by its memory: query must be the slice that Expect got.
func (r *request) expectedOf(x schema.Expert, query []float32) (key scoreKey, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known, e := range r.expecting {
		if e.expert == x && len(query) > 0 && &e.query[0] == &query[0] {
			return known, true
		}
	}
	return scoreKey{}, false
}

// scoreInCluster returns the scores of passages that the cluster computes, of those whose codes are not at hand. It
// returns nil without an error if the question was not announced, or the cluster does not run the script; then it is
// not asked to for unscriptedFor. Other errors of the cluster are returned.
func (t tokens) scoreInCluster(
	ctx context.Context,
	query []float32,
	passages []rank.Ordinal,
) (map[rank.Ordinal]float32, error) {
	key, ok := t.expectedOf(t.expert, query)
	if !ok {
		return nil, nil
	}
	for some := range slices.Chunk(t.unscored(key, passages), mostHits) {
		answers, err := t.store.multiPartly(ctx, []object{t.lateScoring(key, some)})
		if err == nil {
			err = t.takeLate(key, some, answers[0])
		}
		if errors.Is(err, cluster.ErrAnswer) {
			t.corpus.unscripted.Store(time.Now().Add(unscriptedFor).UnixNano())
			t.mu.Lock()
			delete(t.expecting, key)
			t.mu.Unlock()
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[rank.Ordinal]float32, len(passages))
	for _, o := range passages {
		if score, ok := t.scores[key][o]; ok {
			out[o] = score
		}
	}
	return out, nil
}

// lateScoring returns the search that has the cluster score passages by a script for the question that was announced
// under key (Expect). The passages that are not gone are its hits.
func (r *request) lateScoring(key scoreKey, ordinals []rank.Ordinal) object {
	r.mu.Lock()
	script := r.expecting[key].script
	r.mu.Unlock()
	return withoutStored(object{
		"size":             len(ordinals),
		"query":            object{"bool": object{"filter": r.store.idsQuery(r.table.idsOf(ordinals))}},
		"track_total_hits": false,
		"script_fields":    object{scriptField: object{"script": script}},
	})
}

// takeLate keeps the scores in the answer to lateScoring. A passage that the expert left out, for which the script
// returns null, gets rank.NoVector; one that is gone, or whose shard is missing, NaN. It returns an ErrAnswer for a
// score that is no number.
func (r *request) takeLate(key scoreKey, ordinals []rank.Ordinal, s searchAnswer) error {
	byID := make(map[string]float32, len(s.hits))
	for _, h := range s.hits {
		var number json.Number
		switch all := h.fields[scriptField]; {
		case len(all) != 1 || json.Unmarshal(all[0], &number) != nil:
			continue
		case number == "":
			byID[h.id] = rank.NoVector
			continue
		}
		score, err := strconv.ParseFloat(number.String(), 32)
		if err != nil {
			return fmt.Errorf("%w: the score of %q: %w", cluster.ErrAnswer, h.id, err)
		}
		byID[h.id] = float32(score)
	}
	scores := make([]float32, len(ordinals))
	for i, id := range r.table.idsOf(ordinals) {
		score, ok := byID[id]
		if !ok {
			score = notANumber
		}
		scores[i] = score
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scores[key] == nil {
		r.scores[key] = map[rank.Ordinal]float32{}
	}
	for i, o := range ordinals {
		r.scores[key][o] = scores[i]
	}
	return nil
}

// unscored returns the passages without a score for an announced question whose codes are not at hand either.
func (r *request) unscored(key scoreKey, ordinals []rank.Ordinal) []rank.Ordinal {
	r.mu.Lock()
	x := r.expecting[key].expert
	r.mu.Unlock()
	return slices.DeleteFunc(r.withoutScore(key, ordinals), func(o rank.Ordinal) bool { return r.codesAt(x, o) != nil })
}
