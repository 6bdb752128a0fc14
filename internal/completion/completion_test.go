package completion

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/spelling"
)

func texts(found []Completion) (out []string) {
	for _, c := range found {
		out = append(out, c.Text)
	}
	return out
}

var headings = []Entry{
	{"Resetting your password", Heading, 12}, {"Password rules", Heading, 3}, {"Passwords of guests", Heading, 5},
	{"Travel expenses", Heading, 9}, {"Expenses: how to claim travel", Document, 4}, {"Élan vital", Document, 1},
	{"Über uns", Document, 2}, {"旅費の精算", Document, 2}, {"???", Heading, 50}, {"Password rules", Heading, 1},
	{"Password rules", Document, 2},
}

// TestComplete: what is offered for some beginnings, in which order.
func TestComplete(t *testing.T) {
	x := New(headings)
	for typed, want := range map[string][]string{
		"pass":            {"Passwords of guests", "Password rules", "Resetting your password", "password"},
		"PASSWORD r":      {"Password rules", "Resetting your password"},
		"your pa":         {"Resetting your password"},
		"travel exp":      {"Travel expenses", "Expenses: how to claim travel"},
		"claim exp":       {"Expenses: how to claim travel"},
		"elan":            {"Élan vital"},
		"uber":            {"Über uns"},
		"Über u":          {"Über uns"},
		"旅費":              {"旅費の精算"},
		"pasword ru":      {"Password rules"},
		"travle expen":    {"Travel expenses", "Expenses: how to claim travel"},
		"resetting your ": {"Resetting your password"},
		"xylophone":       nil, "": nil, "?": nil, "password travel": nil, "zz": nil,
	} {
		if got := texts(x.Complete(typed, 4)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
	if got := x.Complete("password ru", 1); len(got) != 1 || got[0].Passages != 4 || got[0].Corrected {
		t.Errorf("%+v", got)
	}
	if got := x.Complete("pasword ru", 1); len(got) != 1 || !got[0].Corrected {
		t.Errorf("%+v", got)
	}
	if got := New(nil).Complete("a", 3); got != nil || x.Complete("pass", 0) != nil {
		t.Errorf("%+v", got)
	}
}

// generated returns n headings of two to six words out of so many, frequent ones more often.
func generated(random *rand.Rand, n, words int) (out []Entry) {
	for range n {
		var text []string
		for range 2 + random.IntN(5) {
			text = append(text, fmt.Sprintf("%c%s", 'a'+rune(random.IntN(26)), strings.Repeat("xyz", 1+random.IntN(2))+
				fmt.Sprint(int(float64(words)*random.Float64()*random.Float64()))))
		}
		out = append(out, Entry{strings.Join(text, " "), Heading, 1 + random.IntN(50)})
	}
	return out
}

// TestAsByScanning: what is found in order is what a look at every entry finds, for beginnings of any length.
func TestAsByScanning(t *testing.T) {
	const seed = 58
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	x := New(generated(random, 3000, 40))
	found := 0
	for range 2000 {
		text := x.folded[random.IntN(len(x.folded))]
		from := strings.Fields(text)
		at := random.IntN(len(from))
		prefix := strings.Join(from[at:], " ")
		prefix = strings.TrimSpace(prefix[:1+random.IntN(min(9, len(prefix)))])
		type hit struct {
			later bool
			entry int
		}
		var all []hit
		for i, text := range x.folded {
			if begins := strings.HasPrefix(text, prefix); begins || strings.Contains(text, " "+prefix) {
				all = append(all, hit{!begins, i})
			}
		}
		slices.SortStableFunc(all, func(a, b hit) int {
			if a.later != b.later {
				return map[bool]int{true: 1, false: -1}[a.later]
			}
			return cmp.Compare(a.entry, b.entry)
		})
		var want []uint32
		for _, h := range all[:min(8, len(all))] {
			want = append(want, uint32(h.entry))
		}
		if got := x.inOrder(prefix, 8); !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", prefix, got, want)
		}
		found += len(want)
	}
	if found < 4000 {
		t.Errorf("only %d were found in all", found)
	}
}

// TestMistyped: a heading is found by its beginning with one letter wrong, dropped, doubled or exchanged behind the
// first.
func TestMistyped(t *testing.T) {
	x := New(headings)
	word := []rune("resetting")
	for at := 1; at < len(word); at++ {
		for _, typed := range []string{
			string(word[:at]) + "q" + string(word[at+1:]), string(word[:at]) + string(word[at+1:]),
			string(word[:at]) + string(word[at]) + string(word[at:]),
		} {
			if got := texts(x.Complete(typed, 3)); len(got) == 0 || got[0] != "Resetting your password" {
				t.Errorf("%q: %q", typed, got)
			}
		}
	}
}

// TestPrefixEdits: the edits from a beginning of a word are the fewest of spelling.Between from any of them.
func TestPrefixEdits(t *testing.T) {
	const seed = 59
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	letters := func(n int) (out []rune) {
		for range n {
			out = append(out, 'a'+rune(random.IntN(3)))
		}
		return out
	}
	near := 0
	for range 20_000 {
		meant := letters(1 + random.IntN(12))
		typed := letters(1 + random.IntN(9))
		most := 1 + random.IntN(2)
		goesOn := random.IntN(2) == 0
		want := most + 1
		for n := 1; n <= len(meant); n++ {
			if !goesOn && n < len(meant) {
				continue
			}
			if edits, ok := spelling.Between(meant[:n], typed, most); ok {
				want = min(want, edits.Total())
			}
		}
		n, got := prefixEdits(meant, typed, most, goesOn)
		if min(got, most+1) != want {
			t.Fatalf("%q to %q, %t: %d of %d letters, want %d", string(meant), string(typed), goesOn, got, n, want)
		}
		if want <= most {
			near++
			if edits, ok := spelling.Between(meant[:n], typed, most); !ok || edits.Total() != want {
				t.Fatalf("%q to %q: %d letters", string(meant), string(typed), n)
			}
		}
	}
	if near < 2000 {
		t.Errorf("only %d were near", near)
	}
}

// FuzzComplete: no text ends the program, and what is found has the words that were typed.
func FuzzComplete(f *testing.F) {
	x := New(headings)
	for _, e := range headings {
		f.Add(e.Text)
	}
	f.Add("a\u0301\u200b ก 旅\xff")
	f.Fuzz(func(t *testing.T, typed string) {
		for _, c := range x.Complete(typed, 5) {
			if c.Text == "" || c.Passages < 1 {
				t.Errorf("%q: %+v", typed, c)
			}
		}
	})
}

// BenchmarkComplete completes in 100,000 headings what is typed letter by letter.
func BenchmarkComplete(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 0))
	x := New(generated(random, 100_000, 20_000))
	for _, typed := range []string{"a", "ax", "bxyz1", "cxyz12 d", "axyq", "dxyzxyz19999q"} {
		b.Run(typed, func(b *testing.B) {
			for b.Loop() {
				x.Complete(typed, 8)
			}
		})
	}
}
