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

// CountExtracts converts the starts and ends of extracts from bytes to a unit of reply.OffsetNames, in place; it does
// nothing for bytes. Extract.Reading is an index of passages.
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
	passage int // index of the passages that were read
	learned.Span
	words string // as NormaliseAnswer returns them
	// within is the probability of the words in their passage, P_start·P_end, and
	// joint that times the probability of the passage, P_select (Karpukhin et al. 2020,
	// DPR, section 6.1).
	within, joint float64
	total         float64 // the sum of joint over the spans of all passages with equal words
}

// spansOf returns all spans that a reader marked in all passages, with their probabilities. Spans of only punctuation
// are left out. readings[i] is of passages[i].
func spansOf(passages []corpus.Passage, readings []learned.ReadResult) []candidate {
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

// chooseAnswers returns at most mostAnswers candidates with different words, the most probable first. With
// ask.CombineBest they are from different passages and ordered by their own probability; with ask.CombineSum they are
// ordered by the sum of that of equal words, and each has the place of the likeliest of these.
func chooseAnswers(passages []corpus.Passage, readings []learned.ReadResult, combine string) []candidate {
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

// mostAnswers is the greatest number of extracts of an answer.
const mostAnswers = 3

// NormaliseAnswer returns a text in the form in which SQuAD's script compares answers (Rajpurkar et al. 2016, section
// 6.1): lower case, without ASCII punctuation and articles, single spaces.
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

// isWord reports whether a character is a letter or a number.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Extracts returns the answers in passages by what a reader said of them, the most probable first, at most mostAnswers.
// passages are in the order of their ranking, and readings[i] is of passages[i]. combine is ask.CombineBest or
// ask.CombineSum. confidence is the ranking's; nil: it is not known. chance computes Extract.Chance; nil: the extracts
// have none. Starts and ends are bytes. Place, Headline and Collection are left for the caller to set.
func Extracts(
	passages []corpus.Passage,
	readings []learned.ReadResult,
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
