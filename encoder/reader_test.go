package encoder

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

func openReader(tb testing.TB, r *Runtime, o tiny.Expert) *Reader {
	tb.Helper()
	x, err := r.OpenReader(bundle(tb, o), Running{Threads: 1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	})
	return x
}

// oddWords returns words that normalising changes, removes and splits.
func oddWords() []string {
	return []string{
		"story",
		"(wolf,",
		"king's",
		"naïve",
		"e\u0301te\u0301",
		"北京",
		"…",
		"\x00",
		"unheardof",
		"\u00a0",
		"can't.",
		"Ⅷ",
		"\xff",
		"😀wolf",
		".",
		"a-b",
		"river",
		"the",
		"ﬁx",
		"$5.00",
	}
}

// oddText returns a text of oddWords.
func oddText(random *rand.Rand, words int) string {
	odd := oddWords()
	var b strings.Builder
	for range words {
		b.WriteString(odd[random.IntN(len(odd))] + []string{" ", "  ", "\n"}[random.IntN(3)])
	}
	return b.String()
}

// TestLocatedTokens: where words lie, they are, and what they become is what the whole
// text becomes.
func TestLocatedTokens(t *testing.T) {
	x := openReader(t, library(t), tiny.Expert{Reader: true})
	const seed = 3
	random := rand.New(rand.NewPCG(seed, 0))
	for range 400 {
		text := oddText(random, random.IntN(12))
		limit := 1 + random.IntN(30)
		ids, words, err := x.tokenizer.Located(text, limit)
		if err != nil {
			t.Fatal(err)
		}
		want, err := x.tokenizer.Encode(text, limit+2)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ids, want[1:len(want)-1]) || len(words) != len(ids) {
			t.Fatalf("seed %d: %q: %v at %d places, not %v", seed, text, ids, len(words), want)
		}
		for i, w := range words {
			if w.Begin >= w.End || w.End > len(text) || i > 0 && w != words[i-1] && w.Begin < words[i-1].End {
				t.Fatalf("seed %d: %q: word %d at %v", seed, text, i, w)
			}
			own, err := x.tokenizer.Encode(text[w.Begin:w.End], 64)
			if err != nil || !slices.Contains(own, ids[i]) {
				t.Fatalf("seed %d: %q: %q has the tokens %v, not %d (%v)", seed, text, text[w.Begin:w.End], own, ids[i], err)
			}
		}
	}
	if _, words, _ := x.tokenizer.Located("In (1918), Paris.", 10); len(words) < 5 || words[len(words)-1].End != 17 {
		t.Errorf("%v", words)
	}
}

// TestReadingIsTheBestSpan compares with the best of all spans, by the logits of
// rows made by hand, in one window and in several.
func TestReadingIsTheBestSpan(t *testing.T) {
	r := library(t)
	const seed = 9
	random := rand.New(rand.NewPCG(seed, 0))
	for _, o := range []tiny.Expert{{Reader: true}, {Reader: true, NoSelect: true, Template: models.TemplateSQuAD,
		Seed: 1}} {
		x := openReader(t, r, o)
		m := &x.bundle.Manifest
		for _, n := range []int{1, 3, 9, 40, 150} {
			question := "what is the old " + oddText(random, 3)
			p := Text{Title: "some wolf", Text: "river " + oddText(random, n)}
			said, err := x.Read(t.Context(), question, []Text{p})
			if err != nil {
				t.Fatal(err)
			}
			got := said[0]
			// The rows by hand: windows that begin every stride tokens of the text.
			text, words, err := x.tokenizer.Located(p.Text, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			asked, _ := x.tokenizer.Encode(strings.TrimSpace(question), m.Reader.MaxTokens.Question+2)
			head := slices.Clone(asked)
			tail := 0
			if m.Reader.Template == models.TemplateSQuAD {
				tail = 1
			} else {
				title, _ := x.tokenizer.Encode(p.Title, m.Reader.MaxTokens.Title+2)
				head = append(head, title[1:]...)
			}
			room := m.Reader.MaxTokens.Pair - len(head) - tail
			best := math.Inf(-1)
			selected := math.Inf(-1)
			windows := 0
			var where Span
			for first := 0; first == 0 || first+room-(room-min(20, room/2)) < len(text); first += room - min(20, room/2) {
				windows++
				end := min(first+room, len(text))
				row := slices.Concat(head, text[first:end])
				if tail > 0 {
					row = append(row, x.tokenizer.SEP())
				}
				out, err := x.session.runPairs(t.Context(), batcher.Question, [][]int32{row})
				if err != nil {
					t.Fatal(err)
				}
				all := out[0]
				null := math.Inf(-1)
				if m.Reader.Graph.Select != "" {
					selected = max(selected, float64(all[0]))
					all = all[1:]
				} else {
					null = float64(all[0]) + float64(all[len(row)])
				}
				own := math.Inf(-1)
				for i := range text[first:end] {
					for j := i; j < min(i+m.Reader.LongestSpan, end-first); j++ {
						score := float64(all[len(head)+i]) + float64(all[len(row)+len(head)+j])
						own = max(own, score)
						if score > best+1e-6 {
							best = score
							where = Span{Begin: words[first+i].Begin, End: words[first+j].End}
						}
					}
				}
				if tail > 0 {
					selected = max(selected, own-null)
				}
			}
			if first := got.Spans[0]; math.Abs(first.Score-best) > 1e-4 || first.Begin != where.Begin || first.End != where.End {
				t.Errorf(
					"seed %d, %d words, %d windows: the best span is %+v, not %.6g at %+v",
					seed,
					n,
					windows,
					first,
					best,
					where,
				)
			}
			if math.Abs(got.Select-selected) > 1e-4 {
				t.Errorf("%d words: select %g, not %g", n, got.Select, selected)
			}
			if n == 150 && windows < 4 {
				t.Errorf("%d windows", windows)
			}
			if !slices.IsSortedFunc(got.Spans, func(a, b Span) int { return int(math.Copysign(1, b.Score-a.Score)) }) ||
				len(got.Spans) > bestSpans {
				t.Errorf("the spans are not in order: %+v", got.Spans)
			}
			for i, s := range got.Spans {
				if s.Begin >= s.End || s.End > len(p.Text) ||
					slices.ContainsFunc(got.Spans[:i], func(o Span) bool { return o.Begin == s.Begin && o.End == s.End }) {
					t.Errorf("span %+v", s)
				}
			}
			if p := math.Exp(got.Spans[0].Score - got.Starts - got.Ends); !(p > 0 && p <= 1) {
				t.Errorf("the best span has the probability %g", p)
			}
		}
	}
}

// TestReadingTogether: passages beside others are read as alone.
func TestReadingTogether(t *testing.T) {
	x := openReader(t, library(t), tiny.Expert{Reader: true})
	const seed = 4
	random := rand.New(rand.NewPCG(seed, 0))
	passages := []Text{{}} // one without text
	for n := range 12 {
		passages = append(passages, Text{Text: oddText(random, 1+7*n)})
	}
	together, err := x.Read(t.Context(), "who?", passages)
	if err != nil {
		t.Fatal(err)
	}
	if len(together[0].Spans) > 0 {
		t.Errorf("a passage without text: %+v", together[0])
	}
	for i, p := range passages[1:] {
		alone, err := x.Read(t.Context(), "who?", []Text{p})
		if err != nil {
			t.Fatal(err)
		}
		a, b := alone[0], together[i+1]
		if math.Abs(a.Select-b.Select) > 1e-4 || len(a.Spans) != len(b.Spans) ||
			math.Abs(a.Spans[0].Score-b.Spans[0].Score) > 1e-4 {
			t.Errorf("passage %d: %+v alone, %+v beside others", i, a, b)
		}
	}
	long, err := x.Read(t.Context(), "who?", []Text{{Text: strings.Repeat("the old wolf ", 2000)}})
	if err != nil || !long[0].Cut || together[1].Cut {
		t.Errorf("cut %v, %v", long[0].Cut, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Read(ctx, "who?", passages); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits: %v", err)
	}
}

// TestReadersAreNoExperts, and the reverse.
func TestReadersAreNoExperts(t *testing.T) {
	r := library(t)
	if _, err := r.OpenReader(bundle(t, tiny.Expert{}), Running{}); err == nil ||
		!strings.Contains(err.Error(), "tiny is no reader") {
		t.Errorf("an expert as a reader: %v", err)
	}
	if _, err := r.Open(bundle(t, tiny.Expert{Reader: true}), Running{}); err == nil ||
		!strings.Contains(err.Error(), "makes no vectors") {
		t.Errorf("a reader as an expert: %v", err)
	}
}
