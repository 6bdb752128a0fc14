package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models/convert/tiny"
)

// TestUnanswerableCalibration: a record whose method the collection cannot answer by
// changes no command's answer, and each says so.
func TestUnanswerableCalibration(t *testing.T) {
	tinyCollection(t, []string{"small"}, "small") // without an ensemble, which muf needs
	path := filepath.Join("c", calibration.RecordFile)
	write(t, path, "format: 3\nwritten: 2026-01-01T00:00:00Z\nquestions: []\nalpha: 0.5\nauto: muf\n")
	code, out, complaints := conclave(t, "search", "--collection", "c", "who hid the lamp")
	if code != cli.ExitOK || !strings.Contains(out, "Lamps") ||
		!containsAll(complaints, []string{path, "the shipped one is used"}) ||
		strings.Contains(complaints, "level=") {
		t.Errorf("search: exit code %d, %s%s", code, out, complaints)
	}
	code, out, _ = conclave(t, "doctor", "--collection", "c")
	if !containsAll(out, []string{"calibration", "the shipped one is used"}) {
		t.Errorf("doctor: exit code %d, %s", code, out)
	}
}

// plainBase replaces the bundle of base by one without an ensemble.
func plainBase(t *testing.T) {
	t.Helper()
	folder := filepath.Join("experts", "base")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(folder, tiny.Expert{Name: "base", Seed: 1}); err != nil {
		t.Fatal(err)
	}
}

// TestCalibrateLeavesWhatCanAnswer: after the documented line, on a collection whose
// base has no ensemble beside experts that have one, every default search is
// answered.
func TestCalibrateLeavesWhatCanAnswer(t *testing.T) {
	calibratable(t)
	for _, step := range [][]string{{"--remove-expert", "base"}, {"--add-expert", "base", "--index", "flat"}} {
		if step[0] == "--add-expert" {
			plainBase(t)
		}
		if code, _, complaints := conclave(t, append([]string{"index", "--collection", "c"},
			step...)...); code != cli.ExitOK {
			t.Fatal(complaints)
		}
	}
	for _, questions := range []string{"tales=tales.jsonl", "health=health.jsonl"} {
		if code, _, complaints := conclave(t, "calibrate", "--collection", "c", "--questions",
			questions); code != cli.ExitOK {
			t.Fatal(complaints)
		}
		record, err := calibration.ReadRecord("c")
		if err != nil {
			t.Fatal(err)
		}
		if r := searched(t); r.Fusion != record.Auto || len(r.Results) == 0 {
			t.Errorf("auto is %s, the record says %s", r.Fusion, record.Auto)
		}
	}
}
