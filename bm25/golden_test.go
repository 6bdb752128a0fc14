package bm25

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/testing/golden"
)

// A passage, a question and a line of Lucene's output, as the reference
// material has them.
type (
	goldenPassage struct{ ID, Title, Text string }

	goldenQuestion struct {
		ID       string
		Question string
		Positive []string           `json:"positive_ids"`
		Grades   map[string]float64 `json:"grades"`
	}

	goldenRun struct {
		Docs, Terms int // first line

		ID      string
		Words   []string
		Hits    []goldenHit
		Matched int
	}

	goldenHit struct {
		ID    string
		Score float64
	}
)

func (h *goldenHit) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&h.ID, &h.Score})
}

// UnmarshalJSON tells the two kinds of lines apart, whose "terms" differ.
func (r *goldenRun) UnmarshalJSON(b []byte) error {
	var line struct {
		Docs    int
		Terms   json.RawMessage
		ID      string
		Hits    []goldenHit
		Matched int
	}
	if err := json.Unmarshal(b, &line); err != nil {
		return err
	}
	*r = goldenRun{Docs: line.Docs, ID: line.ID, Hits: line.Hits, Matched: line.Matched}
	if r.ID == "" {
		return json.Unmarshal(line.Terms, &r.Terms)
	}
	return json.Unmarshal(line.Terms, &r.Words)
}

// goldenSet is one data set: its passages, questions by id, and Lucene's run.
type goldenSet struct {
	ids       []string
	passages  []goldenPassage
	questions map[string]goldenQuestion
	header    goldenRun
	runs      []goldenRun
}

var unionDomains = []string{"wiki", "amazon", "fairytale", "medquad", "policy", "nq", "covid", "pubmedqa"}

func loadGolden(t testing.TB, name string) goldenSet {
	t.Helper()
	s := goldenSet{questions: make(map[string]goldenQuestion)}
	lines := golden.Lines[goldenRun](t, "golden/bm25/"+name+".run.jsonl.gz")
	s.header = lines[0]
	s.runs = lines[1:]
	domains := []string{name}
	split := "test"
	prefix := ""
	if name == "union" {
		domains, split = unionDomains, "dev"
	}
	for _, domain := range domains {
		if name == "union" {
			prefix = domain + "/"
		}
		for _, p := range golden.Lines[goldenPassage](t, "data/"+domain+"/passages.jsonl.gz") {
			s.ids = append(s.ids, prefix+p.ID)
			s.passages = append(s.passages, p)
		}
		for _, q := range golden.Lines[goldenQuestion](t, "data/"+domain+"/questions."+split+".jsonl.gz") {
			s.questions[prefix+q.ID] = q
		}
	}
	return s
}

// build writes a segment of passages and opens it.
func build(t testing.TB, params Params, passages []goldenPassage) *Index {
	t.Helper()
	b := NewBuilder(params)
	for _, p := range passages {
		if err := b.Add(p.Title, p.Text); err != nil {
			t.Fatal(err)
		}
	}
	return write(t, b)
}

func write(t testing.TB, b *Builder) *Index {
	t.Helper()
	path := filepath.Join(t.TempDir(), "words.bm25")
	if err := b.Write(disk.OS{}, path); err != nil {
		t.Fatal(err)
	}
	x, err := Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestLucene compares with what Lucene 9.12.1 found: numbers of passages and
// terms, the questions' terms, the hits and their scores, how many matched.
func TestLucene(t *testing.T) {
	for _, name := range []string{"cacm", "cranfield", "nfcorpus", "scifact", "union"} {
		t.Run(name, func(t *testing.T) {
			s := loadGolden(t, name)
			x := build(t, DefaultParams(), s.passages)
			if x.Docs() != s.header.Docs || x.Terms() != s.header.Terms {
				t.Fatalf("%d passages with %d terms, Lucene has %d with %d", x.Docs(), x.Terms(), s.header.Docs, s.header.Terms)
			}
			worst, swapped := 0.0, 0
			for _, run := range s.runs {
				question := s.questions[run.ID].Question
				if got := forms.Analyse(question); !slices.Equal(got, run.Words) {
					t.Fatalf("%s: terms are %q, Lucene's %q", run.ID, got, run.Words)
				}
				matched, err := x.alone().matched(t.Context(), question)
				if err != nil {
					t.Fatal(err)
				}
				if matched != run.Matched {
					t.Errorf("%s: %d passages match, Lucene has %d", run.ID, matched, run.Matched)
				}
				hits, err := x.Search(t.Context(), question, max(len(run.Hits), 1))
				if err != nil {
					t.Fatal(err)
				}
				if len(hits) != len(run.Hits) {
					t.Fatalf("%s: %d hits, Lucene has %d", run.ID, len(hits), len(run.Hits))
				}
				for i, want := range run.Hits {
					off := math.Abs(float64(hits[i].Score)-want.Score) / want.Score
					worst = max(worst, off)
					if off > 1e-6 {
						t.Errorf("%s: hit %d has score %v, Lucene's %v", run.ID, i, hits[i].Score, want.Score)
					}
					if s.ids[hits[i].Ordinal] != want.ID {
						swapped++
						if !tied(run.Hits, i) {
							t.Errorf("%s: hit %d is %s, Lucene's %s", run.ID, i, s.ids[hits[i].Ordinal], want.ID)
						}
					}
				}
			}
			t.Logf(
				"%d questions: largest relative difference of scores %.1e, %d hits of equal score in another order",
				len(s.runs),
				worst,
				swapped,
			)
		})
	}
}

// tied reports whether a hit's score is that of a neighbour, or of the last hit,
// beyond which the list does not say what comes.
func tied(hits []goldenHit, i int) bool {
	equal := func(j int) bool {
		return j >= 0 && j < len(hits) && math.Abs(hits[i].Score-hits[j].Score) <= 1e-6*hits[i].Score
	}
	return equal(i-1) || equal(i+1) || i == len(hits)-1
}

// TestPublishedQuality compares nDCG@10 with the published figures of BM25 on
// two BEIR collections.
func TestPublishedQuality(t *testing.T) {
	for name, want := range map[string]float64{"scifact": 0.6789, "nfcorpus": 0.3218} {
		s := loadGolden(t, name)
		x := build(t, DefaultParams(), s.passages)
		sum := 0.0
		for _, q := range s.questions {
			hits, err := x.Search(t.Context(), q.Question, 10)
			if err != nil {
				t.Fatal(err)
			}
			gain := func(id string) float64 {
				if len(q.Grades) > 0 {
					return q.Grades[id]
				}
				if slices.Contains(q.Positive, id) {
					return 1
				}
				return 0
			}
			var ideal []float64
			for _, id := range q.Positive {
				ideal = append(ideal, gain(id))
			}
			slices.SortFunc(ideal, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
			found, best := 0.0, 0.0
			for i, hit := range hits {
				found += gain(s.ids[hit.Ordinal]) / math.Log2(float64(i+2))
			}
			for i, g := range ideal[:min(10, len(ideal))] {
				best += g / math.Log2(float64(i+2))
			}
			sum += found / best
		}
		got := sum / float64(len(s.questions))
		t.Logf("%s: nDCG@10 %.4f over %d questions, published %.4f", name, got, len(s.questions), want)
		if math.Abs(got-want) > 0.001 {
			t.Errorf("%s: nDCG@10 is %.4f, published %.4f", name, got, want)
		}
	}
}
