package main

import (
	"path/filepath"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
)

// TestOldCalibration: a collection whose calibration is of an older form is not
// searched, since its answers would be others than before; whoever is told to
// calibrate again can do so.
func TestOldCalibration(t *testing.T) {
	calibratable(t)
	path := filepath.Join("c", calibration.RecordFile)
	write(t, path, "format: 1\nwritten: 2025-01-01T00:00:00Z\nquestions: []\nalpha: 0.03\nauto: gate\n")
	asked := []string{"--collection", "c", "--questions", "tales=tales.jsonl"}
	for name, args := range map[string][]string{
		"search":   {"search", "--collection", "c", "who hid the lamp"},
		"serve":    {"serve", "--collection", "c", "--listen", freeAddress(t)},
		"evaluate": append([]string{"evaluate"}, asked...),
	} {
		code, _, complaints := conclave(t, args...)
		if code != cli.ExitFailed || !containsAll(complaints, []string{path, "format: 1", "calibrate again"}) {
			t.Errorf("%s: exit code %d, %s", name, code, complaints)
		}
	}
	if code, _, complaints := conclave(t, both("calibrate", "--collection", "c")...); code != cli.ExitOK {
		t.Fatalf("calibrate: %s", complaints)
	}
	if code, _, complaints := conclave(t, "search", "--collection", "c", "who hid the lamp"); code != cli.ExitOK {
		t.Errorf("search once it is calibrated: %s", complaints)
	}
}
