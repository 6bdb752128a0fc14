package calibration

import (
	"slices"
	"testing"

	"example.org/conclave/fusion"
)

// TestEarlierSignals: a calibration of a version that computed fewer signals is served as it
// was fitted, and one of signals that are not computed is refused.
func TestEarlierSignals(t *testing.T) {
	names := fusion.SignalNames()
	record := func(names []string) *Record {
		r := &Record{Format: RecordFormat, Auto: fusion.MethodGate, Signals: names}
		c := Confidence{K: 1, Kind: Platt, Logistic: Logistic{Intercept: -1}}
		for _, name := range names {
			c.Logistic.Signals = append(c.Logistic.Signals, Term{name, 1})
		}
		r.Chances = Chances{c}
		return r
	}
	r := record(names[:3])
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	signals := slices.Repeat([]float64{.5}, len(names))
	got, err := r.Chances.Of(signals, 1)
	if want := sigmoid(-1 + 3*.5); err != nil || got != want {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
	for _, other := range [][]string{{"magic"}, append(slices.Clone(names), "more"), {names[1], names[0]}} {
		if record(other).Check() == nil {
			t.Errorf("signals %v are taken", other)
		}
	}
}
