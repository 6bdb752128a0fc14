package bm25

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
)

// naive scores by the formula as it stands in the books, in plain arithmetic,
// with nothing prepared: the oracle of the tests.
type naive struct {
	params   Params
	read     func(question string) []string
	passages []map[string]int // term → tf; nil if deleted
	lengths  []float64
}

func newNaive(params Params, passages []goldenPassage) *naive {
	n := &naive{params: params, read: forms.Analyse}
	for _, p := range passages {
		tf := make(map[string]int)
		terms := append(forms.Analyse(p.Title), forms.Analyse(p.Text)...)
		for _, term := range terms {
			tf[term]++
		}
		n.passages = append(n.passages, tf)
		n.lengths = append(n.lengths, float64(len(terms)))
	}
	return n
}

func (n *naive) delete(i int) { n.passages[i] = nil }

// scores returns the score of each passage; NaN without a term of the question.
func (n *naive) scores(question string) []float64 {
	count, average := 0.0, 0.0
	for i, p := range n.passages {
		if p != nil && n.lengths[i] > 0 {
			count++
			average += n.lengths[i]
		}
	}
	average /= count
	out := make([]float64, len(n.passages))
	for i := range out {
		out[i] = math.NaN()
	}
	for _, term := range n.read(question) { // repeated terms count each time
		df := 0.0
		for _, p := range n.passages {
			if p[term] > 0 {
				df++
			}
		}
		for i, p := range n.passages {
			if p[term] == 0 {
				continue
			}
			length := n.lengths[i]
			length = float64(roundLength(uint32(length)))
			tf := float64(p[term])
			score := math.Log(1+(count-df+0.5)/(df+0.5)) * tf / (tf + n.params.K1*(1-n.params.B+n.params.B*length/average))
			if math.IsNaN(out[i]) {
				out[i] = 0
			}
			out[i] += score
		}
	}
	return out
}

// checkHits compares hits with the oracle: as many as there should be, in order,
// with the right scores, and none missing that is better.
func (n *naive) checkHits(t *testing.T, question string, k int, hits []rank.Hit) {
	t.Helper()
	scores := n.scores(question)
	matched := 0
	for _, s := range scores {
		if !math.IsNaN(s) {
			matched++
		}
	}
	if len(hits) != min(k, matched) {
		t.Fatalf("%q: %d hits for k %d with %d passages that match", question, len(hits), k, matched)
	}
	const tolerance = 4e-6 // weight − weight/(1+s) with 32 bits: a few of the last bits of a long passage
	found := make(map[rank.Ordinal]bool)
	for i, h := range hits {
		want := scores[h.Ordinal]
		if !(math.Abs(float64(h.Score)-want) <= tolerance*want) {
			t.Fatalf("%q: passage %d has score %v, by the formula %v", question, h.Ordinal, h.Score, want)
		}
		if i > 0 && rank.Compare(hits[i-1], h) >= 0 {
			t.Fatalf("%q: hit %d (%v) is not after %v", question, i, h, hits[i-1])
		}
		found[h.Ordinal] = true
	}
	if len(hits) == k {
		least := float64(hits[k-1].Score)
		for i, s := range scores {
			if s > least*(1+tolerance) && !found[rank.Ordinal(i)] {
				t.Fatalf("%q: passage %d with %v is missing; the last hit has %v", question, i, s, least)
			}
		}
	}
}

// randomPassages makes passages of words with Zipf's frequencies. Few words and
// lengths, so that equal scores abound; some passages are empty.
func randomPassages(rng *rand.Rand, n, vocabulary int) []goldenPassage {
	zipf := rand.NewZipf(rng, 1.1, 3, uint64(vocabulary-1))
	out := make([]goldenPassage, n)
	for i := range out {
		var text strings.Builder
		for range rng.IntN(18) {
			fmt.Fprintf(&text, "w%d ", zipf.Uint64())
		}
		if rng.IntN(50) == 0 {
			text.WriteString(strings.Repeat("w1 ", rng.IntN(300)))
		}
		out[i] = goldenPassage{Title: fmt.Sprintf("w%d", zipf.Uint64()), Text: text.String()}
		if rng.IntN(40) == 0 {
			out[i] = goldenPassage{}
		}
	}
	return out
}

func randomQuestion(rng *rand.Rand, vocabulary int) string {
	zipf := rand.NewZipf(rng, 1.05, 5, uint64(vocabulary))
	var out strings.Builder
	for range 1 + rng.IntN(6) {
		word := fmt.Sprintf("w%d ", zipf.Uint64())
		out.WriteString(strings.Repeat(word, 1+rng.IntN(2)))
	}
	return out.String()
}
