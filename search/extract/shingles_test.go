package extract

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// TestShingle: of texts drawn from a few words, in two cases and with different marks between them, as many runs are
// counted and shared as there are different runs of four words when these are written out.
func TestShingle(t *testing.T) {
	const seed = 20261129
	r := rand.New(rand.NewPCG(seed, 1))
	words := []string{"a", "B", "b", "Äther", "äther", "x1", "中", "ß", "to", "TO"}
	gaps := []string{" ", "\n", ", ", " - ", "…", "\xff"}
	draw := func() string {
		var text strings.Builder
		for range r.IntN(14) {
			text.WriteString(words[r.IntN(len(words))] + gaps[r.IntN(len(gaps))])
		}
		return text.String()
	}
	written := func(text string) map[string]bool {
		all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		runs := map[string]bool{}
		for i := range all {
			if n := min(4, len(all)); i+n <= len(all) {
				runs[strings.Join(all[i:i+n], " ")] = true
			}
		}
		return runs
	}
	for range 20_000 {
		a, b := draw(), draw()
		if r.IntN(3) == 0 {
			b = a[:len(a)/2] + b
		}
		runsOfA, runsOfB := written(a), written(b)
		if got := len(Shingle(a)); got != len(runsOfA) {
			t.Fatalf("seed %d: %q has %d runs, not %d", seed, a, got, len(runsOfA))
		}
		shared := 0
		for run := range runsOfA {
			if runsOfB[run] {
				shared++
			}
		}
		fewer := min(len(runsOfA), len(runsOfB))
		if got, want := Shingle(a).Repeats(Shingle(b)), fewer > 0 && 2*shared >= fewer; got != want {
			t.Fatalf("seed %d: %q and %q repeat each other: %v, and share %d of %d", seed, a, b, got, shared, fewer)
		}
	}
}
