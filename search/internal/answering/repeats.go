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

// Near copies of a passage, such as those of one document in two formats, do not count as rivals of the first passage:
// a confidence must not fall because an answer is there twice. Exact copies are found earlier, by fingerprints
// (copies.go of package sources).

const (
	// mostRepeats is the number of passages after the first that are compared with it.
	mostRepeats = 5
)

// setConfidenceWithoutRepeats replaces the confidence of a ranking by the one that it would have without near copies of
// the first passage. It looks for these among the mostRepeats passages after the first, regardless of k, the number of
// passages of the ranking. It changes nothing if there are none, the ranking has no confidence, or the request does not
// collapse copies. It fails if passages cannot be read or m cannot rank.
func (r *Ranking) setConfidenceWithoutRepeats(
	ctx context.Context, m plan.Method, in fusion.Input, ranking *fusion.Ranking, k int,
) error {
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

// repeatsOfFirst returns the passages among the mostRepeats items after the first that are near copies of it
// (extract.Shingled.Repeats). If passages are slow to read (not storage.AtHand), it reads all k that will be returned,
// so that they are not read again. items must not be empty. It fails if they cannot be read.
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
	passages, err := r.readPassages(ctx, ordinals)
	if err != nil {
		return nil, fmt.Errorf("comparing the first passages: %w", err)
	}
	first := extract.Shingle(passages[0].Text)
	for i := range passages[1:min(len(passages), 1+mostRepeats)] {
		if first.Repeats(extract.Shingle(passages[i+1].Text)) {
			again = append(again, ordinals[i+1])
		}
	}
	return again, nil
}
