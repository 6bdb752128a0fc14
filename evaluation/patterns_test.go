package evaluation

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestPatternsArePythons compares with Python's regex module, used as DPR does
// (testdata/patterns.py), every pattern with every text.
func TestPatternsArePythons(t *testing.T) {
	data, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts []string
		Cases []struct {
			Pattern string
			Hits    []string
			Bad     bool
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, c := range golden.Cases {
		m, bad := regexAnswers([]string{c.Pattern})
		if c.Bad != (len(bad) == 1) {
			t.Errorf("%q: bad are %q, Python refuses it: %v", c.Pattern, bad, c.Bad)
			continue
		}
		for _, text := range golden.Texts {
			if got, want := m.In(text), slices.Contains(c.Hits, text); got != want {
				t.Errorf("%q in %q: %v, Python says %v", c.Pattern, text, got, want)
			}
		}
	}
}

func TestPatternsBeyondGo(t *testing.T) {
	for _, pattern := range []string{`(?=a)b`, `(a)\1`, `[a`} {
		if m, bad := regexAnswers([]string{pattern, "x"}); len(bad) != 1 || m.In("ab aa") || !m.In("x") {
			t.Errorf("%q: bad are %q; it has to be named, never to match, and to leave others alone", pattern, bad)
		}
	}
}
