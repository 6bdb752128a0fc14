package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/cmd/internal/clitest"
)

// TestOldCalibration: a collection whose calibration is of an older form is not searched,
// but its experts can be measured, which leaves it as it is.
func TestOldCalibration(t *testing.T) {
	calibratable(t)
	path := filepath.Join("c", calibration.RecordFile)
	write(t, path, "format: 1\nwritten: 2025-01-01T00:00:00Z\nquestions: []\nalpha: 0.03\nauto: gate\n")
	code, _, complaints := lab(t, "bench", "search", "--collection", "c", "--questions", "tales=tales.jsonl")
	if code != cli.ExitFailed || !containsAll(complaints, []string{path, "format: 1", "calibrate again"}) {
		t.Errorf("bench search: exit code %d, %s", code, complaints)
	}
	code, out, complaints := lab(t, both("ablate", "--collection", "c", "--trials", "yardsticks")...)
	if code != cli.ExitOK || !strings.Contains(out, "RRF") {
		t.Errorf("ablate: exit code %d, %s", code, complaints)
	}
	if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "format: 1\n") {
		t.Errorf("ablate changed it: %s, %v", data, err)
	}
}

// TestMeasuredWithoutDamagedBundle: experts are measured without one that cannot be used.
func TestMeasuredWithoutDamagedBundle(t *testing.T) {
	calibratable(t)
	clitest.Damage(t, "tales")
	code, _, complaints := lab(t, both("ablate", "--collection", "c", "--trials", "without")...)
	if code != cli.ExitOK || !strings.Contains(complaints, "tales") ||
		!strings.Contains(complaints, "an expert is left out: its bundle cannot be used") {
		t.Errorf("ablate: exit code %d, %s", code, complaints)
	}
}
