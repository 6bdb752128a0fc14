// Package data tests the building of the eight domains, which is in Python.
package data

import (
	"os/exec"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestBuild builds every domain of small sources that test_build.py makes up. The public sources are reached by whoever
// runs build.py; here nothing is fetched.
func TestBuild(t *testing.T) {
	command := exec.CommandContext(t.Context(), realclients.Python(t), "-B", "-m", "unittest", "test_build")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
