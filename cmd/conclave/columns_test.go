package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// TestAnswersFit: what search and models list print has 80 columns at most, with
// eleven sources, long titles, and experts by the dozen; and no two rows of the
// list are called the same.
func TestAnswersFit(t *testing.T) {
	half := 0.5
	r := reply.Response{
		Fusion: "gate",
		Results: []reply.Result{
			{Rank: 1, ID: "tales/0006", Title: strings.Repeat("A very long title ", 9), Text: strings.Repeat("words and ", 60)},
		},
	}
	for i := range 11 {
		name := fmt.Sprintf("an-expert-of-something-of-long-name-%d", i)
		r.Sources = append(
			r.Sources,
			reply.Source{
				Name:        name,
				Kind:        "dense",
				Status:      "skipped",
				Hits:        1000,
				Weight:      &half,
				Familiarity: &half,
				Chance:      &half,
				Confidence:  &half,
				Truncated:   true,
			},
		)
		r.Results[0].Contributions = append(
			r.Results[0].Contributions, reply.Contribution{Source: name, Origin: "scored", Contribution: -10.5},
		)
	}
	r.Sources[3].Domains = map[string]float64{"health": .97, "law": .04, "tales": .06, strings.Repeat("long", 20): .05}
	r.Results[0].Text += "the fox ate the würst of them all" + strings.Repeat(" and more", 30)
	r.Degraded = []reply.Missing{{Source: "reader", Reason: strings.Repeat("it was late ", 9)}}
	r.Notes = []string{
		"reader read only the beginning of 1 of 5 passages, since they are too long for it; an answer further on is not marked",
	}
	r.Answers = []reply.Extract{
		{Text: "the würst", Passage: "tales/0006", Start: 600 + 12, End: 600 + 22, Chance: &half},
		{Text: strings.Repeat("long words ", 30), Passage: strings.Repeat("id", 60), Start: 1 << 20, End: 1<<20 + 330},
		{Text: "more than there is", Passage: "tales/0006", Start: 890, End: 1 << 20, Chance: &half},
	}
	var out bytes.Buffer
	if err := printAnswer(&out, r, cli.Columns(&out)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ": domains of the question: health 0.97, tales 0.06, long") {
		t.Errorf("domains are not told: %s", out.String())
	}
	for _, reported := range []string{"\nreader read only the beginning of 1 of 5 passages, since they are too long for\nit; an answer", "\nleft out: reader: it was late", "answer, chance 0.50, bytes 612 to 622 of tales/0006:\n", "\n      …rds and words and words and words and words and words and words and the\n      fox ate [the würst] of them all and more", "answer, chance unknown, bytes", "\n      more than there is\n"} {
		if !strings.Contains(out.String(), reported) {
			t.Errorf("%q is not told: %s", reported, out.String())
		}
	}
	if !strings.Contains(out.String(), "1.   0.0000  tales/0006  A very long") {
		t.Errorf("the id does not come first: %s", out.String())
	}
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "cache: cache\n")
	for _, folder := range []string{"experts/base", "experts/base-fp32", "cache/bundles/base", "cache/bundles/fairytale-fp32"} {
		if _, err := tiny.Write(filepath.FromSlash(folder), tiny.Expert{Name: "base", Seed: 1}); err != nil {
			t.Fatal(err)
		}
	}
	code, list, complaints := conclave(t, "models", "list")
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	names := map[string]int{}
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) == 6 {
			names[fields[0]]++
		}
	}
	if len(names) != 4 || names["base"] != 1 || names["base-fp32"] != 1 || names["fairytale-fp32"] != 1 ||
		!strings.Contains(list, "has them: base\n") {
		t.Errorf("%v in\n%s", names, list)
	}
	for line := range strings.Lines(out.String() + list) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestWrapped: no line is wider, whatever the words' lengths, and the sign that there is
// more is the end of the last line.
func TestWrapped(t *testing.T) {
	for letters := 1; letters < 100; letters++ {
		text := strings.Repeat(strings.Repeat("ä", letters)+" ", 200)
		lines := cli.Wrap(text, 74, 3)
		for _, line := range lines {
			if n := len([]rune(line)); n > 74 {
				t.Errorf("words of %d letters: %d columns: %s", letters, n, line)
			}
		}
		if len(lines) != 3 || !strings.HasSuffix(lines[2], "…") {
			t.Errorf("words of %d letters: %q", letters, lines)
		}
	}
	if lines := cli.Wrap("a few words", 74, 3); len(lines) != 1 || lines[0] != "a few words" {
		t.Errorf("%q", lines)
	}
}

// TestFailedStartSaysOnlyWhy: why, what to do about it, and nothing of a log.
func TestFailedStartSaysOnlyWhy(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, complaints := conclave(t, "serve", "--collection", "missing", "--listen", freeAddress(t))
	if code != cli.ExitFailed || out != "" || strings.Count(complaints, "\n") != 2 ||
		!strings.HasPrefix(complaints, "conclave: opening the collection missing:") ||
		!strings.Contains(complaints, "\n  -> conclave index ") {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}
}
