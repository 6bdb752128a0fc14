package calibration

import (
	"errors"
	"strings"
	"testing"

	"example.org/conclave/fusion"
)

// TestRankedMethods: what is ahead of the gate by chance is no reason to leave it.
func TestRankedMethods(t *testing.T) {
	answered := func(name string, first ...int) measuredMethod {
		m := measuredMethod{name: name, method: name}
		for range 10 {
			for _, f := range first {
				m.answers = append(m.answers, MethodAnswer{First: f})
			}
		}
		return m
	}
	gate := answered("gate", 1, 1, 2, 1, 30)
	for _, c := range []struct {
		others []measuredMethod
		want   string
	}{
		{[]measuredMethod{answered("rrf", 1, 2, 2, 1, 30), answered("sum", 1, 1, 2, 2, 30)}, "gate rrf sum"},
		{[]measuredMethod{answered("rrf", 1, 1, 1, 1, 1)}, "rrf gate"},  // never worse
		{[]measuredMethod{answered("rrf", 1, 30, 1, 1, 1)}, "gate rrf"}, // better on average: by 0.2, as often worse
		{[]measuredMethod{answered("rrf", 1, 1, 1, 1, 30), answered("sum", 1, 1, 1, 1, 1)}, "sum rrf gate"},
		{nil, "gate"},
	} {
		var names []string
		for _, m := range tryOrder(append([]measuredMethod{gate}, c.others...)) {
			names = append(names, m.method)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestChoose: a method that cannot answer is passed over, with its reason.
func TestChoose(t *testing.T) {
	broken := errors.New("nobody can")
	choosing := func(can string) *fitRun {
		return &fitRun{
			record: &Record{},
			report: &FitReport{},
			methods: []measuredMethod{
				{"gate", fusion.MethodGate, []MethodAnswer{{First: 1}}},
				{"rrf", fusion.MethodRRF, []MethodAnswer{{First: 1}}},
			},
			options: FitOptions{Try: func(r *Record) error {
				if r.Auto == can {
					return nil
				}
				return broken
			}},
		}
	}
	f := choosing(fusion.MethodRRF)
	if err := f.chooseAuto(); err != nil || f.record.Auto != fusion.MethodRRF || len(f.report.Warnings) != 1 ||
		!strings.Contains(f.report.Warnings[0], "gate is passed over, since this collection cannot answer by it: nobody") {
		t.Errorf("%s, %v, %v", f.record.Auto, f.report.Warnings, err)
	}
	if err := choosing("").chooseAuto(); !errors.Is(err, broken) || !strings.Contains(
		err.Error(), "nothing was written",
	) {
		t.Errorf("where none can answer: %v", err)
	}
}
