package sources

import (
	"context"
	"math"
	"strings"
	"unicode"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// Compounds are taken apart where a question asks for them. Taking those of passages apart, too, finds no more (docs/
// evidence/languages.md).
const (
	german        = "de"
	leastPart     = 4  // letters of a part of a compound
	mostCompounds = 12 // words of a question that are looked at
	longestWord   = 40 // letters of such a word
)

// linkingLetters may stand between the parts of a German compound, as in Zahlung-s-verzug.
var linkingLetters = []string{"", "s", "es", "n", "en", "e", "er"}

// withCompoundParts returns a text followed by the parts of its German compounds (bestSplits); the text itself if the
// question is in another language or has none. It fails if the index does; a *storage.PartialError comes with a text
// whose parts were chosen by a part of the passages.
func (p *Findings) withCompoundParts(ctx context.Context, index storage.WordIndex, text string) (string, error) {
	if p.language != german {
		return text, nil
	}
	splits := splitsOf(text)
	if len(splits) == 0 {
		return text, nil
	}
	var known map[string]int
	err := p.Panel.Run.Compute(ctx, func(ctx context.Context) error {
		return run.Guard(func() (err error) {
			known, err = passagesWith(ctx, index, splits)
			return err
		})
	})
	if known == nil {
		return text, err
	}
	return strings.Join(append([]string{text}, bestSplits(splits, known)...), " "), err
}

// compoundSplit is a word of a question, in lower case, and two words that it may consist of.
type compoundSplit struct{ word, head, tail string }

// splitsOf returns all ways to take the words of a text apart into two of leastPart letters at least, in the order of
// the words; nil if none is long enough.
func splitsOf(text string) (splits []compoundSplit) {
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		letters := []rune(word)
		if len(letters) < 2*leastPart || len(letters) > longestWord || seen[word] || len(seen) == mostCompounds {
			continue
		}
		seen[word] = true
		for at := leastPart; at <= len(letters)-leastPart; at++ {
			for _, link := range linkingLetters {
				head, ends := strings.CutSuffix(string(letters[:at]), link)
				if ends && len([]rune(head)) >= leastPart {
					splits = append(splits, compoundSplit{word, head, string(letters[at:])})
				}
			}
		}
	}
	return splits
}

// passagesWith returns how many passages have each part of splits, in any inflection. It fails if the index does;
// with a *storage.PartialError the numbers are those of a part of the passages.
func passagesWith(
	ctx context.Context, index storage.WordIndex, splits []compoundSplit,
) (known map[string]int, err error) {
	known = map[string]int{}
	var parts []string
	for _, s := range splits {
		for _, part := range [...]string{s.head, s.tail} {
			if _, ok := known[part]; !ok {
				known[part] = 0
				parts = append(parts, part)
			}
		}
	}
	rarities, err := index.Rarities(ctx, parts)
	for i, terms := range rarities {
		if len(terms) == 1 { // else it is a function word
			known[parts[i]] = terms[0].DocFrequency
		}
	}
	return known, err
}

// bestSplits returns the two parts of each word that passages have both parts of: of several splits the one whose parts
// have the greatest geometric mean of passages, as Koehn and Knight choose (2003). splits of a word follow one another.
func bestSplits(splits []compoundSplit, known map[string]int) (parts []string) {
	for from := 0; from < len(splits); {
		word := splits[from].word
		best := 0.0
		var chosen compoundSplit
		for ; from < len(splits) && splits[from].word == word; from++ {
			s := splits[from]
			mean := math.Sqrt(float64(known[s.head]) * float64(known[s.tail]))
			if mean > best {
				best = mean
				chosen = s
			}
		}
		if best > 0 {
			parts = append(parts, chosen.head, chosen.tail)
		}
	}
	return parts
}
