package ask

import (
	"slices"
	"testing"
)

// TestTyped, by what people expect of a search box.
func TestTyped(t *testing.T) {
	for _, c := range []struct {
		typed, question string
		must, mustNot   []string
	}{
		{typed: "when do you open", question: "when do you open"},
		{"\"reset password\" on a phone", "reset password on a phone", []string{"reset password"}, nil},
		{"how to reset -windows", "how to reset", nil, []string{"windows"}},
		{`jaguar -car -"operating system" speed`, "jaguar speed", nil, []string{"car", "operating system"}},
		{`“smart quotes” matter`, "smart quotes matter", []string{"smart quotes"}, nil},
		{`„deutsche Anführung“ gilt`, "deutsche Anführung gilt", []string{"deutsche Anführung"}, nil},
		{`one word: "ferry"?`, "one word: ferry?", []string{"ferry"}, nil},
		{"at -40 degrees", "at -40 degrees", nil, nil},
		{"a 5\" by 7\" frame", "a 5\" by 7\" frame", nil, nil},
		{"state-of-the-art wi-fi", "state-of-the-art wi-fi", nil, nil},
		{"what is - this -", "what is - this -", nil, nil},
		{"the --force flag", "the --force flag", nil, nil},
		{"no \"end of quotes", "no \"end of quotes", nil, nil},
		{"empty \"\" quotes", "empty \"\" quotes", nil, nil},
		{"-nothing", "-nothing", nil, nil},
		{"ends with -word.", "ends with", nil, []string{"word"}},
		{"canal NOT Panama", "canal", nil, []string{"Panama"}},
		{`jaguar speed NOT "operating system" NOT car`, "jaguar speed", nil, []string{"operating system", "car"}},
		{"I can NOT log in", "I can NOT log in", nil, nil},
		{"why does my printer NOT print?", "why does my printer NOT print?", nil, nil},
		{"PRINTER NOT WORKING", "PRINTER NOT WORKING", nil, nil},
		{"NOT found", "NOT found", nil, nil},
		{"canal NOT", "canal NOT", nil, nil},
		{"canal NOTE Panama", "canal NOTE Panama", nil, nil},
	} {
		question, must, mustNot := Typed(c.typed)
		if question != c.question || !slices.Equal(must, c.must) || !slices.Equal(mustNot, c.mustNot) {
			t.Errorf("%q: %q, must %q, not %q; want %q, %q, %q", c.typed, question, must, mustNot, c.question, c.must, c.mustNot)
		}
	}
}
