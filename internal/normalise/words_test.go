package normalise_test

import (
	"testing"

	"example.org/conclave/internal/normalise"
)

// TestWords: powers and fractions are those of arithmetic; everything else is as Text has it.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"10³":                    "10^3",
		"10⁻³ m":                 "10^-3 m",
		"5·10²³":                 "5·10^23",
		"2ⁿ and xⁿ⁺¹":            "2^n and x^n+1",
		"m², cm³":                "m^2, cm^3",
		"(a+b)²":                 "(a+b)^2",
		"½ cup":                  "1/2 cup",
		"1½ cups, 2¼":            "1 1/2 cups, 2 1/4",
		"⅞-inch":                 "7/8-inch",
		"3⁄16":                   "3/16",
		"⅟16":                    "1/16",
		"² alone":                "2 alone",
		"CO₂":                    "CO2",
		"①②Ⅷ":                    "12VIII",
		"ﬁne ½":                  "fine 1/2",
		"broken \xff½":           "broken \xff1/2",
		"Jose\u0301²":            "Jos\u00e9^2",
		"10^3 and 1/2 and plain": "10^3 and 1/2 and plain",
	} {
		if got := normalise.Words(text); got != want {
			t.Errorf("%+q: %+q, want %+q", text, got, want)
		}
	}
}

// FuzzWords: without powers and fractions it is Text, and it changes its own result no more.
func FuzzWords(f *testing.F) {
	f.Add("10³ ½ Jose\u0301 \u200b \xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := normalise.Words(text)
		if again := normalise.Words(got); again != got {
			t.Errorf("%+q gives %+q, and that %+q", text, got, again)
		}
	})
}
