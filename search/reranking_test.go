package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// judge is a reranker that scores passages by a rule that a test can follow: by the bytes of
// their texts, and then by how often they say "red".
type judge struct {
	scored  []string // ids of the passages, of the last call
	hook    func(ctx context.Context) error
	unknown int
	cut     int // of the texts that are longer than this the end is not read; 0: none
}

func (j *judge) KnownWords(string) (words, whole, unknown int) { return 4, 0, j.unknown }

func judged(text string) float64 {
	return float64(len(text)%7) - 3 + 2*float64(strings.Count(text, "red"))
}

func (j *judge) Score(ctx context.Context, _ string, passages []corpus.Passage) (out []learned.Relevance, err error) {
	j.scored = nil
	for _, p := range passages {
		j.scored = append(j.scored, p.ID)
		out = append(out, learned.Relevance{Score: judged(p.Text), Cut: j.cut > 0 && len(p.Text) > j.cut})
	}
	if j.hook != nil {
		err = j.hook(ctx)
	}
	return out, err
}

// withJudge returns a stage of 60 passages with a judge.
func withJudge() (*stage, *judge) {
	s := newStage("A", 60)
	j := new(judge)
	s.config.Rerankers = []learned.LoadedReranker{{Reranker: j, Name: "judge"}, {Reranker: new(judge), Name: "other"}}
	return s, j
}

func reranked(passages int) ask.RerankOptions {
	return ask.RerankOptions{Asked: true, Wanted: true, Passages: passages}
}

// rerankedByHand returns the first n results in the order of their scores and what the judge says of
// each above the least, times the weight, with these scores.
func rerankedByHand(results []reply.Result, n int, weight float64) (order []string, scores map[string]float64) {
	first := slices.Clone(results[:n])
	least := math.Inf(1)
	for _, r := range first {
		least = min(least, judged(r.Text))
	}
	scores = map[string]float64{}
	for _, r := range first {
		scores[r.ID] = r.Score + weight*(judged(r.Text)-least)
	}
	slices.SortStableFunc(first, func(a, b reply.Result) int { return cmp.Compare(scores[b.ID], scores[a.ID]) })
	return append(ids(first), ids(results[n:])...), scores
}

// spreads returns the standard deviations of the first n scores and of what the judge says.
func spreads(results []reply.Result, n int) (scores, said float64) {
	of := func(number func(reply.Result) float64) float64 {
		sum, squares := 0.0, 0.0
		for _, r := range results[:n] {
			sum += number(r)
			squares += number(r) * number(r)
		}
		return math.Sqrt(squares/float64(n) - sum*sum/float64(n*n))
	}
	return of(
			func(r reply.Result) float64 { return r.Score },
		), of(
			func(r reply.Result) float64 { return judged(r.Text) },
		)
}

// TestReranked: the first passages are ranked by both, with a weight that was fitted or, without
// one and by any other method, such that both vary equally; what the reranker adds is among the
// contributions, which add up.
func TestReranked(t *testing.T) {
	for _, method := range []string{fusion.MethodGate, fusion.MethodRRF, fusion.MethodSum} {
		for _, fitted := range []*float64{nil, new(float64)} {
			s, j := withJudge()
			if fitted != nil {
				*fitted = 0.07
				s.config.Rerankers[0].Weight = fitted
			}
			before := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(method), K: 30})
			scores, said := spreads(before.Results, 12)
			weight := scores / said
			if fitted != nil && method == fusion.MethodGate {
				weight = *fitted
			}
			want, by := rerankedByHand(before.Results, 12, weight)
			got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(method), K: 30, Rerank: reranked(12)})
			if !slices.Equal(ids(got.Results), want) || slices.Equal(want, ids(before.Results)) {
				t.Fatalf(
					"%s, %v: %v, by hand %v, without %v",
					method,
					fitted,
					ids(got.Results),
					want,
					ids(before.Results),
				)
			}
			if !slices.Equal(j.scored, ids(before.Results[:12])) {
				t.Errorf("%s: scored were %v", method, j.scored)
			}
			for i, r := range got.Results {
				c := r.Contributions[len(r.Contributions)-1]
				if (c.Origin == reply.OriginRerank) != (i < 12) {
					t.Errorf("%s: result %d: %+v", method, i+1, c)
				}
				if i < 12 && (c.Source != "judge" || math.Abs(r.Score-by[r.ID]) > 1e-6) {
					t.Errorf("%s: %s has %g, by hand %g: %+v", method, r.ID, r.Score, by[r.ID], c)
				}
			}
		}
	}
}

// TestRerankedPages: the pages of a reranked ranking make up that ranking, and so do groups.
func TestRerankedPages(t *testing.T) {
	s, j := withJudge()
	whole := s.ask(t, Request{Question: askedOften, K: 30, Rerank: reranked(12)})
	var paged []string
	for from := 0; from < 30; from += 5 {
		j.scored = nil
		engine := s.engine(t)
		page, err := engine.Search(
			t.Context(),
			Caller{},
			Request{Question: askedOften, K: 5, Offset: from, Rerank: reranked(12)},
		)
		if err := errors.Join(err, engine.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		paged = append(paged, ids(page.Results)...)
		if len(j.scored) != 12 {
			t.Errorf("from %d on: scored were %v", from, j.scored)
		}
	}
	if !slices.Equal(paged, ids(whole.Results)) {
		t.Errorf("%v, in pages %v", ids(whole.Results), paged)
	}
	few := s.ask(t, Request{Question: askedOften, K: 3, Rerank: reranked(12)})
	if !slices.Equal(ids(few.Results), ids(whole.Results[:3])) {
		t.Errorf("three of %v: %v", ids(whole.Results), ids(few.Results))
	}
	grouped := s.ask(
		t,
		Request{Question: askedOften, K: 7, Offset: 2, GroupBy: ask.GroupByDocument, Rerank: reranked(12)},
	)
	var firsts []string
	for _, g := range grouped.Groups { // no passage is of a document
		firsts = append(firsts, ids(g.Results)...)
	}
	if !slices.Equal(firsts, ids(whole.Results[2:9])) {
		t.Errorf("groups of %v: %v", ids(whole.Results), firsts)
	}
}

// TestRerankedAndRead: a reader reads the first passages of the reranked ranking, and what both
// add stands beside each other.
func TestRerankedAndRead(t *testing.T) {
	s, _ := withJudge()
	m := new(marker)
	s.config.Readers = []learned.LoadedReader{{Reader: m, Name: "marker", Ranking: 2}}
	s.config.Defaults.Chances = &sure{first: .4, any: .7}
	plain := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 20, Rerank: reranked(12)})
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 20, Rerank: reranked(12),
		Answer: wanted(ask.AnswerOptions{Passages: 6})})
	if !slices.Equal(m.read, ids(plain.Results[:6])) {
		t.Errorf("read were %v of %v", m.read, ids(plain.Results))
	}
	both := 0
	for _, r := range got.Results {
		origins := ""
		for _, c := range r.Contributions {
			origins += c.Origin + " "
		}
		if strings.HasSuffix(origins, reply.OriginRerank+" "+reply.OriginRead+" ") {
			both++
		}
	}
	if both != 6 || len(got.Answers) == 0 {
		t.Errorf("%d results have both, %d answers", both, len(got.Answers))
	}
}

// TestRerankedByTheReader: where the reader that marks answers reranks too, its selection counts once, and the
// confidence is the reader's alone.
func TestRerankedByTheReader(t *testing.T) {
	s, _ := withJudge()
	s.config.Rerankers[0].Name = "marker"
	s.config.Rerankers[0].Reads = true
	s.config.Readers = []learned.LoadedReader{{Reader: new(marker), Name: "marker", Ranking: 2}}
	r := Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: 20, Rerank: reranked(12)}
	plain := s.ask(t, r)
	r.Answer = wanted(ask.AnswerOptions{Passages: 6})
	got := s.ask(t, r)
	if !slices.Equal(ids(got.Results), ids(plain.Results)) || len(got.Answers) == 0 {
		t.Errorf(
			"ranked %v with answers, %v without; %d answers",
			ids(got.Results),
			ids(plain.Results),
			len(got.Answers),
		)
	}
	for i, result := range got.Results {
		for _, c := range result.Contributions {
			if c.Origin == reply.OriginRead {
				t.Errorf("result %d is raised by the reader once more: %+v", i, result.Contributions)
			}
		}
	}
}

// TestRerankByDefault: the configuration asks for it, and a request has the last word.
func TestRerankByDefault(t *testing.T) {
	s, j := withJudge()
	s.config.Defaults.Rerank = "true"
	for _, c := range []struct {
		r      Request
		scored int
	}{
		{Request{}, 20},
		{Request{Rerank: ask.RerankOptions{Asked: true}}, 0},
		{Request{Rerank: reranked(3)}, 3},
		{Request{Fusion: listOf(fusion.MethodRRF, fusion.MethodSum)}, 0},
		{Request{Rerank: ask.RerankOptions{Asked: true, Wanted: true, Model: "other"}}, 0}, // by the other
	} {
		j.scored = nil
		c.r.Question = askedOften
		s.ask(t, c.r)
		if len(j.scored) != c.scored {
			t.Errorf("%+v: %d were scored, not %d", c.r, len(j.scored), c.scored)
		}
	}
	zero := 0.0
	s.config.Rerankers[0].Weight = &zero
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)})
	if j.scored != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "better order without it") {
		t.Errorf("%v, %q", j.scored, got.Notes)
	}
}

// TestRerankerThatFails: the ranking is as without it, and the answer says why; so too where it
// knows none of the question's words.
func TestRerankerThatFails(t *testing.T) {
	s, j := withJudge()
	before := s.ask(t, Request{Question: askedOften})
	for cause, want := range map[error]string{
		errors.New("no"): "it failed, so they are ranked without it; the server's log says why",
		fmt.Errorf("late: %w", context.DeadlineExceeded): "it had not scored the passages in time, so they are ranked without it (timeout_ms is 2000)",
	} {
		j.hook = func(context.Context) error { return cause }
		got := s.ask(t, Request{Question: askedOften, TimeoutMS: 2000, Rerank: reranked(12)})
		if len(got.Degraded) != 1 || got.Degraded[0] != (reply.Missing{Source: "judge", Reason: want}) {
			t.Errorf("%v: %+v", cause, got.Degraded)
		}
		if !slices.Equal(ids(got.Results), ids(before.Results)) {
			t.Errorf("%v: %v, not %v", cause, ids(got.Results), ids(before.Results))
		}
	}
	j.hook, j.unknown = nil, 4
	got := s.ask(t, Request{Question: askedOften, Rerank: reranked(12)})
	if len(got.Notes) != 1 || !slices.Equal(ids(got.Results), ids(before.Results)) {
		t.Errorf("%q, %v", got.Notes, ids(got.Results))
	}
	j.unknown, j.cut = 0, 1
	got = s.ask(t, Request{Question: askedOften, Rerank: reranked(12)})
	if len(got.Notes) != 1 ||
		got.Notes[0] != "judge read only the beginning of 12 of 12 passages, since they are too long for it" {
		t.Errorf("%q", got.Notes)
	}
}

// TestRerankerThatIsSlow has a share of the time, and leaves what fetching needs.
func TestRerankerThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, j := withJudge()
		j.hook = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		began := time.Now()
		got := s.ask(t, Request{Question: askedOften, TimeoutMS: 400, Rerank: reranked(12)})
		if took := time.Since(began); took >= 400*time.Millisecond || len(got.Degraded) != 1 || len(got.Results) == 0 {
			t.Errorf("%v, %+v", took, got.Degraded)
		}
	})
}

// TestRerankRefused: what cannot be asked.
func TestRerankRefused(t *testing.T) {
	s, _ := withJudge()
	for code, r := range map[string]Request{
		"unknown_reranker": {Rerank: ask.RerankOptions{Asked: true, Wanted: true, Model: "nobody"}},
		"not_one_ranking":  {Rerank: reranked(0), Fusion: listOf(fusion.MethodRRF, fusion.MethodSum)},
		"out_of_range":     {Rerank: reranked(MostRead + 1)},
	} {
		r.Question = askedOften
		if e := s.refused(t, r); e.Code != code || !strings.HasPrefix(e.Fields[0].Pointer, "/rerank") {
			t.Errorf("%s: %+v", code, e)
		}
	}
	s.config.Rerankers = nil
	s.config.Late = nil
	if e := s.refused(t, Request{Question: askedOften, Rerank: reranked(0)}); e.Code != "needs_reranker" {
		t.Errorf("%+v", e)
	}
}

// TestRerankOptionsAsJSON: true, false, auto and an object.
func TestRerankOptionsAsJSON(t *testing.T) {
	for text, want := range map[string]ask.RerankOptions{
		`null`:                       {},
		`true`:                       {Asked: true, Wanted: true},
		`false`:                      {Asked: true},
		`"auto"`:                     {Asked: true, Auto: true},
		`{"model":"a","passages":7}`: {Asked: true, Wanted: true, Model: "a", Passages: 7},
		`{"passages":7}`:             {Asked: true, Wanted: true, Passages: 7},
	} {
		var got, again ask.RerankOptions
		err := json.Unmarshal([]byte(text), &got)
		data, failed := json.Marshal(got)
		if err != nil || failed != nil || got != want {
			t.Errorf("%s: %+v, %v, %v", text, got, err, failed)
		}
		if text != `null` && (json.Unmarshal(data, &again) != nil || again != want) {
			t.Errorf("%s became %s", text, data)
		}
	}
	if err := json.Unmarshal([]byte(`"yes"`), new(ask.RerankOptions)); err == nil {
		t.Error("text is taken")
	}
	if data, err := json.Marshal(Request{Question: "x"}); err != nil || strings.Contains(string(data), "rerank") {
		t.Errorf("%s, %v", data, err)
	}
}
