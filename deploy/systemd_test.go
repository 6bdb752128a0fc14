package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSystemd: systemd accepts the unit, where it is installed, and grants it nothing that conclave does not use.
func TestSystemd(t *testing.T) {
	text, err := os.ReadFile("systemd/conclave.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="} {
		if !strings.Contains(string(text), "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed: systemd-analyze was not asked")
	}
	// It looks whether the program is there.
	program := filepath.Join(t.TempDir(), "conclave")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "conclave.service")
	changed := strings.ReplaceAll(string(text), "/usr/local/bin/conclave", program)
	if err := os.WriteFile(unit, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), "conclave.service") {
		t.Errorf("%v\n%s", err, out)
	}
	command := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=25", unit)
	out, err = command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
