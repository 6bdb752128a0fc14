package search

import (
	"errors"
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
		if got := extract.Shingle(nosebleed).Repeats(extract.Shingle(other)); got != want {
			t.Errorf("%q: %v", other, got)
		}
		if got := extract.Shingle(other).Repeats(extract.Shingle(nosebleed)); got != want {
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

// TestSameAnswerWhateverPage: how many passages are returned, from which on, and whether by documents, changes neither
// the order, nor how sure the first is, nor the verdict, with a reader, a reranker and without, where passages repeat
// each other too.
func TestSameAnswerWhateverPage(t *testing.T) {
	for _, models := range []string{"", "read", "reranked", "reranked and read"} {
		var whole reply.Response
		for i, r := range []Request{
			{K: 40}, {K: 1}, {K: 2}, {K: 3}, {K: 5}, {K: 10}, {K: 3, Offset: 2}, {K: 5, Offset: 5}, {K: 4, Offset: 30},
			{K: 40, GroupBy: ask.GroupByDocument}, {K: 1, GroupBy: ask.GroupByDocument},
			{K: 4, Offset: 3, GroupBy: ask.GroupByDocument},
		} {
			s, _, _ := lateStage()
			s.config.Rerankers = []learned.LoadedReranker{{Reranker: new(judge), Name: "judge"}}
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
			r.Question = askedOften
			r.Fusion = methodsOf(fusion.MethodGate)
			r.Answer = ask.AnswerOptions{Wanted: strings.Contains(models, "read")}
			if strings.Contains(models, "reranked") {
				r.Rerank = reranked(12)
			}
			engine := s.engine(t)
			got, err := engine.Search(t.Context(), Caller{}, r)
			if err := errors.Join(err, engine.Close(t.Context())); err != nil {
				t.Fatal(err)
			}
			for _, g := range got.Groups { // no passage is of a document
				got.Results = append(got.Results, g.Results...)
			}
			if i == 0 {
				whole = got
			}
			for _, words := range got.Answers {
				if !slices.ContainsFunc(got.Results, func(x reply.Result) bool { return x.ID == words.Passage }) {
					t.Errorf("%q, %+v: words are marked in %s, which is not returned", models, r, words.Passage)
				}
			}
			to := min(r.Offset+r.K, len(whole.Results))
			if !slices.Equal(ids(got.Results), ids(whole.Results[r.Offset:to])) ||
				*got.Confidence != *whole.Confidence || *got.Answerable != *whole.Answerable || got.Verdict != reply.VerdictFound {
				t.Errorf("%q, %d from %d by %q: %v, %v, %v, %q; all are %v, %v, %v", models, r.K, r.Offset, r.GroupBy,
					ids(got.Results), *got.Confidence, *got.Answerable, got.Verdict,
					ids(whole.Results), *whole.Confidence, *whole.Answerable)
			}
		}
	}
}
