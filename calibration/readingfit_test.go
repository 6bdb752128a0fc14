package calibration

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/extract"
)

// readFor returns answers to n questions of one domain in three, the same without
// what answers them, and as many unanswerable ones; the first passage answers every
// second question.
func readFor(n int) (answers []RankedQuestion, confidences []float64) {
	questions := make([]Question, 2*n)
	for i := range questions {
		questions[i] = Question{ID: fmt.Sprint("q", i), Domain: fmt.Sprint("d", i%3), Text: fmt.Sprint("text ", i)}
	}
	for i := range n {
		q := &questions[i]
		q.Relevant = map[rank.Ordinal]float64{rank.Ordinal(i): 1 - float64(i%2)}
		q.Answers = []string{"a mill"}
		answers = append(
			answers,
			RankedQuestion{
				ID:       q.ID,
				First:    1 + i%2,
				Asked:    q,
				Passages: []rank.Hit{{Ordinal: rank.Ordinal(i), Score: 2}, {Ordinal: 900, Score: 1}},
			},
		)
	}
	for i := range n {
		answers = append(
			answers,
			RankedQuestion{ID: questions[i].ID, Without: TakenOut, Asked: &questions[i], Passages: []rank.Hit{{Ordinal: 900}}},
		)
	}
	for i := range n {
		q := &questions[n+i]
		answers = append(
			answers, RankedQuestion{ID: q.ID, Without: Unanswerable, Asked: q, Passages: []rank.Hit{{Ordinal: 901}}},
		)
	}
	for range answers {
		confidences = append(confidences, .4)
	}
	return answers, confidences
}

// TestReadingByHand: answers to a question are read together. Where the signals say
// nothing, a chance is the mean of Platt's targets, and the questions without an answer
// weigh a third of those with one; where they tell right from wrong, its order is right.
func TestReadingByHand(t *testing.T) {
	const n = 60
	const alike = 2. // unanswerable questions have the signals of the right answers
	answers, confidences := readFor(n)
	var mu sync.Mutex
	calls := map[string]int{}
	options := func(signal float64) ReadingOptions {
		return ReadingOptions{
			Reader:   "a reader",
			Progress: func(int, int) {},
			Mark: func(_ context.Context, q *Question, of []RankedPassages) ([]func(float64) Mark, error) {
				mu.Lock()
				calls[q.ID] += len(of)
				mu.Unlock()
				marks := make([]func(float64) Mark, len(of))
				for i, a := range of {
					if a.Confidence != .4 {
						return nil, fmt.Errorf("a confidence of %v", a.Confidence)
					}
					right := len(a.Passages) == 2 && a.Passages[0].Ordinal%2 == 0
					m := Mark{
						Right: right,
						Words: make([]float64, len(extract.AnswerSignals())),
						First: make([]float64, len(extract.ReadSignals())),
					}
					if right || signal == alike && a.Passages[0].Ordinal == 901 {
						m.Words[0], m.First[1] = signal, signal
					}
					if q.ID == fmt.Sprint("q", n) {
						m.Words = nil // it marked nothing
					}
					marks[i] = func(float64) Mark { return m }
				}
				return marks, nil
			},
		}
	}
	fit, err := FitReading(t.Context(), answers, confidences, options(0))
	if err != nil || !fit.Of("a reader") || fit.Of("another") || fit.Questions != n {
		t.Fatalf("%v, %+v", err, fit)
	}
	for id, answered := range calls {
		if want := 1 + map[bool]int{true: 1}[slices.ContainsFunc(answers[:n],
			func(a RankedQuestion) bool { return a.ID == id })]; answered != want {
			t.Errorf("%s: %d of its %d answers were read", id, answered, want)
		}
	}
	right := n / 2.
	wrong := n/2. + n/3. // those without an answer, of which the n unanswerable ones have four fifths
	mean := func(wrong float64) float64 {
		return (right*(right+1)/(right+2) + wrong/(wrong+2)) / (right + wrong)
	}
	words, err := fit.Words.Chance.Of(make([]float64, len(extract.AnswerSignals())))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the chance of words", words, mean(wrong-.8/3), 1e-6)
	first, err := fit.First.Chance.Of(make([]float64, len(extract.ReadSignals())))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the confidence", first, mean(wrong), 1e-6)
	near(t, "the AUROC without a reader", fit.WithoutAUROC, .5, 0)
	near(t, "the ECE without a reader", fit.WithoutECE, .4-3./8, 1e-9) // of 80, by weight, 30 are right

	for _, byDomain := range []bool{false, true} {
		o := options(1)
		o.ByDomain = byDomain
		fit, err = FitReading(t.Context(), answers, confidences, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the AUROC of words", fit.Words.AUROC, 1, 0)
		near(t, "the AUROC of the confidence", fit.First.AUROC, 1, 0)
		if x := chosenThreshold(fit.Thresholds); x.Lost != 0 || x.TakenOut != 1 || *x.Unanswerable != 1 {
			t.Errorf("a threshold tells all apart, and the one that is named has %+v", x)
		}
	}

	// Of 60 questions with an answer 30 are right, with the signals of all 60 unanswerable ones.
	fit, err = FitReading(t.Context(), answers, confidences, options(alike))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the AUROC against what was taken out", *fit.TakenOut.AUROC, 1, 0)
	near(
		t, "the AUROC against unanswerable questions", *fit.Unanswerable.AUROC, (30+60/2.)/90, .1,
	) // equal but for the folds
	var told strings.Builder
	if err := fit.WriteText(&told); err != nil ||
		!strings.Contains(told.String(), "AUROC 1.000\n  against unanswerable ones: ECE ") {
		t.Errorf("%v: %s", err, told.String())
	}
	fit, err = FitReading(t.Context(), answers, confidences, options(1))
	if err != nil {
		t.Fatal(err)
	}

	// What few say leaves the fit where it was.
	o := options(1)
	shifted := *fit
	shifted.First.Chance.Logistic.Intercept = -4
	o.Towards = &shifted
	few, err := FitReading(t.Context(), answers[:8], confidences[:8], o)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := FitReading(t.Context(), answers[:8], confidences[:8], options(1))
	if err != nil {
		t.Fatal(err)
	}
	sure := func(f *ReadingFit) float64 {
		x, _ := f.First.Chance.Of(make([]float64, len(extract.ReadSignals())))
		return x
	}
	if math.Abs(sure(few)-sure(&shifted)) > .1 || sure(alone) < sure(few) {
		t.Errorf(
			"from 8 questions it is %v, without what is shipped %v, and shipped was %v",
			sure(few),
			sure(alone),
			sure(&shifted),
		)
	}

	// A gate whose scores are four times as large counts a quarter beside the reader.
	o.Towards.Ranking, o.Towards.Spread = 10, .5
	for _, size := range []float32{1, 4} {
		larger := slices.Clone(answers)
		for i := range larger {
			larger[i].Passages = slices.Clone(larger[i].Passages)
			for n := range larger[i].Passages {
				larger[i].Passages[n].Score *= size
			}
		}
		few, err = FitReading(t.Context(), larger, confidences, o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the spread", few.Spread, .5*float64(size), 1e-9)
		near(t, "the weight", few.Ranking, 10/float64(size), 1e-9)
	}

	// The reader is wrong wherever the ranking is right: eight lost of eight are too many, and
	// of two not.
	o.Mark = func(_ context.Context, _ *Question, of []RankedPassages) ([]func(float64) Mark, error) {
		return slices.Repeat([]func(float64) Mark{func(float64) Mark {
			return Mark{
				Top:   len(of[0].Passages) - 1,
				Words: make([]float64, len(extract.AnswerSignals())),
				First: make([]float64, len(extract.ReadSignals())),
			}
		}}, len(of)), nil
	}
	for n, kept := range map[int]bool{16: false, 4: true} {
		few, err = FitReading(t.Context(), answers[:n], confidences[:n], o)
		if err != nil || (few.Ranking > 0) != kept {
			t.Errorf("a reader that loses %d: weight %v, %v", n/2, few.Ranking, err)
		}
	}

	broken := errors.New("the reader fell over")
	o.Mark = func(context.Context, *Question, []RankedPassages) ([]func(float64) Mark, error) { return nil, broken }
	if _, err := FitReading(t.Context(), answers, confidences, o); !errors.Is(err, broken) {
		t.Errorf("the reader fails: %v", err)
	}
}

// TestRankingByHand: each domain is ranked by the weight that is the best on the others:
// d0's first passages are right under weights up to 10, d1's from 10 on, d2's under 5 and
// 10. So 10 is the best, as on each two of them but the last, for which 2 is not: of d0
// and d2 2 loses one of two, 5 and 10 none, and 5 comes first, under which d1 is wrong.
func TestRankingByHand(t *testing.T) {
	var answers []RankedQuestion
	var marks []func(float64) Mark
	for i, right := range [][2]float64{{0, 10}, {10, 1000}, {5, 10}} {
		q := &Question{ID: fmt.Sprint(i), Domain: fmt.Sprint("d", i), Relevant: map[rank.Ordinal]float64{7: 1}}
		for range 2 {
			answers = append(
				answers,
				RankedQuestion{ID: q.ID, First: 2 - i%2, Asked: q, Passages: []rank.Hit{{Ordinal: 6}, {Ordinal: 7}}},
			)
			marks = append(marks, func(weight float64) (m Mark) {
				m.First = []float64{}
				if right[0] <= weight && weight <= right[1] {
					m.Top = 1
				}
				return m
			})
		}
		// What was taken out, and what nothing answers, says nothing of an order.
		answers = append(
			answers,
			RankedQuestion{ID: q.ID, Asked: q, Without: TakenOut, Passages: []rank.Hit{{Ordinal: 6}}},
			RankedQuestion{Without: Unanswerable, Asked: &Question{}},
		)
		marks = append(marks, nil, nil)
	}
	weight, held, without := bestRankingWeight([]float64{2, 5, 10, 20}, answers, marks)
	near(t, "the weight", weight, 10, 0)
	near(t, "held out", held, 2./3, 1e-12)
	near(t, "without", without, 1./3, 1e-12)
	weight, held, _ = bestRankingWeight([]float64{2, 5}, answers[:4], marks[:4])
	near(t, "the weight of one domain", weight, 2, 0)
	near(t, "of one domain", held, 1, 0)
}

// TestReadingFile: what is written is read, and what is not understood is refused.
func TestReadingFile(t *testing.T) {
	term := func(names []string) (l Logistic) {
		for i, name := range names {
			l.Signals = append(l.Signals, Term{name, float64(i)})
		}
		return l
	}
	fit := &ReadingFit{Reader: "a reader", Questions: 7, Ranking: 10, Top1: .7, WithoutTop1: .6,
		Words: MarkedChance{.01, .9, Confidence{K: 1, Kind: Platt, Logistic: term(extract.AnswerSignals())}},
		First: MarkedChance{
			.02,
			.8,
			Confidence{K: 1, Kind: Platt, Logistic: term(extract.ReadSignals())},
		}, WithoutECE: .1, WithoutAUROC: .7}
	var file strings.Builder
	if err := fit.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := ParseReading([]byte(file.String()))
	if err != nil || !reflect.DeepEqual(read, fit) {
		t.Errorf("written and read, it is %+v (%v), not %+v", read, err, fit)
	}
	for name, text := range map[string]string{
		"other signals of words": strings.Replace(file.String(), "name: total", "name: totals", 1),
		"other signals":          strings.Replace(file.String(), "name: confidence", "name: chance", 2),
		"an unknown field":       file.String() + "more: 1\n",
		"no weight":              strings.Replace(file.String(), "ranking: 10", "ranking: -1", 1),
		"no chance":              strings.Replace(file.String(), "kind: platt", "kind: beta", 1),
	} {
		if _, err := ParseReading([]byte(text)); err == nil || text == file.String() {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestConfidenceWithAReader: it is left out where both figures say so, and people are told
// instead of being given a threshold.
func TestConfidenceWithAReader(t *testing.T) {
	for _, c := range []struct {
		ece, auroc float64
		used       bool
	}{{.04, .9, true}, {.10, .9, true}, {.04, .6, true}, {.10, .6, false}} {
		fit := &ReadingFit{
			First:        MarkedChance{ECE: c.ece, AUROC: c.auroc},
			WithoutECE:   .05,
			WithoutAUROC: .7,
			Thresholds:   []Threshold{{MinConfidence: .2}},
		}
		var told strings.Builder
		if err := fit.WriteText(&told); err != nil {
			t.Fatal(err)
		}
		if fit.Surer() != c.used || strings.Contains(told.String(), "min_confidence") != c.used ||
			strings.Contains(told.String(), "stays the shipped one") == c.used {
			t.Errorf("ECE %v, AUROC %v: used is %v: %s", c.ece, c.auroc, fit.Surer(), told.String())
		}
	}
}
