package web_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search/ask"
)

// TestTypedAsInAddresses: what the page reads from quotes and -words is what ask.Typed reads
// from them: of cases that people type, and of pieces that mean something put together at
// random.
func TestTypedAsInAddresses(t *testing.T) {
	node, _ := realclients.Node(t)
	cases := []string{
		"when do you open", "\"reset password\" on a phone", "how to reset -windows", `jaguar -car -"operating system" speed`, "“smart quotes” matter",
		"„deutsche Anführung“ gilt", `one word: "ferry"?`, "at -40 degrees", "a 5\" by 7\" frame", "state-of-the-art wi-fi", "what is - this -",
		"the --force flag", "no \"end of quotes", "empty \"\" quotes", "-nothing", "ends with -word.", "", " ", "-", "\"", "-\"", "-\"a", "naïve -été \"日本 語\"",
	}
	const seed = 36
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{
		`"`,
		`"`,
		"“",
		"”",
		"„",
		"-",
		"-",
		" ",
		" ",
		"\t",
		"\n",
		"\u00a0",
		"\u2003",
		"\u0085",
		"\ufeff",
		"a",
		"bee",
		"é",
		"e\u0301",
		"日本",
		"7",
		"٣",
		"Ⅷ",
		"½",
		"²",
		".",
		"?",
		"!,",
		"'",
		"𝔘",
		"🦊",
		"_",
		"+",
	}
	for range 20_000 {
		var text strings.Builder
		for range random.IntN(14) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		cases = append(cases, text.String())
	}
	script, err := filepath.Abs(filepath.Join("files", "app", "typed.js"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	body, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	printed := realclients.Run(
		t,
		realclients.Command{
			Interpreter: node,
			Args:        []string{filepath.Join("testdata", "typed.mjs")},
			Env:         []string{"TYPED=" + script, "CASES=" + file},
		},
	)
	var got []struct {
		Question string   `json:"question"`
		Must     []string `json:"must"`
		MustNot  []string `json:"must_not"`
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil || len(got) != len(cases) {
		t.Fatalf("%d of %d: %v", len(got), len(cases), err)
	}
	read := 0
	for i, text := range cases {
		question, must, mustNot := ask.Typed(text)
		read += len(must) + len(mustNot)
		if got[i].Question != question || !slices.Equal(got[i].Must, must) || !slices.Equal(got[i].MustNot, mustNot) {
			t.Errorf("%q: the page reads %+q, and an address %q, must %q, not %q", text, got[i], question, must, mustNot)
		}
	}
	if read < 500 {
		t.Errorf("there are %d quotes and -words in all cases", read)
	}
}
