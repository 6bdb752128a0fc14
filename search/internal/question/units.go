package question

import (
	"regexp"
	"slices"
	"strings"

	"example.org/conclave/internal/granules"
)

// unit is a part of a long question that may be what is asked: a sentence, a line, or some
// that follow each other.
type unit struct {
	Text  string
	prior float64 // how much it looks like what is asked, whatever the collection has
}

// A long question is cut into at most mostUnits sentences, of which short ones are joined
// to the next, and into as many windows as they fill.
const (
	mostUnits  = 128
	leastWords = 3
)

// How much a part of a long question looks like what is asked, as logarithms of odds,
// fitted on the transcripts of research/bench/transcripts (docs/evidence/trials.md): what ends a question
// and what names an error stand out, and what is wanted is said at the end or at the
// beginning more often than between.
const (
	priorAsks  = 3.5
	priorError = 2
)

var (
	priorFromEnd   = []float64{2.5, 1, .5}
	priorFromStart = []float64{2.25, .75}
)

// questionMarks are those of all scripts that have one of their own.
const questionMarks = "?？؟՞;፧⁇⁈"

// namesError matches a line that says what failed, such as the last of a traceback.
var namesError = regexp.MustCompile(`(?i)\b\w*(error|exception|fatal|panic)\b|\bERR!`)

// unitsOf cuts a question into units that fit. They are in the order of the question, the
// windows of several behind the sentences.
func unitsOf(question string, fits func(string) bool) []unit {
	parts := partsOf(question, fits)
	units := make([]unit, len(parts))
	for i, text := range parts {
		units[i] = unit{text, priorOf(text, i, len(parts)-1-i)}
	}
	return append(units, windowsOf(units, fits)...)
}

// partsOf cuts a question into sentences and lines that fit, at most mostUnits, of which short ones are joined.
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

// cutToFit cuts a sentence at spaces into parts that fit, as equal as may be.
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

// joinShort joins parts of fewer words to the next, or else to the one before, where both
// fit together.
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

// priorOf returns the prior of a sentence with so many before and behind it.
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

// windowsOf returns windows of several sentences, one behind the other.
func windowsOf(sentences []unit, fits func(string) bool) (windows []unit) {
	var open unit
	of := 0
	closeWindow := func() {
		if of > 1 {
			windows = append(windows, open)
		}
	}
	for _, s := range sentences {
		if both := open.Text + " " + s.Text; of > 0 && fits(both) {
			open.Text = both
			open.prior = max(open.prior, s.prior)
			of++
			continue
		}
		closeWindow()
		open, of = s, 1
	}
	closeWindow()
	return windows
}
