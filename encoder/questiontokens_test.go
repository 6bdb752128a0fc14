package encoder

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/models/convert/tiny"
)

// TestOneTokenisation: experts with the same tokenizer file tokenise a question
// once between them, at whatever moment they ask; a longer limit, or another
// file, is something else.
func TestOneTokenisation(t *testing.T) {
	r := library(t)
	one, two := open(
		t, r, bundle(t, tiny.Expert{Name: "a", Seed: 1}), Running{},
	), open(
		t,
		r,
		bundle(t, tiny.Expert{Name: "b", Seed: 2}),
		Running{},
	)
	if one.tokenizer != two.tokenizer {
		t.Fatal("the same file was loaded twice")
	}
	before := one.tokenizer.runs.Load()
	var all sync.WaitGroup
	for range 8 {
		for _, e := range []*Encoder{one, two} {
			all.Go(func() {
				if _, err := e.EncodeQuestion(t.Context(), "who hid in the lamp room"); err != nil {
					t.Error(err)
				}
				e.QuestionTokens("who hid in the lamp room")
			})
		}
	}
	all.Wait()
	if n := one.tokenizer.runs.Load() - before; n != 1 {
		t.Errorf("%d tokenisations, want 1", n)
	}
	other := bundle(t, tiny.Expert{Name: "c", Seed: 1})
	other.Manifest.LowerCase = !other.Manifest.LowerCase
	if e := open(t, r, other, Running{}); e.tokenizer == one.tokenizer {
		t.Error("another way of reading letters, and the same tokenizer")
	}
}

// TestQuestionTokensAreTheTokenizers: with every limit, cut or not, however
// many questions were asked in between.
func TestQuestionTokensAreTheTokenizers(t *testing.T) {
	q := open(t, library(t), bundle(t, tiny.Expert{}), Running{}).tokenizer
	text := "Who hid in the lamp room, and why did the keeper's brother lie about it?"
	for i := range 2 * rememberedQuestions {
		limit := 2 + i%30
		question := text[:len(text)-i%len(text)] + strings.Repeat(" x", i%3)
		want, err := q.Encode(question, limit)
		if err != nil {
			t.Fatal(err)
		}
		longer, err := q.Encode(question, 512)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := q.tokensOf(question, limit); got.err != nil || !slices.Equal(got.ids, want) ||
				got.cut != (len(longer) > limit) {
				t.Fatalf("%q, %d tokens: %v, cut %v, %v; want %v", question, limit, got.ids, got.cut, got.err, want)
			}
		}
	}
	if n := len(q.known); n != rememberedQuestions {
		t.Errorf("%d questions are remembered, want %d", n, rememberedQuestions)
	}
	runs := q.runs.Load()
	for i := range 10 {
		q.tokensOf(fmt.Sprint("new ", i), 8)
	}
	if got := q.runs.Load() - runs; got != 10 {
		t.Errorf("ten new questions, %d tokenisations", got)
	}
}
