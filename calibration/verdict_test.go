package calibration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
)

// TestThresholdsByHand: at most 5 of 100 are doubted and 1 of 100 refused, of domains that count
// the same; no more is doubted than refuses 87 of 100 foreign questions, and nothing above even
// odds.
func TestThresholdsByHand(t *testing.T) {
	upTo := func(n int, step float64) (list []float64) {
		for i := range n {
			list = append(list, float64(i+1)*step)
		}
		return list
	}
	hundred := upTo(100, .004) // .004, .008, … .4
	for name, c := range map[string]struct {
		answerable, foreign [][]float64
		want                reply.Thresholds
	}{
		"5 of 100 are below .024":  {[][]float64{hundred}, nil, reply.Thresholds{Found: .024, Doubtful: .008}},
		"of two domains 10 of one": {[][]float64{hundred, {1, 1}}, nil, reply.Thresholds{Found: .044, Doubtful: .012}},
		"enough foreign ones are below": {
			[][]float64{hundred}, [][]float64{upTo(100, .0001)}, reply.Thresholds{Found: .009, Doubtful: .008},
		},
		"all are sure": {[][]float64{{.9, .95}}, nil, reply.Thresholds{Found: .5, Doubtful: .5}},
	} {
		got := thresholdsOf(c.answerable, c.foreign)
		near(t, name+": found", got.Found, c.want.Found, 1e-9)
		near(t, name+": doubtful", got.Doubtful, c.want.Doubtful, 1e-9)
	}
}

// verdictOf returns the answers to questions of some domains: those that are answered are closer
// by late interaction, by one standard deviation for each of apart.
func verdictOf(domains int, apart float64, seed uint64) (all []VerdictQuestions) {
	rng := rand.New(rand.NewPCG(seed, 41))
	for d := range domains {
		q := VerdictQuestions{PriorQuestions: PriorQuestions{Domain: fmt.Sprint("d", d)}}
		for i := range 400 {
			a := RankedQuestion{ID: fmt.Sprint("d", d, "/", i), Signals: make([]float64, len(fusion.SignalNames()))}
			a.Signals[2] = rng.NormFloat64()
			if i%2 == 1 {
				a.Without = Unanswerable
			} else {
				a.Signals[2] += apart
			}
			q.Answers = append(q.Answers, a)
		}
		all = append(all, q)
	}
	return all
}

// TestVerdictIsLearned: of domains that are alike, those left out are doubted and refused as the
// normal distribution says: with the classes three deviations apart, a threshold that 5 of 100
// answerable ones miss is 1.645 below their mean, and 1.355 above that of the foreign ones, which
// 91.2 of 100 are below. So the threshold ends where 87 are: 1.126 above, and 3.1 of 100 are doubted.
func TestVerdictIsLearned(t *testing.T) {
	const seed = 7
	v, err := FitVerdict(verdictOf(6, 3, seed), "")
	if err != nil {
		t.Fatal(err)
	}
	doubted, refused := 0.0, 0.0
	for _, d := range v.LeftOut {
		doubted += d.Gate.Doubted / 6
		refused += d.Gate.ForeignDoubted / 6
	}
	near(t, "doubted", doubted, .031, .015)
	near(t, "refused", refused, .87, .03)
	var text, again bytes.Buffer
	if err := v.Write(&text); err != nil {
		t.Fatal(err)
	}
	read, err := ParseVerdict(text.Bytes())
	if err != nil || read.Write(&again) != nil || again.String() != text.String() {
		t.Errorf("read again: %v\n%s", err, again.String())
	}
	if _, err := ParseVerdict([]byte(strings.Replace(text.String(), "late_above_random", "another", 1))); err == nil {
		t.Error("signals of another name are taken")
	}
}

// TestRerankedVerdictIsLearned: where a reader tells answers from others and the ranking's signals do not, the verdict
// with it refuses what the other lets through, both where it reads everything and where it reranks. Questions that
// nothing was reranked for are judged as without it.
func TestRerankedVerdictIsLearned(t *testing.T) {
	const seed = 8
	domains := verdictOf(6, 0, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	reranked := 0
	for i := range domains {
		d := &domains[i]
		d.marks = make([]*Mark, len(d.Answers))
		for n := range d.Answers {
			a := &d.Answers[n]
			a.Asked = &Question{Relevant: map[rank.Ordinal]float64{}}
			a.Passages = []rank.Hit{{Ordinal: 1}, {Ordinal: 2}}
			said := random.NormFloat64()
			if a.Without == Answerable {
				said += 4
				a.Asked.Relevant[2] = 1
			}
			m := &Mark{Top: 1, First: []float64{0, said, 0, 0}}
			if n%4 < 2 {
				m.RerankedTop = 1
				m.Reranked = []float64{0, said, 0, 0}
				reranked++
			}
			d.marks[n] = m
		}
	}
	v, err := FitVerdict(domains, "reader")
	if err != nil {
		t.Fatal(err)
	}
	var gate, read, again float64
	for _, d := range v.LeftOut {
		gate += d.Gate.ForeignDoubted / 6
		read += d.Read.ForeignDoubted / 6
		again += d.Reranked.ForeignDoubted / 6
	}
	if gate > .2 || read < .8 || again < gate+.25 || again > read-.2 {
		t.Errorf("of foreign questions %.2f are doubted without a reader, %.2f with one, %.2f where %d are reranked", gate, read,
			again, reranked)
	}
	var text bytes.Buffer
	if err := v.Write(&text); err != nil {
		t.Fatal(err)
	}
	written, err := ParseVerdict(text.Bytes())
	if err != nil || written.ForReranking("reader") == nil || written.ForReranking("other") != nil ||
		written.For("reader") == nil {
		t.Errorf("read again: %v", err)
	}
	if _, err := ParseVerdict([]byte(strings.Replace(text.String(), "name: same", "name: within", 1))); err == nil {
		t.Error("signals of another name are taken for a reranker")
	}
}

// TestOwnThresholds: those of a collection hold for the fit that they were made with, and those of
// a calibration that has none are the shipped ones.
func TestOwnThresholds(t *testing.T) {
	fit := AnswerableFit{Logistic{Signals: []Term{{"x", 2}}}, reply.Thresholds{Found: .3, Doubtful: .1}}
	var c verdictChances
	for i := range 100 {
		c.answerable = append(c.answerable, .2+float64(i)*.005)
	}
	own := c.ownThresholds(&fit)
	if got := own.For(&fit); got.Found <= .2 || got.Found > .23 {
		t.Errorf("of its own: %+v", got)
	}
	if own.Doubtful != fit.Thresholds.Doubtful {
		t.Errorf("of sure questions %v are refused, where %v is shipped", own.Doubtful, fit.Thresholds.Doubtful)
	}
	unsure := c
	unsure.answerable = append(slices.Repeat([]float64{.04}, 20), c.answerable...)
	if got := unsure.ownThresholds(&fit); got.Doubtful > .04 {
		t.Errorf("a sixth of the answered questions has a chance of .04, and %v is refused", got.Doubtful)
	}
	told := c
	told.foreign = slices.Repeat([]float64{.12}, 10)
	if got := told.ownThresholds(&fit); got.Found < .12 || got.Found > .13 {
		t.Errorf("all that is foreign is below .13, and found is from %v", got.Found)
	}
	other := fit
	other.Chance.Intercept = 1
	if got := own.For(&other); got != fit.Thresholds {
		t.Errorf("by another fit: %+v", got)
	}
	if got := (*OwnThresholds)(nil).For(&fit); got != fit.Thresholds {
		t.Errorf("of none: %+v", got)
	}
	c.answerable = c.answerable[:leastForThresholds-1]
	if own := c.ownThresholds(&fit); own != nil {
		t.Errorf("of %d questions: %+v", len(c.answerable), own)
	}
}
