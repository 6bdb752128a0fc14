package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedBundle: search answers without an expert whose bundle is damaged, and says
// so; the doctor names the bundle.
func TestDamagedBundle(t *testing.T) {
	tinyCollection(t, []string{"base", "tales"}, "base,tales")
	files, err := filepath.Glob(filepath.Join("experts", "tales", "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	write(t, files[0], string(content))
	code, out, complaints := conclave(t, "search", "--collection", "c", "who keeps the light")
	if code != exitOK || !strings.Contains(out, "left out: tales: its bundle cannot be used") || !strings.Contains(complaints, "onnx") || strings.Contains(complaints, "level=") {
		t.Errorf("search: exit code %d, %s%s", code, out, complaints)
	}
	if code, out, _ := conclave(t, "doctor", "--collection", "c"); code != exitFailed || !strings.Contains(out, "fails  bundle tales") {
		t.Errorf("doctor: exit code %d, %s", code, out)
	}
}
