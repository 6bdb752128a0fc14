package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// CountExtracts gives answers in passages the wanted count.
func CountExtracts(unit string, all []reply.Extract, passages []corpus.Passage) {
	if unit == reply.OffsetBytes {
		return
	}
	for i := range all {
		c := reply.Counter{Text: passages[all[i].Reading].Text, Unit: unit}
		all[i].Start, all[i].End = c.CountTo(all[i].Start), c.CountTo(all[i].End)
	}
}

// candidate is a run of words of a passage that may be the answer.
type candidate struct {
	passage int // into those that were read
	learned.Span
	words string // normalised
	// within is the probability of the words in their passage, P_start·P_end, and
	// joint that times the probability of the passage, P_select (Karpukhin et al. 2020,
	// DPR, section 6.1).
	within, joint float64
	total         float64 // of joint, over the spans of all passages with equal words
}

// spansOf returns all spans of all passages, with their probabilities.
func spansOf(passages []corpus.Passage, readings []learned.Reading) []candidate {
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

// chooseAnswers returns the likeliest answers with different words, in descending probability.
// CombineBest takes the best words of each passage. CombineSum adds up equal words of
// several passages; the answer's place is that of the likeliest of them.
func chooseAnswers(passages []corpus.Passage, readings []learned.Reading, combine string) []candidate {
	all := spansOf(passages, readings)
	score := func(c candidate) float64 { return c.joint }
	if combine == ask.CombineSum {
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
				func(o candidate) bool {
					return o.words == c.words || combine == ask.CombineBest && o.passage == c.passage
				},
			) {
			out = append(out, c)
		}
	}
	return out
}

// mostAnswers is how many answers there are at most, of different words.
const mostAnswers = 3

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

// Extracts returns the answers in the readings of passages, which are in the order of
// their ranking. confidence is that of the ranking, nil if not known; chance may be nil.
func Extracts(
	passages []corpus.Passage,
	readings []learned.Reading,
	combine string,
	confidence *float64,
	chance learned.Chance,
) []reply.Extract {
	found := chooseAnswers(passages, readings, combine)
	out := make([]reply.Extract, len(found))
	for i, c := range found {
		p := &passages[c.passage]
		e := reply.Extract{
			Text:    p.Text[c.Start:c.End],
			Passage: p.ID,
			Start:   c.Start,
			End:     c.End,
			Score:   run.Printed(c.joint),
			Signals: signalsOf(found, i, readings, confidence),
			Reading: c.passage,
		}
		if combine == ask.CombineSum {
			e.Score = run.Printed(c.total)
		}
		if chance != nil {
			if x, err := chance.Of(e.Signals); err == nil { // an error says that it was calibrated otherwise
				e.Chance = run.Ptr(run.Printed(x))
			}
		}
		out[i] = e
	}
	return out
}
