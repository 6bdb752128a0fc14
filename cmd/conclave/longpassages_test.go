package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/testing/testenv"
)

// facts are sentences and questions about them that share hardly a word.
var facts = [][2]string{
	{"The cat slept on the warm windowsill all afternoon.", "where did the kitten nap"},
	{"Our physician recommended drinking more fluids during the heatwave.", "what advice did the doctor give about hot weather"},
	{"The vessel sank after striking an iceberg in the North Atlantic.", "why did the ship go down"},
	{"Children must be accompanied by a grown-up at the pool.", "may kids swim without an adult"},
	{"The firm dismissed two hundred employees before Christmas.", "how many workers lost their jobs at the company"},
	{"She repaired the punctured tyre with a patch and glue.", "how was the flat tire fixed"},
	{"The harvest failed because no rain fell for three months.", "what did the drought do to the crops"},
	{"Passengers may carry one suitcase aboard free of charge.", "how much luggage can you take without paying"},
}

// TestSentencesInLongPassages: a sentence anywhere in a passage that is longer than the real encoder reads is found by
// its meaning among others, however the passage came, and after a merge; what lies behind all windows is told.
func TestSentencesInLongPassages(t *testing.T) {
	workplace(t)
	if err := os.Symlink(testenv.Base(t, "int8"), filepath.Join("experts", "base")); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	filler := func(words int) string {
		var out strings.Builder
		for n := 0; n < words; n += 12 {
			fmt.Fprintf(&out, "Invoice number %d of office %c lists %d boxes of paper clips at %d cents. ",
				rng.IntN(9000), 'A'+rune(rng.IntN(26)), rng.IntN(90), rng.IntN(90))
		}
		return out.String()
	}
	write := func(file string, from, to int) {
		t.Helper()
		var lines strings.Builder
		for i := from; i < to; i++ {
			before := 200 + rng.IntN(900) // words, of which the encoder reads some 150
			text := filler(before) + facts[i][0] + " " + filler(1200-before)
			line, err := json.Marshal(map[string]string{"id": fmt.Sprint("long", i), "title": "Office files", "text": text})
			if err != nil {
				t.Fatal(err)
			}
			lines.WriteString(string(line) + "\n")
		}
		for i := range 40 {
			fmt.Fprintf(&lines, `{"id":"short%d-%d","text":%q}`+"\n", from, i, filler(40))
		}
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := func() {
		t.Helper()
		for i, fact := range facts {
			code, out, complaints := conclave(t, "search", "--collection", "c", "--json", "--experts", "base", fact[1])
			if code != cli.ExitOK {
				t.Fatal(out, complaints)
			}
			var answer struct {
				Results []struct {
					ID            string
					Contributions []struct {
						Source string
						Rank   int
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Results) == 0 {
				t.Fatal(err, out)
			}
			first := "" // by the vectors alone
			for _, r := range answer.Results {
				for _, c := range r.Contributions {
					if c.Source == "base" && c.Rank == 1 {
						first = r.ID
					}
				}
			}
			if want := fmt.Sprint("long", i); first != want {
				t.Errorf("%q: %s is nearest, not %s", fact[1], first, want)
			}
		}
	}
	write("a.jsonl", 0, 4)
	write("b.jsonl", 4, len(facts))
	for _, args := range [][]string{{"--in", "a.jsonl", "--experts", "base"}, {"--in", "b.jsonl"}} {
		code, out, complaints := conclave(t, append([]string{"index", "--collection", "c"}, args...)...)
		if code != cli.ExitOK || strings.Contains(out, "passages longer than") {
			t.Fatal(out, complaints)
		}
	}
	found()
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != cli.ExitOK {
		t.Error(out, complaints)
	}
}
