package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/research/pools"
)

// TestPools: of four granularities each is measured, cce chooses among three and among those
// that are named, and a set of one expert is refused.
func TestPools(t *testing.T) {
	calibratable(t)
	indexed, _, said := conclave(t, "index", "--collection", "c", "--granularity", "3t,5t,passage")
	if indexed != cli.ExitOK {
		t.Fatal(said)
	}
	must := func(args ...string) string {
		t.Helper()
		code, out, complaints := lab(t, both(append([]string{"pools", "--collection", "c"}, args...)...)...)
		if code != cli.ExitOK {
			t.Fatalf("%v: %s", args, complaints)
		}
		return out
	}
	var r pools.Report
	if err := json.Unmarshal([]byte(must("--json", "-")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sets) != 1 || len(r.Sets[0].CCE.Alone) < 3 || len(r.Sets[0].Printed.Temperatures) < 2 {
		t.Fatalf("%+v", r.Sets)
	}
	among := r.Sets[0].CCE.Granularities[:2]
	out := must("--among", strings.Join(among, ","))
	if !containsAll(out, []string{"CCE of " + strings.Join(among, ", ") + ", calibrated", "gradient descent as printed"}) {
		t.Error(out)
	}
	if code, _, complaints := lab(
		t,
		both("pools", "--collection", "c", "--among", among[0])...); code != cli.ExitFailed ||
		!strings.Contains(complaints, "cce chooses among two experts or more") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}
