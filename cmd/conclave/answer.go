package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/search/reply"
)

// printAnswer writes a response as tables for people, in lines of at most about width characters: corrected words, the
// answers, each ranking with what every source contributed to its passages, how each source fared, and the notes. It
// returns the first error of writing.
func printAnswer(out io.Writer, r reply.Response, width int) error {
	w := &cli.ErrWriter{Out: out}
	rankings := r.Rankings
	if len(rankings) == 0 {
		rankings = []reply.Ranking{{Fusion: r.Fusion, Confidence: r.Confidence, Judged: r.Judged, Results: r.Results}}
	}
	for _, c := range r.Corrected {
		w.Printf("searched for %s in place of %s\n", cli.Printable(c.To), cli.Printable(c.From))
	}
	printAnswers(w, r, width)
	for _, ranking := range rankings {
		w.Printf("%s", ranking.Fusion)
		if ranking.Confidence != nil {
			w.Printf(", confidence %.2f", *ranking.Confidence)
		}
		if v := verdictWords(ranking.Verdict); v != "" {
			w.Printf(", %s", v)
		}
		w.Printf(", %.1f ms\n\n", r.TookMS)
		if len(ranking.Results) == 0 {
			w.Printf("  nothing found\n\n")
		}
		for _, result := range ranking.Results {
			printResult(w, result, width)
		}
	}
	printSources(w, r.Sources)
	for _, d := range r.Degraded {
		r.Notes = append(r.Notes, "left out: "+d.Source+": "+d.Reason)
	}
	for _, note := range r.Notes {
		w.Printf("%s\n", strings.Join(cli.Wrap(cli.Printable(note), width, 9), "\n"))
	}
	return w.Err
}

// verdictWords returns a verdict in words, such as "not found"; "" for none.
func verdictWords(v reply.Verdict) string {
	return strings.ReplaceAll(string(v), "_", " ")
}

// printAnswers writes the answer that a generator wrote, and each answer that a reader marked in a passage: its chance,
// its place, and the text around it with the answer in brackets. It says so if a reader marked none that is sure
// enough. It writes nothing if no reader or generator was asked. Errors of writing are in w.Err.
func printAnswers(w *cli.ErrWriter, r reply.Response, width int) {
	indented := func(text string) {
		w.Printf("      %s\n", strings.Join(cli.Wrap(cli.Printable(text), width-6, 9), "\n      ")+"\n")
	}
	if r.Generated != nil {
		w.Printf("answer, written by the model %s:\n", cli.Cut(cli.Printable(r.Generated.Reader), width-30))
		indented(r.Generated.Text)
	} else if r.Answers != nil && len(r.Answers) == 0 {
		w.Printf("answer: no words that the reader marked are sure enough\n\n")
	}
	for _, a := range r.Answers {
		w.Printf(
			"answer, chance %s, bytes %d to %d of %s:\n", cmp.Or(formatNumber(a.Chance), "unknown"), a.Start, a.End,
			cli.Cut(cli.Printable(a.Passage), width-54),
		)
		text := a.Text
		for _, at := range r.Results {
			if at.ID == a.Passage && 0 <= a.Start && a.Start <= a.End && a.End <= len(at.Text) {
				before := at.Text[:a.Start]
				if r := []rune(before); len(r) > width {
					before = "…" + string(r[len(r)-width:])
				}
				text = before + "[" + at.Text[a.Start:a.End] + "]" + cli.Cut(at.Text[a.End:], width)
			}
		}
		indented(text)
	}
}

// formatNumber returns a number with two decimals; "" for nil.
func formatNumber(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.2f", *v)
}

// printSources writes a table of the sources of a search, with the columns that at least one source has a value for.
// Below it stand which sources read only the beginning of the question, and the likely domains. Without sources it
// writes nothing. Errors of writing are in w.Err.
func printSources(w *cli.ErrWriter, sources []reply.Source) {
	table := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
	columns := []struct {
		heading string
		cell    func(s *reply.Source) string
	}{
		{"source", func(s *reply.Source) string { return cli.Cut(s.Name, 20) }},
		{"status", func(s *reply.Source) string { return s.Status }},
		{"hits", func(s *reply.Source) string { return fmt.Sprint(s.Hits) }},
		{"weight", func(s *reply.Source) string { return formatNumber(s.Weight) }},
		{"familiar", func(s *reply.Source) string { return formatNumber(s.Familiarity) }},
		{"chance", func(s *reply.Source) string { return formatNumber(s.Chance) }},
		{"confidence", func(s *reply.Source) string { return formatNumber(s.Confidence) }},
		{"ms", func(s *reply.Source) string {
			if s.Took == (reply.Took{}) { // a server tells it to keys with the scope admin alone
				return ""
			}
			return fmt.Sprintf("%.1f", s.Took.Encode+s.Took.Search+s.Took.Confidence)
		}},
	}
	rows := make([][]string, len(sources)+1)
	for _, c := range columns {
		filled := false
		for i := range sources {
			filled = filled || c.cell(&sources[i]) != ""
		}
		if !filled {
			continue
		}
		rows[0] = append(rows[0], c.heading)
		for i := range sources {
			rows[i+1] = append(rows[i+1], c.cell(&sources[i]))
		}
	}
	if len(sources) > 0 {
		for _, row := range rows {
			_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
		}
	}
	w.Err = errors.Join(w.Err, table.Flush())
	for _, s := range sources {
		if s.Truncated {
			w.Printf("%s read only the beginning of the question: it is too long\n", cli.Cut(s.Name, 20))
		}
		printDomains(w, s)
	}
}

// leastShown is the probability below which a domain is not shown.
const leastShown = .05

// printDomains writes the likely domains of the question by a source's gate, the likeliest first. It writes nothing if
// none reaches leastShown.
func printDomains(w *cli.ErrWriter, s reply.Source) {
	likely := slices.SortedFunc(maps.Keys(s.Domains), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Domains[b], s.Domains[a]), cmp.Compare(a, b))
	})
	var shown []string
	for _, name := range likely {
		if s.Domains[name] >= leastShown {
			shown = append(shown, fmt.Sprintf("%s %.2f", cli.Printable(name), s.Domains[name]))
		}
	}
	if len(shown) > 0 {
		w.Printf("%s: domains of the question: %s\n", cli.Cut(s.Name, 20), cli.Cut(strings.Join(shown, ", "), 33))
	}
}

// printResult writes one passage of a ranking: its rank, score, id and title, the first lines of its text, and what
// each source contributed to its score. Lines have at most width characters.
func printResult(w *cli.ErrWriter, r reply.Result, width int) {
	heading := cli.Printable(r.ID)
	if r.Title != "" {
		heading += "  " + cli.Printable(r.Title)
	}
	if n := len(r.Copies); n > 0 {
		heading += fmt.Sprintf("  (and %d more with this text)", n)
	}
	w.Printf("%3d. %8.4f  %s\n", r.Rank, r.Score, cli.Cut(heading, width-15))
	for _, line := range cli.Wrap(cli.Printable(r.Text), width-6, 3) {
		w.Printf("      %s\n", line)
	}
	var parts []string
	for _, c := range r.Contributions {
		at := c.Origin
		if c.Rank != nil {
			at = fmt.Sprintf("rank %d", *c.Rank)
		}
		parts = append(parts, fmt.Sprintf("%s %+.4f (%s)", c.Source, c.Contribution, at))
	}
	for i, line := range cli.Wrap(strings.Join(parts, ", "), width-8, len(parts)) {
		w.Printf("      %s %s\n", map[bool]string{true: "=", false: " "}[i == 0], line)
	}
	w.Printf("\n")
}
