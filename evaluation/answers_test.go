package evaluation

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// TestStringAnswers holds the verdicts of DPR's own function, obtained by
// running it.
func TestStringAnswers(t *testing.T) {
	for _, c := range []struct {
		answer, text string
		want         bool
	}{
		{"May 18 , 2018", "It came out on May 18, 2018.", true},
		{"R\u00f6ntgen", "Ro\u0308ntgen rays", true},
		{"Rontgen", "R\u00f6ntgen rays", false},
		{"U.S.", "the US army", false},
		{"U.S.", "the U.S. army", true},
		{"us", "the U.S. army", false},
		{"New-York", "New York", false},
		{"it's", "It\u2019s", false},
		{"10", "10th", false},
		{"Stra\u00dfe", "STRASSE", false},
		{"\u0130stanbul", "i\u0307stanbul", true},
	} {
		m, err := stringAnswers([]string{c.answer})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.In(c.text); got != c.want {
			t.Errorf("%q in %q: %v, DPR says %v", c.answer, c.text, got, c.want)
		}
	}
	for _, empty := range []string{"", " ", "\u200b"} {
		if _, err := stringAnswers([]string{empty}); err == nil {
			t.Errorf("the answer %q, which matches everything, was accepted", empty)
		}
	}
}

func TestRegexAnswers(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"^foo$", "bar\nFoo\nbaz", true},
		{"R.ntgen", "R\u00f6ntgen", false}, // NFD adds a code point
		{"[\u00f6]", "o", true},            // for the same reason
		{`July\s4`, "july 4", true},
		{`\bcat\b`, "concatenate", false},
		{`\bcat\b`, "a cat.", true},
	} {
		m, bad := regexAnswers([]string{c.pattern})
		if len(bad) > 0 {
			t.Fatalf("%q does not compile", c.pattern)
		}
		if got := m.In(c.text); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
	m, bad := regexAnswers([]string{"(unclosed"})
	if len(bad) != 1 || m.In("(unclosed") {
		t.Error("a pattern that does not compile has to be reported and never match")
	}
}

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

// TestSQuADByHand: cases worked out from the definition.
func TestSQuADByHand(t *testing.T) {
	for _, c := range []struct {
		said    string
		answers []string
		em, f1  float64
	}{
		{"The Beatles", []string{"beatles!"}, 1, 1},
		{"in 1918", []string{"1918", "November 1918"}, 0, 2. / 3},
		{"New York City", []string{"New York"}, 0, 4. / 5},
		{"a dog dog", []string{"dog cat dog dog"}, 0, 2 * 2. / 6},
		{"Paris", []string{"London"}, 0, 0},
		{"the", []string{"a"}, 1, 1},
		{"", []string{"x"}, 0, 0},
		{"x", nil, 0, 0},
	} {
		if em, f1 := ExactMatch(c.said, c.answers), TokenF1(c.said, c.answers); em != c.em || math.Abs(f1-c.f1) > 1e-12 {
			t.Errorf("%q, %q: %g and %g, want %g and %g", c.said, c.answers, em, f1, c.em, c.f1)
		}
	}
}

// TestAcceptable: what a person takes for an answer has it, or most of it, and no other number.
func TestAcceptable(t *testing.T) {
	for _, c := range []struct {
		said    string
		answers []string
		want    bool
	}{
		{"ten years", []string{"10 years", "ten years"}, true},
		{"The warranty is ten years for frames", []string{"ten years"}, true},
		{"within 60 days of the purchase", []string{"60 days"}, true},
		{"60 days", []string{"30 days"}, false},
		{"60 days", []string{"within 60 days of buying it"}, true},
		{"the Angara", []string{"only the river Angara"}, true},
		{"the Selenga", []string{"only the river Angara"}, false},
		{"it is warm and the sun shines on the ten wide fields of the old farm", []string{"ten"}, false},
		{"", []string{"ten"}, false},
		{"ten", nil, false},
		{"ten", []string{""}, false},
	} {
		if got := Acceptable(c.said, c.answers); got != c.want {
			t.Errorf("%q for %q: %v", c.said, c.answers, got)
		}
	}
}
