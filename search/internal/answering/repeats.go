package answering

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/storage"
)

// Passages that say the same in other words, cut or titled otherwise, such as those of one document in two
// formats, are no rivals: how sure an answer is does not depend on how often it is there. Copies, whose
// texts are equal, are found by fingerprints before (copies.go).

const (
	// mostRepeats is how many passages behind the first are compared with it.
	mostRepeats = 5
	// shingle is of how many words the pieces are by which texts are compared, and repeated the share of
	// the shorter text's pieces that the other has to have. Texts on one subject share few runs of four words.
	shingle  = 4
	repeated = 0.5
)

// surely replaces the confidence of a ranking of k passages by the one it would have without the passages that repeat
// the text of the first. It looks for them among the first 1+mostRepeats passages, whatever k is. It changes nothing
// if there are none, the ranking has no confidence, or the request does not collapse copies. It fails if passages
// cannot be read.
func (a *Answer) surely(ctx context.Context, m plan.Method, in fusion.Input, ranking *fusion.Ranking, k int) error {
	if ranking.Confidence == nil || !m.WeighsByQuestion() || !a.Found.Inquiry.Collapse || a.Table.Len() < 2 {
		return nil
	}
	items := ranking.Items
	if len(items) < 1+mostRepeats { // copies count whether they are returned or not
		deeper, err := m.Fuse(in, a.settings(), 1+mostRepeats)
		if err != nil {
			return err
		}
		items = deeper.Items
	}
	again, err := a.repeatsOfFirst(ctx, items, k)
	if err != nil || len(again) == 0 {
		return err
	}
	in.Table = a.Table.Without(func(o rank.Ordinal) bool { return slices.Contains(again, o) })
	alone, err := m.Fuse(in, a.settings(), k)
	if err != nil || len(alone.Items) == 0 || alone.Items[0].Ordinal != ranking.Items[0].Ordinal {
		return err
	}
	ranking.Confidence, ranking.Any = alone.Confidence, alone.Any
	return nil
}

// repeatsOfFirst returns which of the items after the first, at most mostRepeats, repeat its text (repeats). Of
// passages that are slow to read (AtHand) it reads the k that are returned, too, which are then not read again. items
// must not be empty.
func (a *Answer) repeatsOfFirst(ctx context.Context, items []fusion.Item, k int) (again []rank.Ordinal, err error) {
	most := 1 + mostRepeats
	if _, quick := a.Found.View.Passages().(storage.AtHand); !quick {
		most = max(most, k)
	}
	items = items[:min(len(items), most)]
	ordinals := make([]rank.Ordinal, len(items))
	for i, x := range items {
		ordinals[i] = x.Ordinal
	}
	passages, err := a.Found.View.Passages().Read(ctx, ordinals)
	if err != nil {
		return nil, fmt.Errorf("comparing the first passages: %w", err)
	}
	first := Shingles(passages[0].Text)
	for i := range passages[1:min(len(passages), 1+mostRepeats)] {
		if Repeats(first, Shingles(passages[i+1].Text)) {
			again = append(again, ordinals[i+1])
		}
	}
	return again, nil
}

// Repeats reports whether the longer of two texts, given as shingles, has at least the share repeated of the shorter
// one.
func Repeats(a, b map[string]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for piece := range a {
		if b[piece] {
			shared++
		}
	}
	return len(a) > 0 && float64(shared) >= repeated*float64(len(a))
}

// Shingles returns the set of all runs of shingle consecutive words of a text, in lower case and without punctuation.
// A shorter text is one run; an empty one gives none.
func Shingles(text string) map[string]bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	out := make(map[string]bool, len(words))
	if len(words) > 0 && len(words) < shingle {
		out[strings.Join(words, " ")] = true
	}
	for i := shingle; i <= len(words); i++ {
		out[strings.Join(words[i-shingle:i], " ")] = true
	}
	return out
}
