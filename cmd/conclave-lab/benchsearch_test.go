package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/research/bench/searches"
)

// TestBenchSearch looks at what is printed, not at how fast anything is.
func TestBenchSearch(t *testing.T) {
	calibratable(t)
	if code, _, complaints := conclave(t, both("calibrate", "--collection", "c")...); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	args := both(
		"bench", "search", "--collection", "c", "--counts", "1,2", "--asked", "4", "--rounds", "2", "--clients", "3",
	)
	code, out, complaints := lab(t, args...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != cli.ExitOK || len(lines) != 3 ||
		!containsAll(lines[0], []string{"experts", "search ms", "encoders ms", "ratio", "searches/s"}) {
		t.Fatalf("exit code %d, %s\n%s", code, complaints, out)
	}
	for i, line := range lines[1:] {
		if columns := strings.Count(lines[0], "|"); !strings.HasPrefix(strings.TrimSpace(line), []string{"1 |", "2 |"}[i]) ||
			strings.Count(line, "|") != columns {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
	code, out, complaints = lab(t, append(args, "--json")...)
	var costs []searches.Cost
	if err := json.Unmarshal([]byte(out), &costs); code != cli.ExitOK || err != nil || len(costs) != 2 {
		t.Fatalf("exit code %d, %v, %s\n%s", code, err, complaints, out)
	}
	for i, c := range costs {
		if c.Experts != i+1 ||
			!(c.P50MS > 0 && c.EncodersMS > 0 && c.OneEncoderMS > 0 && c.EnsembleMS > 0 && c.QPS > 0 && c.EncodersQPS > 0) {
			t.Errorf("something was not measured: %+v", c)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--counts", "3"}, cli.ExitUsage, "3; this collection has 2 such experts"},
		// none has a domain
		{[]string{"--familiar", "--counts", "1"}, cli.ExitUsage, "1; this collection has 0 such experts"},
		{[]string{"--counts", "0"}, cli.ExitUsage, "--counts"},
		{[]string{"--rounds", "0"}, cli.ExitUsage, "--rounds"},
		{[]string{"--clients", "0"}, cli.ExitUsage, "--clients"},
		{[]string{"--asked", "0"}, cli.ExitUsage, "--asked"},
		{[]string{"--fusion", "magic", "--asked", "1"}, cli.ExitFailed, "magic"},
		{[]string{"--collection", "nowhere"}, cli.ExitFailed, "nowhere"},
	} {
		code, out, complaints := lab(t, append(both("bench", "search", "--collection", "c"), c.args...)...)
		if code != c.code || !strings.Contains(complaints, c.says) || out != "" {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s%s", c.args, code, c.code, c.says, complaints, out)
		}
	}
}
