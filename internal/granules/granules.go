// Package granules splits texts into granules: parts that have a vector of their
// own, so that a question is compared with each. How large they are is a
// granularity: n sentences, n tokens, or the whole text (Yang et al., 2022,
// "Confidence-Calibrated Ensemble Dense Phrase Retrieval", section 3.1, which calls
// them phrases).
package granules

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/rank"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/rivo/uniseg"
)

// Granularity is the size of granules, the parts of a text that are encoded separately, and how they are encoded. The
// zero value stands for the whole text with its title; at most one of the numbers is above 0.
type Granularity struct {
	// number of sentences of a granule
	Sentences int
	// largest number of tokens of a granule, which has whole words, and at least one
	Tokens   int
	Untitled bool // the passage's title is not put before each granule
}

// Version is increased when texts are split in another way. Vectors that were made with another version do not fit.
const Version = 1

// Passage is the text of the granularity of whole texts.
const Passage = "passage"

// most is the largest number of sentences or tokens.
const most = 1000

// What a number of tokens ends with, and a granularity without titles.
const (
	tokensEnd   = "t"
	untitledEnd = "-untitled"
)

// Parse parses a granularity: "3" is three sentences, "125t" 125 tokens, "passage" whole texts, and "3-untitled" three
// sentences without the title before them. It fails for other texts, and numbers above most.
func Parse(s string) (Granularity, error) {
	size, untitled := strings.CutSuffix(s, untitledEnd)
	if size == Passage {
		return Granularity{Untitled: untitled}, nil
	}
	number, tokens := strings.CutSuffix(size, tokensEnd)
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > most || number[0] == '+' || number[0] == '0' {
		return Granularity{}, fmt.Errorf(
			`granularity %q is unknown: it must be a number of sentences such as 3, a number of tokens such as 125%s (each from 1 to %d), or %q; each may end with %q for granules without the title`,
			s, tokensEnd, most, Passage, untitledEnd,
		)
	}
	if tokens {
		return Granularity{Tokens: n, Untitled: untitled}, nil
	}
	return Granularity{Sentences: n, Untitled: untitled}, nil
}

// String returns the text that Parse parses.
func (g Granularity) String() string {
	size := Passage
	switch {
	case g.Sentences > 0:
		size = strconv.Itoa(g.Sentences)
	case g.Tokens > 0:
		size = strconv.Itoa(g.Tokens) + tokensEnd
	}
	if g.Untitled {
		size += untitledEnd
	}
	return size
}

// span is the begin and end of a part of a text, in bytes.
type span struct{ begin, end int }

// Split returns the granules of a text, in their order and without the white space between them. They do not overlap;
// the last may be shorter. There is always at least one: that of a blank text is the whole text. tokens returns the
// number of tokens of a word; it may be nil unless g.Tokens is set.
func (g Granularity) Split(text string, tokens func(word string) int) []rank.Span {
	var parts []span
	switch {
	case g.Sentences > 0:
		sentences := sentencesOf(text)
		for from := 0; from < len(sentences); from += g.Sentences {
			last := min(from+g.Sentences, len(sentences)) - 1
			parts = append(parts, span{sentences[from].begin, sentences[last].end})
		}
	case g.Tokens > 0:
		parts = byTokens(text, g.Tokens, tokens)
	}
	if len(parts) == 0 {
		parts = []span{{0, len(text)}}
	}
	out := make([]rank.Span, len(parts))
	for i, p := range parts {
		out[i] = rank.Span{Begin: uint32(p.begin), End: uint32(p.end)}
	}
	return out
}

// Packed returns parts of a text, in their order and without overlap: whole sentences, as many as have at most n
// tokens together; nil for a blank text. A longer sentence is split between words, and a single word may have more
// than n. tokens returns the number of tokens of a word.
func Packed(text string, n int, tokens func(word string) int) (out []rank.Span) {
	have := 0 // tokens of the last part
	for _, s := range sentencesOf(text) {
		for _, p := range byTokens(text[s.begin:s.end], n, tokens) {
			begin, end := s.begin+p.begin, s.begin+p.end
			more := 0
			for w := words.FromString(text[begin:end]); w.Next(); {
				if strings.TrimSpace(w.Value()) != "" {
					more += tokens(w.Value())
				}
			}
			if len(out) == 0 || have+more > n {
				out = append(out, rank.Span{Begin: uint32(begin)})
				have = 0
			}
			out[len(out)-1].End = uint32(end)
			have += more
		}
	}
	return out
}

// byTokens returns parts of whole words (Unicode Standard Annex 29, section 4) with at most n tokens, in order, and
// with the punctuation that follows them, which may exceed n, as a single word may. A blank text has none.
func byTokens(text string, n int, tokens func(word string) int) (parts []span) {
	have := 0
	end := -1 // of the last part: its tokens, and where it ends
	for w := words.FromString(text); w.Next(); {
		if strings.TrimSpace(w.Value()) == "" {
			continue
		}
		more := tokens(w.Value())
		follows := w.Start() == end && (isInCluster(text, end) ||
			!strings.ContainsFunc(w.Value(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }))
		if len(parts) == 0 || have+more > n && !follows {
			parts = append(parts, span{begin: w.Start()})
			have = 0
		}
		end = w.End()
		have = have + more
		parts[len(parts)-1].end = end
	}
	return parts
}

// isInCluster reports whether a place of a text, not at its beginning, is within what a reader sees as one character
// (grapheme cluster), such as before the Thai vowel am, which begins a word by the rules for those.
func isInCluster(text string, at int) bool {
	if text[at] < utf8.RuneSelf {
		return false
	}
	_, before := utf8.DecodeLastRuneInString(text[:at])
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(text[at-before:], -1)
	return len(cluster) > before
}
