package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/evaluation"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
)

func TestEvaluateUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "q.jsonl", `{"question":"who","positive_ids":["1"]}`)
	write(t, "a=b", `{"question":"who","positive_ids":["1"]}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--questions", "q.jsonl", "--answers", "both"}, cli.ExitUsage, "both"},
		{[]string{"--questions", "q.jsonl", "--also", "magic"}, cli.ExitUsage, "NAME: FUSION"},
		{[]string{"--questions", "q.jsonl", "--fusions", "rrf,magic"}, cli.ExitUsage, `"magic"`},
		{[]string{"--questions", "q.jsonl", "--question-format", "docx"}, cli.ExitUsage, "docx"},
		{[]string{"--questions", "q.jsonl", "--depth", "0"}, cli.ExitUsage, "--depth"},
		{[]string{"--questions", "q.jsonl", "--runs-of", "rrf"}, cli.ExitUsage, "--runs"},
		{[]string{"--questions", "a=q.jsonl", "--qrels", "b=x"}, cli.ExitUsage, `"b"`},
		{[]string{"--questions", "a=q.jsonl", "--questions", "b=q.jsonl", "--qrels", "x"}, cli.ExitUsage, "which questions"},
		{[]string{"--questions", "a=q.jsonl", "--split", "a=test", "--split", "a=dev"}, cli.ExitUsage, "twice"},
		{[]string{"--questions", "a=missing.jsonl"}, cli.ExitFailed, "missing.jsonl"},
		{[]string{"--questions", "q.jsonl", "--questions", "q.jsonl"}, cli.ExitFailed, "--questions NAME=FILE"},
		{[]string{"--questions", "q.jsonl", "--questions", "a=q.jsonl"}, cli.ExitFailed, "name no domain"},
		{[]string{"--questions", "a=b", "--collection", "nowhere"}, cli.ExitFailed, "nowhere"},
	} {
		code, _, complaints := conclave(t, append([]string{"evaluate"}, c.args...)...)
		if code != c.code || !strings.Contains(complaints, c.says) {
			t.Errorf("%s: exit code %d, want %d with %q:\n%s", strings.Join(c.args, " "), code, c.code, c.says, complaints)
		}
	}
}

// TestEvaluateDomains measures two tiny experts and the words on two domains,
// in two formats, through every layer: what comes out is what was asked for,
// and the second time it is taken from the state.
func TestEvaluateDomains(t *testing.T) {
	library := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	for seed, name := range []string{"story", "house"} {
		if _, err := tiny.Write(filepath.Join("experts", name), tiny.Expert{Name: name, Seed: uint64(seed) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, "conclave.yaml", "cache: cache\nruntime: "+library+"\n")
	write(
		t,
		"story.jsonl",
		`{"id":"s1","question":"who hid the lamp under his coat","positive_ids":["2"],"answers":["the keeper"]}
{"id":"s2","question":"what did the fox ask of the moon","positive_ids":["3"],"answers":["come down"]}
`,
	)
	write(t, "house/queries.jsonl", `{"_id":"h1","text":"how long does cooked rice keep in the fridge"}`)
	write(t, "house/qrels/test.tsv", "query-id\tcorpus-id\tscore\nh1\t1\t1\n")
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts", "story,house", "--index", "flat"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	args := []string{
		"evaluate",
		"--collection",
		"c",
		"--questions",
		"story=story.jsonl",
		"--questions",
		"house=house",
		"--timed",
		"1",
		"--also",
		"words: sum experts=none",
		"--against",
		"words",
		"--json",
		"out.json",
		"--state",
		"s",
		"--runs",
		"runs",
		"--report",
		"out.html",
	}
	code, text, complaints := conclave(t, args...)
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	for _, want := range []string{"all questions (3)", "story alone", "house alone", "bm25 alone", "oracle: expert of the domain", "sum of experts", "p50 ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the tables lack %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len([]rune(line)) > 101 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
	data, err := os.ReadFile("out.json")
	if err != nil {
		t.Fatal(err)
	}
	var report evaluation.Report
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(report.Tables[0].Rows, func(r evaluation.Row) bool { return r.Method == "bm25 alone" })
	if values := report.Tables[0].Rows[at].Values; values["top1"] != 1 || values["answer1"] != 1 {
		t.Errorf("the words find every passage and answer, and it says %v", values)
	}
	for _, name := range []string{"runs/story/words.trec", "runs/house/story-alone.dpr.json"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	page, err := os.ReadFile("out.html")
	if err != nil || !strings.Contains(string(page), "bm25 alone") {
		t.Errorf("the report: %v, %d bytes", err, len(page))
	}
	code, again, complaints := conclave(t, args...)
	if code != cli.ExitOK || again != text {
		t.Errorf("from the state: exit code %d\n%s%s\nat first:\n%s", code, complaints, again, text)
	}
	if strings.Contains(complaints, "questions in") {
		t.Errorf("questions were asked again:\n%s", complaints)
	}
}
