package fusion

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"example.org/conclave/internal/rank"
)

// SignalNames returns the names of the numbers that Signals returns, in their order. A calibration has a term for each.
func SignalNames() []string {
	return []string{
		"late_gap_second", "late_gap_tenth", "late_above_random", "late_deviations",
		"dense_gap_second", "dense_above_random", "dense_deviations",
		"log_words", "words_gap_second", "words_found",
		"late_shared_with_words", "sources_that_agree", "known_words", "highest_familiarity",
		"short_late_beyond_dense",
		"codes_held", "codes_missing", "name_held", "short_all_held",
	}
}

// ExactFrom is where the signals begin of what the first passage holds of the question's
// keys.
const ExactFrom = 15

// Wording is what the encoders make of a question's words.
type Wording struct {
	Words int // without punctuation
	Keys
	Known float64 // the share of them that the vocabulary has whole; 0 where there are none
}

// long is the number of words from which a question is not short.
const long = 5

// Signals returns what is known of a fused answer when it is given, for the chance that it is right. They are read from
// the sources' own scores of its first passage, so that they mean the same whatever weights put it there: how far it is
// ahead of the others for each source; how close it is in itself, in comparison with random passages of the collection
// (ObservedSource.Random) and with what the question's words could score at most; how far the sources agree; whether
// the encoder knows the question's words; and how much closer it is to late interaction than to the dense source, if
// the question is short.
//
// The dense source is the base, or the first that is no specialist: closeness means something different for each
// specialist. The signals of a source that did not answer are 0. Without a first passage all are 0.
func Signals(c *Candidates, sources []ObservedSource, r Ranking, wording Wording) []float64 {
	signals := make([]float64, len(SignalNames()))
	if len(r.Items) == 0 {
		return signals
	}
	first := r.Items[0].Ordinal
	dense, late, words := signalSources(sources)
	lateLead := c.leadOf(sources, late, first)
	denseLead := c.leadOf(sources, dense, first)
	wordsLead := c.leadOf(sources, words, first)
	if late != nil {
		above, deviations := late.beyondRandom(c.scoreOf(late.Column, first), first)
		copy(signals, []float64{lateLead.second, lateLead.tenth, above, deviations})
	}
	if dense != nil {
		above, deviations := dense.beyondRandom(c.scoreOf(dense.Column, first), first)
		copy(signals[4:], []float64{denseLead.second, above, deviations})
	}
	if words != nil {
		score := c.scoreOf(words.Column, first)
		signals[7] = math.Log1p(math.Max(score, 0))
		if words.UpperBound > 0 {
			signals[8], signals[9] = wordsLead.second/words.UpperBound, score/words.UpperBound
		}
		if late != nil {
			signals[10] = c.shareAmongFirst(lateLead.rows, words.Column)
		}
	}
	for _, x := range []lead{denseLead, lateLead, wordsLead} {
		if x.second > 0 || len(x.rows) == 1 {
			signals[11]++
		}
	}
	signals[12] = wording.Known
	for _, s := range sources {
		if s.Kind == Specialist {
			signals[13] = math.Max(signals[13], s.Familiarity)
		}
	}
	short := max(0, 1-float64(max(wording.Words, 1)-1)/(long-1))
	if late != nil && dense != nil {
		// The token of a lone letter or number is somewhere, in a passage about anything.
		signals[14] = short * math.Max(0, signals[2]-signals[5])
	}
	keySignals, others := wording.heldSignals(first, short)
	for i := range ExactFrom {
		signals[i] *= others
	}
	copy(signals[ExactFrom:], keySignals[:])
	return signals
}

// signalSources returns the sources that Signals reads closeness from: the base, or else the first generalist, late
// interaction, and words. Each is nil if there is none.
func signalSources(sources []ObservedSource) (dense, late, words *ObservedSource) {
	for i := range sources {
		s := &sources[i]
		switch s.Kind {
		case Base:
			dense = s
		case Generalist:
			if dense == nil {
				dense = s
			}
		case Late:
			late = s
		case Lexical:
			words = s
		}
	}
	return dense, late, words
}

// Closeness reports whether the sources have all signals that the confidences of an
// uncalibrated collection are computed from: a dense source that is no specialist, words,
// and late interaction by the base's states.
func Closeness(sources []ObservedSource) bool {
	dense, late, words := signalSources(sources)
	return dense != nil && late != nil && !late.Foreign && words != nil
}

// ForeignCloseness reports whether the sources have all signals that the confidences by an encoder of its own are
// computed from (ObservedSource.Foreign): that as the dense source, and words. late says that late interaction takes
// part, by the states of such an encoder; with the base's there is no such closeness.
func ForeignCloseness(sources []ObservedSource) (close, late bool) {
	dense, tokens, words := signalSources(sources)
	close = dense != nil && dense.Foreign && (tokens == nil || tokens.Foreign) && words != nil
	return close, close && tokens != nil
}

// LeastRandom is how many random passages there have to be for a confidence. With 16 of the 128
// that are drawn where there are so many, confidences are off by .034 at most (79 questions;
// docs/evidence/reliability.md), with 4 by .41.
const LeastRandom = 16

// Compared reports whether the dense source and late interaction, if they are there, scored at least LeastRandom random
// passages.
func Compared(sources []ObservedSource) bool {
	dense, late, _ := signalSources(sources)
	for _, s := range []*ObservedSource{dense, late} {
		if s != nil && len(s.Random) < LeastRandom {
			return false
		}
	}
	return true
}

// scoreOf returns a source's score of a passage; 0 if the passage is no candidate or has no score.
func (c *Candidates) scoreOf(column int, passage rank.Ordinal) float64 {
	row, ok := slices.BinarySearch(c.ordinals, passage)
	if !ok {
		return 0
	}
	return float64(c.cellAt(row, column).score)
}

// lead is how far a source's score of a passage is above those of the other candidates.
type lead struct {
	rows   []int32 // the source's first candidates (firstBy)
	second float64 // above the best other candidate; 0 if there is no other
	tenth  float64 // above the last of rows
}

// leadOf returns a source's lead for a passage. It is the zero value if the source is nil or has no scores.
func (c *Candidates) leadOf(sources []ObservedSource, of *ObservedSource, passage rank.Ordinal) (x lead) {
	if of == nil {
		return x
	}
	x.rows = c.firstBy(sources, of.Column)
	if len(x.rows) == 0 {
		return x
	}
	own := c.scoreOf(of.Column, passage)
	other := own // an only candidate has no lead
	for _, row := range x.rows {
		if c.ordinals[row] != passage {
			other = float64(c.cellAt(int(row), of.Column).score)
			break
		}
	}
	x.second = own - other
	x.tenth = own - float64(c.cellAt(int(x.rows[len(x.rows)-1]), of.Column).score)
	return x
}

// leastDeviation is a lower bound of the deviation of random passages' scores, so that a
// source that scores them alike gives no false certainty.
const leastDeviation = .01

// beyondRandom returns by how much a score is above the mean of random passages' scores, and by how many of their
// standard deviations. Random scores of the passage itself do not count. Both are 0 without random passages.
func (s *ObservedSource) beyondRandom(score float64, passage rank.Ordinal) (above, deviations float64) {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, h := range s.Random {
		if h.Ordinal != passage {
			n++
			sum += float64(h.Score)
			squares += float64(h.Score) * float64(h.Score)
		}
	}
	if n == 0 {
		return 0, 0
	}
	mean := sum / n
	above = score - mean
	return above, above / math.Max(math.Sqrt(math.Max(squares/n-mean*mean, 0)), leastDeviation)
}

// RandomDeviation returns the standard deviation of the source's scores of random passages, leastDeviation at least.
func (s *ObservedSource) RandomDeviation() float64 {
	scores := make([]float64, len(s.Random))
	for i, h := range s.Random {
		scores[i] = float64(h.Score)
	}
	return math.Max(stat.PopStdDev(scores, nil), leastDeviation)
}
