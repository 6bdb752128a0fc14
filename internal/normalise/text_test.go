package normalise_test

import (
	"testing"
	"unicode/utf8"

	"example.org/conclave/internal/normalise"

	"golang.org/x/text/unicode/norm"
)

// TestText compares with what Unicode's charts say of each character.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"plain ASCII,\tits \x00 and \r\n": "plain ASCII,\tits \x00 and \r\n",
		"Jose\u0301":                      "Jos\u00e9",
		"Jos\u00e9":                       "Jos\u00e9",
		"ﬁne, ﬄuent":                      "fine, ffluent",
		"soft\u00adhyphen":                "softhyphen",
		"zero\u200bwidth\ufeff":           "zerowidth",
		"a\u2060b\u200dc\u200cd":          "abcd",
		"Ｆｕｌｌ　ｗｉｄｔｈ１":                     "Full width1",
		"CO₂ and m²":                      "CO2 and m2",
		"①②Ⅷ":                             "12VIII",
		"heart \u2764\ufe0f":              "heart \u2764",
		"e\u00ad\u0301":                   "\u00e9",
		"สวัสดี\u200bชาวโลก": "สวัสดี ชาวโลก",
		"\u0600 is seen":           "\u0600 is seen", // ARABIC NUMBER SIGN, though it is Cf
		"broken \xff\xfe, e\u0301": "broken \xff\xfe, \u00e9",
		"한글 \u1112\u1161\u11ab":    "한글 한",
		"“quotes” – dash… it’s":    "“quotes” – dash... it’s",
	} {
		if got := normalise.Text(text); got != want {
			t.Errorf("%+q: %+q, want %+q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("Jose\u0301 \u200b ﬁ \xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := normalise.Text(text)
		if !utf8.ValidString(text) {
			return
		}
		if !norm.NFKC.IsNormalString(got) {
			t.Errorf("%+q is not in form KC: %+q", text, got)
		}
		// Other forms of a text say the same.
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if other := normalise.Text(form.String(text)); other != got && len(text) < 30 {
				t.Errorf("%+q gives %+q, and its form %d %+q", text, got, form, other)
			}
		}
	})
}
