package calibration

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/fusion"
)

// TestSignalsOfRecord: a calibration of other signals than this program computes is refused.
func TestSignalsOfRecord(t *testing.T) {
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
	if err := record(names).Check(); err != nil {
		t.Error(err)
	}
	for _, other := range [][]string{names[:3], {"magic"}, append(slices.Clone(names), "more"), {names[1], names[0]}} {
		err := record(other).Check()
		if err == nil || !strings.Contains(err.Error(), "calibrate again") {
			t.Errorf("signals %v: %v", other, err)
		}
	}
}
