package granules

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.org/conclave/internal/rank"

	"pgregory.net/rapid"
)

// Each case is a text with a bar between its sentences.
var golden = []string{
	"One sentence.",
	"Hello World.|My name is Jonas.",
	"What is your name?|My name is Jonas.",
	"There it is!|I found it.",
	"My name is Jonas E. Smith.",
	"J. R. R. Tolkien wrote it.|The book is long.",
	"Please turn to p. 55 of Vol. 2.",
	"Were Jane and co. there?|They were at the party.",
	"Let's ask Jane and co.|They should know.",
	"They closed the deal with Pitt, Briggs & Co. at noon.",
	"I can see Mt. Fuji from here.",
	"St. Michael's Church is on 5th st. near the light.",
	"That is JFK Jr.'s book.",
	"I visited the U.S.A. last year.",
	"I live in the U.S.|How about you?",
	"I work for the U.S. Government in Virginia.",
	"She has $100.00 in her bag.",
	"It costs 3.14 euros.|Pi is 3.14159.",
	"He teaches science (He previously worked for 5 years as an engineer.) at the local University.",
	"Her email is jane.doe@example.com.|I sent her an email.",
	"The site is: https://www.example.50.com/new-site/awesome_content.html.|Please check it out.",
	"She turned to him, \"This is great.\" she said.",
	"She turned to him, \"This is great.\"|She held the book out to show him.",
	"“Stop!” he said.|“Why?” asked the boy.",
	"‘Why not?’ said the fox.",
	"Hello!!|Long time no see.",
	"Hello??|Who is there?",
	"You can find it at N°. 1026.253.553.|That is where the treasure is.",
	"She works at Yahoo in the accounting department.",
	"He arrived at 5 p.m. on Monday.",
	"He arrived at 5 p.m.|The others came later.",
	"Dr. Brown, Prof. Green and Mrs. White met.|Rev. Black did not.",
	"See Fig. 3 and Eq. 2, e.g. Table 1.|It works, i.e. Nothing fails.",
	"As Smith et al. 2010 showed, it holds.",
	"Patients had hepatitis C.|Patients with vitamin D.|Others had none.",
	"It was seen in 12 cases.|80% of women survived.",
	"It was Jan. 5 in 1990.|3 days later it rained.",
	"1. The first item.|2. The second item.",
	"The causes are unknown.|- Age plays a part.|- So does salt.",
	"A line that is\nbroken in the middle.|The next\r\nsentence.",
	"A heading\n|\nA paragraph.",
	"- milk\n|- bread\n|- salt",
	"これは文です。|次の文です。|「はい。」と言った。",
	"我爱北京。|天安门在哪里？|在这里！",
	"यह एक वाक्य है।|यह दूसरा है।",
	"Это первое.|Это второе?|Да!",
	"¿Cómo está hoy?|Espero que muy bien.",
	"Ça va.|Où est-il?",
	"هل هذا صحيح؟|نعم.",
	"no full stop at all",
	"A wait ... and then more.",
}

func TestSentences(t *testing.T) {
	for _, c := range golden {
		text := strings.ReplaceAll(c, "|", " ")
		if strings.ContainsFunc(c, func(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana) }) {
			text = strings.ReplaceAll(c, "|", "") // no spaces between sentences
		}
		var want, got []string
		for s := range strings.SplitSeq(c, "|") {
			want = append(want, strings.TrimSpace(s))
		}
		for _, s := range sentencesOf(text) {
			got = append(got, text[s.begin:s.end])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	text := " One. Two two. Three!  Four four four? Five. "
	for granularity, want := range map[string][]string{
		"1":          {"One.", "Two two.", "Three!", "Four four four?", "Five."},
		"2":          {"One. Two two.", "Three!  Four four four?", "Five."},
		"3":          {"One. Two two. Three!", "Four four four? Five."},
		"5":          {"One. Two two. Three!  Four four four? Five."},
		"9":          {"One. Two two. Three!  Four four four? Five."},
		"passage":    {text},
		"2-untitled": {"One. Two two.", "Three!  Four four four?", "Five."},
		"4t":         {"One. Two two.", "Three!  Four four", "four? Five."},
	} {
		g, err := Parse(granularity)
		if err != nil {
			t.Fatal(err)
		}
		if g.String() != granularity {
			t.Errorf("%q is written as %q", granularity, g)
		}
		var got []string
		for _, s := range g.Split(text, func(string) int { return 1 }) {
			got = append(got, text[s.Begin:s.End])
		}
		if !slices.Equal(got, want) {
			t.Errorf("granularity %s:\n got %q\nwant %q", granularity, got, want)
		}
	}
}

// A word of more tokens than a granule has is a granule of its own.
func TestSplitLongWord(t *testing.T) {
	text := "a incomprehensibilities b"
	got := Granularity{Tokens: 3}.Split(text, func(w string) int { return (len(w) + 3) / 4 })
	if want := []rank.Span{{Begin: 0, End: 1}, {Begin: 2, End: 23}, {Begin: 24, End: 25}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{"", "0", "-1", "01", "+1", "1001", "t", "0t", "1.5", "1tt", "3 ", "passages", "Passage", "untitled", "-untitled", "1untitled", "1-untitled-untitled"} {
		if g, err := Parse(s); err == nil {
			t.Errorf("%q was read as %v", s, g)
		}
	}
}

// Whatever the text: granules follow each other, and nothing but white space lies
// between them.
func TestSplitKeepsTheText(t *testing.T) {
	piece := rapid.SampledFrom(
		[]string{
			"a",
			"The",
			"Dr.",
			"U.S.",
			"3.5",
			"1.",
			".",
			"!",
			"?",
			"\"",
			"”",
			"(",
			")",
			" ",
			" ",
			"  ",
			"\n",
			"\n\n",
			"\r\n",
			"- ",
			"。",
			"中",
			"é",
			"\u00a0",
			"\u2029",
			"\xff",
			"…",
			"e.g.",
			"5",
		},
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "text"), "")
		for _, g := range []Granularity{{}, {Sentences: 1}, {Sentences: 3}, {Tokens: 2}} {
			parts := g.Split(text, func(w string) int { return len(w) })
			if len(parts) == 0 {
				t.Fatalf("%v: no granules of %q", g, text)
			}
			at := uint32(0)
			for _, p := range parts {
				if p.Begin < at || p.End < p.Begin || int(p.End) > len(text) {
					t.Fatalf("%v: granules %v of %q", g, parts, text)
				}
				if between := text[at:p.Begin]; strings.TrimSpace(between) != "" {
					t.Fatalf("%v: %q of %q is in no granule", g, between, text)
				}
				if p.Begin == p.End && len(parts) > 1 {
					t.Fatalf("%v: an empty granule in %v of %q", g, parts, text)
				}
				at = p.End
			}
			if rest := text[at:]; strings.TrimSpace(rest) != "" {
				t.Fatalf("%v: %q at the end of %q is in no granule", g, rest, text)
			}
		}
	})
}

// Texts of any kind take time in proportion to their length: these would take minutes.
func TestSentencesOfLongTexts(t *testing.T) {
	for _, piece := range []string{"Dr. ", "a\n", " \n", "1. ", ") ", "((", ". ", "x", "\" "} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		if parts := sentencesOf(text); len(parts) == 0 && strings.TrimSpace(text) != "" {
			t.Errorf("no sentences of many %q", piece)
		}
	}
}

func FuzzSentences(f *testing.F) {
	for _, c := range golden {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, s := range sentencesOf(text) {
			if s.begin < at || s.end <= s.begin || strings.TrimSpace(text[at:s.begin]) != "" {
				t.Fatalf("sentences %v of %q", sentencesOf(text), text)
			}
			at = s.end
		}
		if strings.TrimSpace(text[at:]) != "" {
			t.Fatalf("the end of %q is lost", text)
		}
	})
}
