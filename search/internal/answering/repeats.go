package answering

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/storage"
)

// Passages that say the same in other words, cut or titled otherwise, such as those of one document in two
// formats, are no rivals: how sure an answer is does not depend on how often it is there. Copies, whose
// texts are equal, are found by fingerprints before (copies.go).

const (
	// mostRepeats is how many passages behind the first are compared with it.
	mostRepeats = 5
)

// surely replaces the confidence of a ranking of k passages by the one it would have without the passages that repeat
// the text of the first. It looks for them among the first 1+mostRepeats passages, whatever k is. It changes nothing
// if there are none, the ranking has no confidence, or the request does not collapse copies. It fails if passages
// cannot be read.
func (r *Ranking) surely(ctx context.Context, m plan.Method, in fusion.Input, ranking *fusion.Ranking, k int) error {
	if ranking.Confidence == nil || !m.WeighsByQuestion() || !r.Found.Inquiry.Collapse || r.Table.Len() < 2 {
		return nil
	}
	items := ranking.Items
	if len(items) < 1+mostRepeats { // copies count whether they are returned or not
		deeper, err := m.Fuse(in, r.settings(), 1+mostRepeats)
		if err != nil {
			return err
		}
		items = deeper.Items
	}
	again, err := r.repeatsOfFirst(ctx, items, k)
	if err != nil || len(again) == 0 {
		return err
	}
	in.Table = r.Table.Without(func(o rank.Ordinal) bool { return slices.Contains(again, o) })
	alone, err := m.Fuse(in, r.settings(), k)
	if err != nil || len(alone.Items) == 0 || alone.Items[0].Ordinal != ranking.Items[0].Ordinal {
		return err
	}
	ranking.Confidence, ranking.Any = alone.Confidence, alone.Any
	return nil
}

// repeatsOfFirst returns which of the items after the first, at most mostRepeats, repeat its text (repeats). Of
// passages that are slow to read (AtHand) it reads the k that are returned, too, which are then not read again. items
// must not be empty.
func (r *Ranking) repeatsOfFirst(ctx context.Context, items []fusion.Item, k int) (again []rank.Ordinal, err error) {
	most := 1 + mostRepeats
	if _, quick := r.Found.View.Passages().(storage.AtHand); !quick {
		most = max(most, k)
	}
	items = items[:min(len(items), most)]
	ordinals := make([]rank.Ordinal, len(items))
	for i, x := range items {
		ordinals[i] = x.Ordinal
	}
	passages, err := r.Found.View.Passages().Read(ctx, ordinals)
	if err != nil {
		return nil, fmt.Errorf("comparing the first passages: %w", err)
	}
	first := extract.Shingles(passages[0].Text)
	for i := range passages[1:min(len(passages), 1+mostRepeats)] {
		if extract.Repeats(first, extract.Shingles(passages[i+1].Text)) {
			again = append(again, ordinals[i+1])
		}
	}
	return again, nil
}
