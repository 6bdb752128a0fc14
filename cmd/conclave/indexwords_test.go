package main

import (
	"os"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/store/folder"
)

// Pairs of words are indexed unless they are not wanted; a collection stays as it
// is, until its words are indexed anew.
func TestPhrasesOfACollection(t *testing.T) {
	t.Chdir(t.TempDir())
	file := passagesFile(t)
	index := func(args ...string) (int, string, string) {
		t.Helper()
		return conclave(t, append([]string{"index"}, args...)...)
	}
	succeed := func(args ...string) string {
		t.Helper()
		code, out, complaints := index(args...)
		if code != cli.ExitOK {
			t.Fatalf("index %q: exit code %d, %s", args, code, complaints)
		}
		return out
	}
	phrases := func(dir string, want bool) {
		t.Helper()
		c, err := folder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		g := c.Acquire()
		defer g.Release()
		if !want {
			if g.Phrases() != nil {
				t.Errorf("%s has phrases", dir)
			}
			return
		}
		hits, err := g.Phrases().Search(t.Context(), "the keeper of a lighthouse", 9)
		if err != nil || len(hits) != 1 {
			t.Errorf("%s: %v, %v", dir, hits, err)
		}
	}
	succeed("--collection", "with", "--in", file, "--experts", "none")
	phrases("with", true)
	succeed("--collection", "without", "--in", file, "--experts", "none", "--phrases=false")
	phrases("without", false)

	succeed("--collection", "without", "--id-prefix", "x/", "--in", file)
	phrases("without", false)
	code, _, complaints := index("--collection", "without", "--id-prefix", "y/", "--in", file, "--phrases")
	if code != cli.ExitFailed ||
		!containsAll(complaints, []string{"without was built with", "and phrases", "--collection without --rebuild-words"}) {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	succeed("--collection", "without", "--id-prefix", "y/", "--in", file, "--phrases=false")

	if out := succeed("--collection", "without", "--rebuild-words"); !strings.Contains(
		out, "without: generation 4, 9 passages",
	) {
		t.Errorf("it says %s", out)
	}
	if report := parsed(t, succeed("--collection", "with", "--rebuild-words", "--phrases=false", "--json")); report["passages"] != 3.0 ||
		report["generation"] != 2.0 {
		t.Errorf("it says %v", report)
	}
	phrases("with", false)
	if code, _, complaints := conclave(t, "verify", "--collection", "without"); code != cli.ExitOK {
		t.Errorf("verify: %s", complaints)
	}
}

func TestRebuildWordsRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, says := range map[string]string{
		"--rebuild-words --in x.jsonl":        "--in and --rebuild-words exclude each other",
		"--rebuild-words --add-expert x":      "--add-expert and --rebuild-words exclude each other",
		"--rebuild-words --replace":           "--replace has no effect with --rebuild-words",
		"--rebuild-words --index flat":        "--index has no effect with --rebuild-words",
		"--rebuild-words --threads 2":         "--threads has no effect with --rebuild-words",
		"--add-expert x --phrases":            "--phrases has no effect with --add-expert",
		"--remove-expert x --phrases=false":   "--phrases has no effect with --remove-expert",
		"--rebuild-words --format jsonl":      "--format has no effect with --rebuild-words",
		"--rebuild-words --phrases=sometimes": "--phrases",
	} {
		code, _, complaints := conclave(t, append([]string{"index", "--collection", "c"}, strings.Fields(flags)...)...)
		if code != cli.ExitUsage || !strings.Contains(complaints, says) {
			t.Errorf("index %s: exit code %d, want %d and %q, but it says:\n%s", flags, code, cli.ExitUsage, says, complaints)
		}
	}
	code, _, complaints := conclave(t, "index", "--collection", "nowhere", "--rebuild-words")
	if code == cli.ExitOK || !containsAll(complaints, []string{"nowhere", "--in FILE"}) {
		t.Errorf("exit code %d, %s", code, complaints)
	}
	if _, err := os.Stat("nowhere"); err == nil {
		t.Error("a folder was made")
	}
}
