package evaluation

import "testing"

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
