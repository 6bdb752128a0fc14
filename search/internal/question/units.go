package question

import (
	"regexp"
	"slices"
	"strings"

	"example.org/conclave/internal/granules"
)

// unit is a part of a long question that may be what is asked: a sentence, a line, or a window of several that follow
// each other.
type unit struct {
	Text  string
	prior float64 // the log-odds that it is the question, by its form and place alone (priorOf)
}

// A long question is cut into at most mostUnits sentences, of which those of fewer than leastWords words are joined to
// the next, and into windows of several sentences.
const (
	mostUnits  = 128
	leastWords = 3
)

// The log-odds that a part of a long question is what is asked, fitted on the transcripts of
// research/bench/transcripts (docs/evidence/trials.md): for a question mark, for the name of an error, and for the last
// and the first parts, where people more often say what they want than in between.
const (
	priorAsks  = 3.5
	priorError = 2
)

var (
	priorFromEnd   = []float64{2.5, 1, .5}
	priorFromStart = []float64{2.25, .75}
)

// questionMarks are the question marks of all scripts.
const questionMarks = "?？؟՞;፧⁇⁈"

// namesError matches a line that says what failed, such as the last of a traceback.
var namesError = regexp.MustCompile(`(?i)\b\w*(error|exception|fatal|panic)\b|\bERR!`)

// unitsOf cuts a long question into units for which fits returns true: sentences and lines in their order (partsOf),
// followed by windows of several.
func unitsOf(question string, fits func(string) bool) []unit {
	parts := partsOf(question, fits)
	units := make([]unit, len(parts))
	for i, text := range parts {
		units[i] = unit{text, priorOf(text, i, len(parts)-1-i)}
	}
	return append(units, windowsOf(units, fits)...)
}

// partsOf cuts a text into at most mostUnits sentences and lines, in their order; nil for a blank text. One for which
// fits returns false is cut at spaces into parts that fit, or stays whole if no cut makes it fit. Short ones are joined
// to the next. Of too many it keeps the first and, more of them, the last.
func partsOf(question string, fits func(string) bool) []string {
	var parts []string
	for line := range strings.Lines(question) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		for _, span := range (granules.Granularity{Sentences: 1}).Split(line, nil) {
			parts = append(parts, cutToFit(line[span.Begin:span.End], fits)...)
		}
	}
	for words := leastWords; ; words *= 2 {
		parts = joinShort(parts, words, fits)
		if len(parts) <= mostUnits || words > len(question) {
			break
		}
	}
	if len(parts) > mostUnits { // of which no two fit together
		parts = slices.Concat(parts[:mostUnits/4], parts[len(parts)-mostUnits*3/4:])
	}
	return parts
}

// cutToFit cuts a sentence at spaces into the fewest parts of about equal length for which fits returns true. If parts
// of two words do not fit either, it returns the sentence as it is.
func cutToFit(sentence string, fits func(string) bool) []string {
	words := strings.Fields(sentence)
	for n := 1; n < len(words); n++ {
		size := (len(words) + n - 1) / n
		var parts []string
		for some := range slices.Chunk(words, size) {
			parts = append(parts, strings.Join(some, " "))
		}
		if !slices.ContainsFunc(parts, func(part string) bool { return !fits(part) }) {
			if n == 1 {
				return []string{sentence}
			}
			return parts
		}
	}
	return []string{sentence} // a word that does not fit is read as far as it does
}

// joinShort returns the parts with each one of fewer than so many words joined to the part after it by a space, if fits
// returns true for both together.
func joinShort(parts []string, words int, fits func(string) bool) (out []string) {
	for _, part := range parts {
		if n := len(out); n > 0 && len(strings.Fields(out[n-1])) < words {
			if both := out[n-1] + " " + part; fits(both) {
				out[n-1] = both
				continue
			}
		}
		out = append(out, part)
	}
	return out
}

// priorOf returns the prior of a sentence: the log-odds that it is the question, by its punctuation and by how many
// sentences stand before and behind it.
func priorOf(text string, before, behind int) (prior float64) {
	if behind < len(priorFromEnd) {
		prior = priorFromEnd[behind]
	}
	if before < len(priorFromStart) {
		prior = max(prior, priorFromStart[before])
	}
	switch {
	case strings.ContainsAny(text, questionMarks):
		prior += priorAsks
	case namesError.MatchString(text):
		prior += priorError
	}
	return prior
}

// windowsOf joins neighbouring sentences into the longest texts that fit, which do not overlap, and returns those of
// more than one sentence. The prior of a window is the highest of its sentences.
func windowsOf(sentences []unit, fits func(string) bool) (windows []unit) {
	var open unit
	joined := 0
	closeWindow := func() {
		if joined > 1 {
			windows = append(windows, open)
		}
	}
	for _, s := range sentences {
		if both := open.Text + " " + s.Text; joined > 0 && fits(both) {
			open.Text = both
			open.prior = max(open.prior, s.prior)
			joined++
			continue
		}
		closeWindow()
		open, joined = s, 1
	}
	closeWindow()
	return windows
}
