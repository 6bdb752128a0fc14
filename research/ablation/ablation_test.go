package ablation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// planted returns a small world of three domains. Each has a specialist that is
// right at home, and misled elsewhere; base and joint expert know a little, and
// words know something of everything.
func planted(t *testing.T, n int) *evidence {
	t.Helper()
	random := rand.New(rand.NewPCG(17, 4))
	domains := []string{"a", "b", "c"}
	e := &evidence{}
	e.Sources = []string{"base", "a", "b", "c", "joint", "bm25"}
	for i := range n {
		const passages = 60
		home := random.IntN(len(domains))
		answer := rank.Ordinal(random.IntN(passages))
		lists := make([][]rank.Hit, len(e.Sources))
		for s := range lists {
			for o := range rank.Ordinal(passages) {
				score := random.Float32() * .5
				switch {
				case s == 1+home && o == answer:
					score += .35
				case s >= 1 && s <= 3 && s != 1+home && o == (answer+1)%passages:
					score += .3
				case s == 4 && o == answer:
					score += .15
				case s == 5:
					score *= 20
					if o == answer {
						score += 6
					}
				}
				lists[s] = append(lists[s], rank.Hit{Ordinal: o, Score: score})
			}
			rank.Sort(lists[s])
		}
		q := calibration.Question{
			ID:       fmt.Sprint("q", i),
			Domain:   domains[home],
			Table:    new(fusion.Candidates),
			Relevant: map[rank.Ordinal]float64{answer: 1},
		}
		if err := q.Table.Reset(lists); err != nil {
			t.Fatal(err)
		}
		for s, name := range e.Sources {
			o := fusion.ObservedSource{Column: s, Kind: fusion.Specialist, Confidence: -1}
			switch name {
			case "base":
				o.Kind = fusion.Base
			case "joint":
				o.Kind = fusion.Generalist
			case "bm25":
				o.Kind = fusion.Lexical
				o.UpperBound = 40
			default:
				o.Familiarity = .3 + .05*random.Float64()
				if s == 1+home {
					o.Familiarity += .2
				}
			}
			q.Sources = append(q.Sources, o)
		}
		e.Questions = append(e.Questions, q)
	}
	return e
}

// TestRun finds what was planted.
func TestRun(t *testing.T) {
	e := planted(t, 300)
	r, err := Run(
		context.Background(),
		&e.Evidence,
		TrialOptions{Base: "base", Joint: "joint", Foreign: []string{"c"}, HeldOut: []string{"b"}, Only: Trials()[:6]},
	)
	if err != nil {
		t.Fatal(err)
	}
	gate := r.Yardsticks[0].All.Top1
	for _, y := range r.Yardsticks[2:] { // the second is the gate itself, with the joint expert
		if y.All.Top1 >= gate || y.P == nil || y.P.Top1 > .01 {
			t.Errorf("%s has %.3f (p %v), the gate %.3f", y.Name, y.All.Top1, y.P, gate)
		}
	}
	without := map[string]Row{}
	for _, row := range r.Without {
		without[row.Name] = row
	}
	for _, domain := range []string{"a", "b", "c"} {
		row := without["without "+domain]
		if lost := r.Yardsticks[0].Domains[domain].Top1 - row.Domains[domain].Top1; lost < .15 {
			t.Errorf("%s: without its expert %.3f less", domain, lost)
		}
	}
	if none, one, all := r.Familiar[0].All.Top1, r.Familiar[1].All.Top1, r.Familiar[3].All.Top1; one < all-.03 ||
		none > all-.1 ||
		all != gate {
		t.Errorf("no specialist %.3f, the most familiar %.3f, all %.3f, the gate %.3f", none, one, all, gate)
	}
	f := r.Foreign
	if lost, meanLost := f.Gate[0].All.Top1-f.Gate[1].All.Top1, f.Mean[0].All.Top1-f.Mean[1].All.Top1; lost > .02 ||
		meanLost < .05 {
		t.Errorf("a foreign expert costs the gate %.3f and the mean %.3f", lost, meanLost)
	}
	h := r.HeldOut[0]
	if gained, lost := h.Own[1].All.Top1-h.Own[0].All.Top1, h.Others[0].All.Top1-h.Others[1].All.Top1; gained < .15 ||
		lost > .02 {
		t.Errorf("joining brings %.3f at home and costs %.3f elsewhere", gained, lost)
	}
	for _, row := range []Row{h.Own[0], h.Others[0]} {
		if want := map[bool]int{true: 1, false: 2}[row.Domains["b"] != Accuracies{}]; len(row.Domains) != want {
			t.Errorf("the domains are %v", row.Domains)
		}
	}
}

// TestFixedIsTheBest: no other of the weights answers more, by scores summed here.
func TestFixedIsTheBest(t *testing.T) {
	e := planted(t, 40)
	two, err := e.restrictTo(onlyThese("base", "a", "bm25"), nil)
	if err != nil {
		t.Fatal(err)
	}
	weight, answers, err := two.answerFixed(context.Background())
	if err != nil || weight == 0 {
		t.Fatal(weight, err)
	}
	best := 0.0
	for _, w := range fixedWeights() {
		tried := make([]calibration.MethodAnswer, len(two.Questions))
		for i, q := range two.Questions {
			ahead := 0
			own := math.Inf(-1)
			q.Table.Each(fusion.Exact, func(row int, by []float64) {
				if q.Relevant[q.Table.Ordinal(row)] > 0 {
					own = (by[0]+by[1])/2 + w*by[2]
				}
			})
			q.Table.Each(fusion.Exact, func(row int, by []float64) {
				if (by[0]+by[1])/2+w*by[2] > own {
					ahead++
				}
			})
			tried[i].First = ahead + 1
			if w == weight && tried[i].First != answers[i].First {
				t.Fatalf("weight %v, question %d: rank %d, worked out %d", w, i, answers[i].First, tried[i].First)
			}
		}
		best = max(best, calibration.Accuracy(tried, 1)+calibration.Accuracy(tried, 20))
	}
	if got := calibration.Accuracy(answers, 1) + calibration.Accuracy(answers, 20); got != best {
		t.Errorf("weight %v: %v, the best is %v", weight, got, best)
	}
}

func TestAmongLeavesTheRestAlone(t *testing.T) {
	e := planted(t, 30)
	some, err := e.restrictTo(allBut("a", "c"), func(domain string) bool { return domain != "a" })
	if err != nil {
		t.Fatal(err)
	}
	fewer, err := e.restrictTo(allBut("a", "joint"), nil)
	if err != nil || !slices.Equal(fewer.Sources, []string{"base", "b", "c", "bm25"}) {
		t.Errorf("the columns are called %v, %v", fewer.Sources, err)
	}
	again, err := fewer.restrictTo(onlyThese("c", "bm25"), nil)
	if err != nil || !slices.Equal(again.Sources, []string{"c", "bm25"}) ||
		again.Questions[0].Sources[0].Familiarity != e.Questions[0].Sources[3].Familiarity {
		t.Errorf("the columns are called %v, %v", again.Sources, err)
	}
	for _, q := range some.Questions {
		if q.Domain == "a" || len(q.Sources) != 4 || q.Table.Sources() != 4 {
			t.Errorf("question %s of %s: %d sources, %d columns", q.ID, q.Domain, len(q.Sources), q.Table.Sources())
		}
	}
	for _, q := range e.Questions {
		if len(q.Sources) != 6 || q.Sources[5].Column != 5 || q.Table.Sources() != 6 {
			t.Fatal("the evidence itself was changed")
		}
	}
}

// TestAskingOne: with one specialist asked the gate is the row that has one,
// and the row that has all is another.
func TestAskingOne(t *testing.T) {
	e := planted(t, 200)
	r, err := Run(
		context.Background(),
		&e.Evidence,
		TrialOptions{Gate: calibration.GateOptions{Specialists: 1}, Base: "base", Only: []string{"familiar"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	gate := r.Yardsticks[0].All
	if r.Specialists != 1 || r.Familiar[1].All != gate || r.Familiar[3].All == gate {
		t.Errorf(
			"%d specialists, the gate has %v, with one %v, with all %v",
			r.Specialists,
			gate,
			r.Familiar[1].All,
			r.Familiar[3].All,
		)
	}
}

// TestOnlyWhatWasAsked makes one trial and leaves the others.
func TestOnlyWhatWasAsked(t *testing.T) {
	var seen []int
	r, err := Run(
		context.Background(),
		&planted(t, 60).Evidence,
		TrialOptions{Base: "base", HeldOut: []string{"b"}, Only: []string{"held-out"},
			Progress: func(done, total int) { seen = append(seen, done, total) }},
	)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Yardsticks) != 1 || r.Without != nil || r.Familiar != nil || r.Foreign != nil || len(r.HeldOut) != 1 ||
		!slices.Equal(seen, []int{1, 2, 2, 2}) {
		t.Errorf(
			"%d yardsticks, %d without, %d familiar, %v, %d held out; progress %v",
			len(r.Yardsticks),
			len(r.Without),
			len(r.Familiar),
			r.Foreign,
			len(r.HeldOut),
			seen,
		)
	}
	if _, err := Run(context.Background(), &calibration.Evidence{}, TrialOptions{}); err == nil {
		t.Error("no questions, no error")
	}
}
