package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"conclave/search"
)

// printAnswer writes a response as a table for people: the passages with what
// each source contributed, then how each source fared.
func printAnswer(out io.Writer, r search.Response, width int) error {
	w := &errWriter{out: out}
	rankings := r.Rankings
	if len(rankings) == 0 {
		rankings = []search.Ranking{{Fusion: r.Fusion, Confidence: r.Confidence, Results: r.Results}}
	}
	for _, ranking := range rankings {
		w.printf("%s", ranking.Fusion)
		if ranking.Confidence != nil {
			w.printf(", confidence %.2f", *ranking.Confidence)
		}
		w.printf(", %.1f ms\n\n", r.TookMS)
		if len(ranking.Results) == 0 {
			w.printf("  nothing found\n\n")
		}
		for _, result := range ranking.Results {
			printResult(w, result, width)
		}
	}
	for _, s := range r.Sources {
		w.printf("%-14s %-8s %4d hits", s.Name, s.Status, s.Hits)
		if s.Familiarity != nil {
			w.printf("  familiarity %.2f", *s.Familiarity)
		}
		if s.Chance != nil {
			w.printf("  chance %.2f", *s.Chance)
		}
		if s.Confidence != nil {
			w.printf("  confidence %.2f", *s.Confidence)
		}
		if s.Weight != nil {
			w.printf("  weight %.2f", *s.Weight)
		}
		w.printf("  %.1f ms", s.Took.Encode+s.Took.Search+s.Took.Confidence)
		if s.Truncated {
			w.printf("  read only the beginning of the question: it is too long")
		}
		w.printf("\n")
	}
	for _, d := range r.Degraded {
		w.printf("left out: %s: %s\n", printable(d.Source), printable(d.Reason))
	}
	return w.err
}

func printResult(w *errWriter, r search.Result, width int) {
	heading := printable(r.ID)
	if r.Title != "" {
		heading = printable(r.Title) + "  [" + printable(r.ID) + "]"
	}
	w.printf("%3d. %8.4f  %s\n", r.Rank, r.Score, heading)
	for _, line := range wrap(printable(r.Text), width-6, 3) {
		w.printf("      %s\n", line)
	}
	var parts []string
	for _, c := range r.Contributions {
		at := c.Origin
		if c.Rank != nil {
			at = fmt.Sprintf("rank %d", *c.Rank)
		}
		parts = append(parts, fmt.Sprintf("%s %+.4f (%s)", c.Source, c.Contribution, at))
	}
	w.printf("      = %s\n\n", strings.Join(parts, "  "))
}

// printable keeps what a passage says from driving the terminal: control
// characters and those that turn the direction of writing become U+FFFD.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// wrap breaks text into at most lines lines of at most width characters.
func wrap(text string, width, lines int) []string {
	width = max(width, 20)
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, line)
			line = ""
			if len(out) == lines {
				out[lines-1] += " …"
				return out
			}
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// errWriter remembers the first error of a series of writes.
type errWriter struct {
	out io.Writer
	err error
}

func (w *errWriter) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}
