package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/indexing"
)

// TestGranularities: parts of passages get vectors, calibration keeps three of the
// granularities for cce and says what each is worth.
func TestGranularities(t *testing.T) {
	calibratable(t)
	must := func(args ...string) string {
		t.Helper()
		code, out, complaints := conclave(t, args...)
		if code != cli.ExitOK {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, complaints)
		}
		return out
	}
	report := must("index", "--collection", "c", "--granularity", "3t,5t,passage", "--json")
	var made indexing.IndexReport
	if err := json.Unmarshal([]byte(report), &made); err != nil || len(made.Recall) != 2 {
		t.Errorf("of two granularities the report has the recall of %d (%v): %s", len(made.Recall), err, report)
	}
	reported := fmt.Sprintf("of %d questions among ", talesAsked+healthAsked)
	if code, _, complaints := conclave(t, both("index", "--collection", "c", "--granularity",
		"1")...); code != cli.ExitOK ||
		!containsAll(complaints, []string{reported, " with the title before each part and for ", ": base@1"}) ||
		strings.Index(complaints, reported) > strings.Index(complaints, "about:") {
		t.Errorf("exit code %d; before the costs it does not say what titles are worth: %s", code, complaints)
	}
	if code, _, complaints := conclave(t, both("index", "--collection", "c", "--add-expert",
		"tales")...); code != cli.ExitUsage ||
		!strings.Contains(complaints, "--granularity") {
		t.Errorf("questions without a granularity: exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--granularity", "5t"); code != cli.ExitUsage ||
		!strings.Contains(complaints, "c has 5t") {
		t.Errorf("a granularity that is there: exit code %d, %s", code, complaints)
	}
	out := must(both("calibrate", "--collection", "c")...)
	r, err := calibration.ReadRecord("c")
	if err != nil || r.CCE == nil || len(r.CCE.Granularities) != 3 {
		t.Fatalf("the record is %+v, %v", r, err)
	}
	if !containsAll(
		out,
		[]string{"each alone finds", "@3t ", "an AUROC of ", "cce takes " + strings.Join(r.CCE.Granularities, ", ")},
	) {
		t.Errorf("it does not say what granularities are worth:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 101 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	for _, s := range searched(t, "--fusion", fusion.MethodCCE).Sources {
		if chosen := slices.Contains(r.CCE.Granularities, s.Name); chosen != (s.Status == "ok") && s.Kind == "dense" {
			t.Errorf("%s is %s, and calibration chose %v", s.Name, s.Status, r.CCE.Granularities)
		}
	}
	t.Setenv("CONCLAVE_CACHE", t.TempDir()) // else the doctor tries whatever is there
	_, found := examined(t)
	for what, f := range found {
		if f.Status != "ok" && (what == "collection" || strings.Contains(what, "@")) {
			t.Errorf("the doctor says of a collection with granularities: %+v", f)
		}
	}
}
