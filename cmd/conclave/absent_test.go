package main

import (
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/cmd/internal/clitest"
)

// TestDamagedBundle: search answers without an expert whose bundle is damaged, and says
// so; the doctor names the bundle.
func TestDamagedBundle(t *testing.T) {
	tinyCollection(t, []string{"base", "tales"}, "base,tales")
	clitest.Damage(t, "tales")
	code, out, complaints := conclave(t, "search", "--collection", "c", "who keeps the light")
	if code != cli.ExitOK || !strings.Contains(out, "left out: tales: its bundle cannot be used") ||
		!strings.Contains(complaints, "onnx") ||
		strings.Contains(complaints, "level=") {
		t.Errorf("search: exit code %d, %s%s", code, out, complaints)
	}
	if code, out, _ := conclave(t, "doctor", "--collection", "c"); code != cli.ExitFailed ||
		!strings.Contains(out, "fails  bundle tales") {
		t.Errorf("doctor: exit code %d, %s", code, out)
	}
}

// TestMeasuredWithoutDamagedBundle: what asks questions whose passages are known does
// without such an expert, too, and warns.
func TestMeasuredWithoutDamagedBundle(t *testing.T) {
	calibratable(t)
	clitest.Damage(t, "tales")
	for _, command := range [][]string{
		{"calibrate", "--collection", "c"}, {"evaluate", "--collection", "c", "--timed", "0", "--fusions", "auto"},
	} {
		code, out, complaints := conclave(t, both(command...)...)
		if code != cli.ExitOK || !strings.Contains(complaints, "tales") ||
			!strings.Contains(complaints, "an expert is left out: its bundle cannot be used") {
			t.Errorf("%s: exit code %d, %s%s", command[0], code, out, complaints)
		}
		if command[0] == "evaluate" &&
			!strings.Contains(strings.Join(strings.Fields(out), " "), "tales is left out: its bundle cannot be used") {
			t.Errorf("the table does not say that tales is left out:\n%s", out)
		}
	}
}
