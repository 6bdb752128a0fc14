package search

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestRepeats: texts that say the same in another form, or of which one has most of the other, repeat each
// other; texts on one subject do not.
func TestRepeats(t *testing.T) {
	const nosebleed = "Sit down, lean slightly forward and pinch the soft part of the nose, just below the bone, for " +
		"ten to fifteen minutes without letting go to look. Breathe through your mouth and spit out any blood."
	for other, want := range map[string]bool{
		strings.ToUpper(nosebleed):                             true,
		strings.ReplaceAll(nosebleed, " ", "\n"):               true,
		strings.ReplaceAll(nosebleed, ",", " –"):               true,
		nosebleed[:len(nosebleed)*2/3]:                         true,
		"Nosebleeds. " + nosebleed + strings.Repeat(" And", 9): true,
		"Pinch the nose for ten minutes, sit down and lean forward. If blood still comes after that, see a doctor.": false,
		"Sit down, lean slightly forward.":              true, // all of which the other says
		"Hold a burn under cool running water at once.": false,
		"": false,
	} {
		if got := extract.Repeats(extract.Shingles(nosebleed), extract.Shingles(other)); got != want {
			t.Errorf("%q: %v", other, got)
		}
		if got := extract.Repeats(extract.Shingles(other), extract.Shingles(nosebleed)); got != want {
			t.Errorf("%q, the other way round: %v", other, got)
		}
	}
}

// closeness is a chance that changes with every signal.
type closeness struct{}

// Of implements fusion.Chances.
func (closeness) Of(signals []float64, passages int) (float64, error) {
	sum := 0.0
	for i, x := range signals {
		sum += float64(i+1) * x
	}
	return (1 + math.Sin(sum)) / 2 / float64(passages), nil
}
func (closeness) Signals() int { return fusion.ExactFrom + 1 }

// TestSameAnswerWhateverK: how many passages are returned changes neither which one is first, nor how sure it is, nor
// the verdict, with a reader and without, where passages repeat each other too.
func TestSameAnswerWhateverK(t *testing.T) {
	for _, answer := range []bool{false, true} {
		var first string
		var confidence, answerable float64
		for i, k := range []int{1, 2, 3, 5, 10, 40} {
			s, _, _ := lateStage()
			for at := range s.library.shelf.passages { // all begin in the same way
				p := &s.library.shelf.passages[at]
				p.Text = "the red dog runs to the blue cat and the cat sleeps beside the bird that is green and blue " + p.Text
				s.words.texts[at] = p.Text
			}
			s.library.shelf.near = true
			s.config.Defaults.Chances = &closeness{}
			s.config.Defaults.Answerability = &learned.Answerability{
				Chance:     &doubted{confidence: .5},
				Thresholds: reply.Thresholds{Found: .4, Doubtful: .1},
			}
			s.config.Readers = []learned.LoadedReader{
				{Reader: new(marker), Name: "marker", Ranking: 1, Confidence: &doubted{confidence: .7}},
			}
			r := s.ask(t, Request{
				Question: askedOften, Fusion: methodsOf(fusion.MethodGate), K: k, Answer: ask.AnswerOptions{Wanted: answer},
			})
			if i == 0 {
				first = r.Results[0].ID
				confidence, answerable = *r.Confidence, *r.Answerable
			}
			for _, words := range r.Answers {
				if !slices.ContainsFunc(r.Results, func(x reply.Result) bool { return x.ID == words.Passage }) {
					t.Errorf("k %d: words are marked in %s, which is not returned", k, words.Passage)
				}
			}
			if r.Results[0].ID != first || *r.Confidence != confidence || *r.Answerable != answerable ||
				r.Verdict != reply.VerdictFound || len(r.Results) != k {
				t.Errorf("answer %v, k %d: %s, %v, %v, %q, %d results; with k 1 %s, %v, %v", answer, k, r.Results[0].ID,
					*r.Confidence, *r.Answerable, r.Verdict, len(r.Results), first, confidence, answerable)
			}
		}
	}
}
