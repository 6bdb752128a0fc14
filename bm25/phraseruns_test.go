package bm25

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// phrasePassages makes passages with phrases of all kinds: in one passage, in a
// few, and in more than a block; of a first term with more of them than a run
// holds; and terms without, the first and the last of all among them. Lengths
// vary so much that some impacts have no code.
func phrasePassages(rng *rand.Rand, n int) []goldenPassage {
	out := randomPassages(rng, n, 400)
	for i := range out {
		switch p := &out[i]; rng.IntN(9) {
		case 0:
			p.Text += " common pair"
		case 1:
			p.Text += fmt.Sprintf(" hub s%d", rng.IntN(500))
		case 2:
			p.Text += strings.Repeat(fmt.Sprintf(" only%d", i), 1+rng.IntN(40)) + strings.Repeat(" filler", rng.IntN(900))
		case 3:
			*p = goldenPassage{Title: "0first", Text: "zzlast"}
		}
	}
	return out
}

type counted struct{ passage, tf uint32 }

// wantPhrases lists the phrases of passages by their definition.
func wantPhrases(passages []goldenPassage) map[string][]counted {
	out := map[string][]counted{}
	for i, p := range passages {
		tf := map[string]uint32{}
		for _, phrase := range naivePhrases(p.Title, p.Text) {
			tf[phrase]++
		}
		for phrase, n := range tf {
			out[phrase] = append(out[phrase], counted{uint32(i), n})
		}
	}
	return out
}

// postingsOf reads what a record says where it lies.
func postingsOf(t *testing.T, x *Index, r termRecord) (out []counted) {
	t.Helper()
	c := &cursor{}
	if err := c.reset(x, new(strengths), r, 1); err != nil {
		t.Fatal(err)
	}
	high := uint32(0)
	for ; c.block < r.blocks; c.block++ {
		if err := c.decode(); err != nil {
			t.Fatal(err)
		}
		for i, passage := range c.passages[:c.n] {
			rank, ok := c.rankAt(i)
			if !ok {
				t.Fatalf("%s: no rank", r)
			}
			high = max(high, rank)
			out = append(out, counted{passage, x.impacts[rank].tf})
		}
	}
	if high != r.high || len(out) != int(r.df) {
		t.Fatalf("%s: largest rank %d and %d postings, the record says %d and %d", r, high, len(out), r.high, r.df)
	}
	return out
}

// TestPhraseRuns: what a file says of phrases, read through and looked up one by
// one, is what the passages have.
func TestPhraseRuns(t *testing.T) {
	for width, n := range map[int]int{1: 150, 2: 6000, 3: 1<<16 + 500} {
		rng := rand.New(rand.NewPCG(64, uint64(n)))
		passages := phrasePassages(rng, min(n, 6000))
		passages = append(passages, make([]goldenPassage, n-len(passages))...)
		if n > 6000 { // and back to the end, for passages that need three bytes
			copy(passages[n-400:], phrasePassages(rng, 400))
		}
		x := build(t, Params{K1: 0.9, B: 0.4, Phrases: true}, passages)
		if got := passageWidth(x.passages); got != width {
			t.Fatalf("%d passages have %d bytes", n, got)
		}
		if err := x.check(); err != nil {
			t.Fatal(err)
		}
		want := wantPhrases(passages)
		if x.Vocabulary() != int(x.terms)+len(want) || x.phrases != uint64(len(want)) {
			t.Fatalf("%d phrases, want %d", x.phrases, len(want))
		}
		var before string
		kinds := map[string]int{}
		groups := map[string]int{}
		reader := phraseReader{index: x}
		for range want {
			if err := reader.next(); err != nil {
				t.Fatal(err)
			}
			first, err1 := x.termText(uint32(reader.run.key >> 32))
			second, err2 := x.termText(uint32(reader.run.key))
			r, err3 := reader.run.record()
			known, err4 := x.lookupPhrase(first, second)
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			text := string(first) + " " + string(second)
			if text <= before {
				t.Fatalf("%q follows %q", text, before)
			}
			before = text
			if known != r {
				t.Fatalf("%q is looked up as %+v, and is %+v", text, known, r)
			}
			if got := postingsOf(t, x, r); !slices.Equal(got, want[text]) {
				t.Fatalf("%q is in %v, want %v", text, got, want[text])
			}
			groups[string(first)]++
			switch {
			case r.df == 1 && r.head&wideImpacts != 0:
				kinds["one, without a code"]++
			case r.df == 1:
				kinds["one"]++
			case r.df <= blockPostings:
				kinds["several"]++
			default:
				kinds["blocks"]++
			}
		}
		if err := reader.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("behind the last phrase: %v", err)
		}
		if width == 2 &&
			(len(kinds) != 4 || slices.Max(slices.Collect(maps.Values(groups))) <= 2*runPhrases || groups["0first"] > 0 || groups["zzlast"] > 0) {
			t.Fatalf("the test is to have more kinds: %v", kinds)
		}
		lookUpStrangers(t, rng, x, want)
	}
}

// lookUpStrangers looks up pairs of terms, most of which are no phrases.
func lookUpStrangers(t *testing.T, rng *rand.Rand, x *Index, want map[string][]counted) {
	t.Helper()
	for range 2000 {
		first, err1 := x.termText(rng.Uint32N(x.terms))
		second, err2 := x.termText(rng.Uint32N(x.terms))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		text := string(first) + " " + string(second)
		if r, err := x.lookupPhrase(first, second); err != nil || int(r.df) != len(want[text]) {
			t.Fatalf("%q has df %d (%v), want %d", text, r.df, err, len(want[text]))
		}
		for _, pair := range [][2]string{{"absent", string(second)}, {string(first), "absent"}, {string(first), ""}} {
			if r, err := x.lookupPhrase([]byte(pair[0]), []byte(pair[1])); err != nil || r.df != 0 {
				t.Fatalf("%q has df %d, %v", pair, r.df, err)
			}
		}
	}
}
