package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/internal/corpus"
)

// candidate is a run of words of a passage that may be the answer.
type candidate struct {
	passage int // into those that were read
	Span
	words string // normalised
	// within is the probability of the words in their passage, P_start·P_end, and
	// joint that times the probability of the passage, P_select (Karpukhin et al. 2020,
	// DPR, section 6.1).
	within, joint float64
	total         float64 // of joint, over the spans of all passages with equal words
}

// mostAnswers is how many answers there are at most, of different words.
const mostAnswers = 3

// spansOf returns all spans of all passages, with their probabilities.
func spansOf(passages []corpus.Passage, readings []Reading) []candidate {
	largest := math.Inf(-1)
	sum := 0.0
	for _, r := range readings {
		largest = max(largest, r.Select)
	}
	for _, r := range readings {
		sum += math.Exp(r.Select - largest)
	}
	var all []candidate
	totals := map[string]float64{}
	for i, r := range readings {
		for _, s := range r.Spans {
			c := candidate{
				passage: i,
				Span:    s,
				words:   NormaliseAnswer(passages[i].Text[s.Start:s.End]),
				within:  math.Exp(s.Score - r.Starts - r.Ends),
			}
			if c.words == "" { // punctuation
				continue
			}
			c.joint = c.within * math.Exp(r.Select-largest) / sum
			totals[c.words] += c.joint
			all = append(all, c)
		}
	}
	for i := range all {
		all[i].total = totals[all[i].words]
	}
	return all
}

// chosen returns the likeliest answers with different words, in descending probability.
// CombineBest takes the best words of each passage. CombineSum adds up equal words of
// several passages; the answer's place is that of the likeliest of them.
func chosen(passages []corpus.Passage, readings []Reading, combine string) []candidate {
	all := spansOf(passages, readings)
	score := func(c candidate) float64 { return c.joint }
	if combine == CombineSum {
		score = func(c candidate) float64 { return c.total }
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(b.joint, a.joint))
	})
	var out []candidate
	for _, c := range all {
		if len(out) < mostAnswers &&
			!slices.ContainsFunc(
				out,
				func(o candidate) bool { return o.words == c.words || combine == CombineBest && o.passage == c.passage },
			) {
			out = append(out, c)
		}
	}
	return out
}

// NormaliseAnswer makes answers comparable as SQuAD's script does (Rajpurkar et al.
// 2016, section 6.1): lower case, without ASCII punctuation and articles, single spaces.
func NormaliseAnswer(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	var out strings.Builder
	for len(text) > 0 {
		word := len(text) - len(strings.TrimLeftFunc(text, isWord))
		if word == 0 {
			word = len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return !isWord(r) }))
			out.WriteString(text[:word])
		} else if run := text[:word]; run == "a" || run == "an" || run == "the" {
			out.WriteByte(' ')
		} else {
			out.WriteString(run)
		}
		text = text[word:]
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// isWord reports whether a character is part of a word to a regular expression.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
