package calibration

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"conclave/search"
)

// answeredBy are questions of which the first has so many right answers; a right one has
// the signal given, and a wrong one its negative.
func answeredBy(n, right int, signal float64) []RankedQuestion {
	out := make([]RankedQuestion, n)
	for i := range out {
		out[i] = RankedQuestion{ID: fmt.Sprint("q", i), Signals: make([]float64, len(search.AnswerSignals()))}
		out[i].Signals[0] = -signal
		if i < right {
			out[i].First, out[i].Signals[0] = 1, signal
		}
	}
	return out
}

// TestAnswerChanceByHand: where signals say nothing, the chance is the mean of Platt's
// targets, of which those without the passages that answer weigh two thirds each: 30
// right ones at 31/32, and 30 + 60·2/3 = 70 wrong ones at 1/72.
func TestAnswerChanceByHand(t *testing.T) {
	asked, takenOut := answeredBy(60, 30, 0), answeredBy(60, 0, 0)
	fit, err := FitAnswers(asked, takenOut, "a reader")
	if err != nil {
		t.Fatal(err)
	}
	got, err := fit.Chance.Of(asked[0].Signals)
	if err != nil || fit.Reader != "a reader" || fit.Questions != 60 || fit.Chance.Kind != Platt {
		t.Fatalf("%v, %+v", err, fit)
	}
	near(t, "the chance", got, (30*31./32+70*1./72)/100, 1e-6)
	if !reflect.DeepEqual(takenOut, answeredBy(60, 0, 0)) {
		t.Error("the questions were changed")
	}

	// Where a signal tells right from wrong, also of questions held out, the order is
	// right; the ECE is what Platt's targets leave.
	fit, err = FitAnswers(answeredBy(60, 30, 1), answeredBy(60, 0, 1), "a reader")
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the AUROC", fit.AUROC, 1, 0)
	if fit.ECE <= 0 || fit.ECE > 1./20 {
		t.Errorf("ECE %v", fit.ECE)
	}

	var file strings.Builder
	if err := fit.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := ParseAnswerChance([]byte(file.String()))
	if err != nil || !reflect.DeepEqual(read, fit) {
		t.Errorf("written and read, it is %+v (%v), not %+v", read, err, fit)
	}
	for name, text := range map[string]string{
		"other signals":    strings.Replace(file.String(), "name: lead", "name: leads", 1),
		"an unknown field": file.String() + "more: 1\n",
		"no chance":        strings.Replace(file.String(), "kind: platt", "kind: beta", 1),
	} {
		if _, err := ParseAnswerChance([]byte(text)); err == nil || text == file.String() {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := FitAnswers(nil, nil, "a reader"); err == nil {
		t.Error("fitted on nothing")
	}
}
