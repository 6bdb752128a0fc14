package naming

import (
	"slices"
	"strings"
	"testing"
)

// english returns how names are told in English.
func english() Language {
	function := strings.Fields("what is the for at of a in does did when to on and it was")
	return Language{
		Capitals:   true,
		IsFunction: func(word string) bool { return slices.Contains(function, strings.ToLower(word)) },
	}
}

// TestMentions compares with what a reader takes for names.
func TestMentions(t *testing.T) {
	for question, want := range map[string][]string{
		"what is the fine for travelling without a ticket at Stridewell?": {"Stridewell"},
		"When did Marie Curie win the Nobel Peace Prize?":                 {"Marie Curie", "Nobel Peace Prize"},
		"When Did Marie Curie Win The Prize?":                             nil, // a title
		"what does part 541972 weigh?":                                    {"541972"},
		"what does E23 mean, and what BD-500?":                            {"E23", "BD-500"},
		"does it weigh 50kg on the 3rd day":                               nil,
		"what was on 29/05/1953 and on 10.8.1628?":                        {"29/05/1953", "10.8.1628"},
		"is it open on 28 November 2026":                                  {"28 November 2026"},
		"what was the rate in 2019":                                       {"2019"},
		`what does "return number" mean`:                                  {"return number"},
		"I'm sure that I've paid":                                         nil,
		"is Ana Novák's extension in Room 12":                             {"Ana Novák", "Room", "12"},
		"is vitamin C good":                                               nil,
	} {
		var got []string
		for _, m := range Mentions(question, english()) {
			got = append(got, m.Text())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// TestFind compares with what a reader finds: whether the text names the same, or what it names in its place.
func TestFind(t *testing.T) {
	for _, c := range []struct{ question, text, missing, rival string }{
		{"the fine at Stridewell", "At Kestrelpond the fine is 80 crowns.", "Stridewell", "Kestrelpond"},
		{"the fine at Kestrelpond", "KESTRELPOND RAIL. The fine is 80 crowns.", "", ""},
		{"when did Marie Curie die", "Pierre Curie died in 1906. Curie was hit by a cart.", "", ""},
		{"when did Marie Curie die", "Pierre Curie died in 1906.", "Marie", "Pierre Curie"},
		{"who won the Nobel Peace Prize", "She shared the physics Nobel Prize.", "Peace", "Nobel Prize"},
		{"is it in the United States", "It is made in the US.", "", ""},
		{"what says the WHO", "The World Health Organization says so.", "", ""},
		{"is it a Siberian lake", "The lake lies in Siberia.", "", ""},
		{"how does the PayPal button work", "Pay at paypal.com.", "", ""},
		{"where is João", "Joao works in purchasing.", "", ""},
		{"what helps HIV-related pain", "In HIV the pain is rare.", "", ""},
		{"what does part 541972 weigh", "Part 541902 weighs 843 grams.", "541972", "541902"},
		{"what does part 541972 weigh", "Part 541972 weighs 843 grams.", "", ""},
		{"what does E23 mean", "E11: clean the contacts.", "E23", "E11"},
		{"what does BC.6613-18 weigh", "Valve BC 6613-18 weighs 383 g.", "", ""},
		{"is CO2 heavy", "CO₂ is heavier than air.", "", ""},
		{"what was it in 2019", "In 2017 it was 80.", "2019", "2017"},
		{"how high is the hill of 8848.86 m", "It is 8,848.86 m high.", "", ""},
		{"how high is the hill of 8,848 m", "It is 8848 m high.", "", ""},
		{"how old are the 12 men", "Twelve men came.", "", ""},
		{"what was on 29/05/1953", "They arrived on 29 May 1953.", "", ""},
		{"what was on 10.8.1628", "On August 10, 1628 she sank.", "", ""},
		{"what was on 11.8.1628", "On August 10, 1628 she sank.", "11.8.1628", "another date"},
		{"what is article 15 about", "Article 17 is about speed.", "15", "Article 17"},
		{"what is paid for 45 minutes", "After 30 minutes a half is paid.", "45", ""},
		{`what is a "return number"`, "Dealers need a return number.", "", ""},
		{`what is a "return number"`, "Dealers return it by number.", "return number", ""},
	} {
		text := NewText(c.text)
		var missing []string
		rival := ""
		for _, m := range Mentions("tell me "+c.question, english()) {
			found := text.Find(m)
			missing = append(missing, found.Missing...)
			if len(found.Missing) > 0 {
				rival = found.Rival
			}
		}
		if strings.Join(missing, " ") != c.missing || rival != c.rival {
			t.Errorf("%q in %q: %q is missing, for %q; want %q for %q", c.question, c.text, missing, rival, c.missing, c.rival)
		}
	}
}

// FuzzFind reads any question and text without a panic, and finds what a question names in the question itself.
func FuzzFind(f *testing.F) {
	f.Add("what is the fine at Stridewell in 2019?", "At Kestrelpond on 29/05/1953 8,848.86")
	f.Add(`"`, "“ «")
	f.Fuzz(func(t *testing.T, question, text string) {
		read, own := NewText(text), NewText(question)
		for _, m := range Mentions(question, english()) {
			_ = read.Find(m)
			if found := own.Find(m); len(found.Missing) > 0 {
				t.Errorf("%q does not name its own %q", question, m.Text())
			}
		}
	})
}
