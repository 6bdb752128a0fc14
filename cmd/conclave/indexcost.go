package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/indexing"
)

// printCosts prints a table above the progress bar: for each choice of experts, the passes over the passages, the time
// and the bytes that encoding takes. If err is not nil, it prints instead that this could not be measured.
func (x *indexCommand) printCosts(passages int64, choices []indexing.Choice, err error, bar *cli.Progress) {
	if err != nil {
		bar.Say("what encoding takes cannot be measured: %v", err)
		return
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "%s, about:\n", cli.Plural(passages, "passage"))
	for _, c := range choices {
		name := "these experts"
		switch {
		case x.addExpert != "":
			name = "--add-expert " + x.addExpert
		case c.Experts == "" && len(x.granularity) > 0:
			name = "--granularity " + strings.Join(x.granularity, ",")
		case c.Chosen:
			name = "--experts " + c.Experts + " (chosen)"
		case c.Experts != "":
			name = "--experts " + c.Experts
		}
		_, _ = fmt.Fprintf(
			t, "  %s\t%s\t%s\t%s\n", name, cli.Plural(int64(c.Passes), "pass"), roughTime(c.Took, c.Passes),
			cli.Count(c.Bytes, "bytes"),
		)
	}
	_ = t.Flush()
	bar.Say("%s", strings.TrimSuffix(out.String(), "\n"))
	for _, c := range choices {
		for _, s := range c.Sent {
			bar.Say("expert %s: about %s are sent to %s", s.Expert, s.Cost(), s.To.Host)
		}
	}
}

// crowdedText returns the warning that a store has too few shards for the passages that are to be written.
func crowdedText(c indexing.Crowding) string {
	return fmt.Sprintf(
		"about %s with an index of %s are to be written; each of the store's %s would hold %s. Beyond some 50 GB a shard is slow to search and to move to another node, and an index keeps its shards: index into a new one with --cluster-shards %d",
		cli.Plural(c.Passages, "passage"), cli.Count(c.Bytes, "bytes"), cli.Plural(int64(c.Shards), "shard"),
		cli.Count(c.Bytes/int64(c.Shards), "bytes"), c.Wanted,
	)
}

// roughTime returns a duration in words, rounded: "40 s", "12 min", "3.5 h". It is "no time" if encoding needs no pass
// over the passages, and "" for 0, which stands for a time that was not measured.
func roughTime(d time.Duration, passes int) string {
	switch {
	case passes == 0:
		return "no time"
	case d == 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", max(1, d.Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
