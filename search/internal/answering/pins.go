package answering

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// pin is a passage that an administrator has put first, and how each ranking has it, by the ranking's index.
type pin struct {
	passage rank.Ordinal
	items   []*fusion.Item // nil, until FindPins has ended: the ranking lacks it
}

// FindPins sets r.pins to the passages that the plan pins: those that exist and that the filter and the caller's
// restriction let through, in the plan's order. Of a document it is the passage that the first ranking has first, or
// the document's first passage if no source found one. The rankings stay as they are: what models read, the confidence
// and the verdict do not depend on pins. A pinned passage that a ranking lacks gets the scores that it has among the
// candidates of the question. It fails if passages cannot be looked up or ranked.
func (r *Ranking) FindPins(ctx context.Context) error {
	if len(r.Plan.Pins) == 0 {
		return nil
	}
	passages, err := r.pinnedPassages(ctx)
	if err != nil {
		return fmt.Errorf("looking up the pinned passages: %w", err)
	}
	if len(passages) == 0 {
		return nil
	}
	var missing []rank.Ordinal
	for _, o := range passages {
		p := pin{passage: o}
		for i := range r.Rankings {
			item := itemOf(r.Rankings[i].Items, o)
			if item == nil {
				missing = append(missing, o)
			}
			p.items = append(p.items, item)
		}
		r.pins = append(r.pins, p)
	}
	if len(missing) == 0 {
		return nil
	}
	if err := r.readGroupValues(ctx, missing); err != nil {
		return err
	}
	among := NewCandidates(r.Rules, r.Plan, r.Found, slices.Clone(r.Findings))
	defer among.Done()
	among.others = missing
	among.Known = r.Known
	ranked, err := among.Rank(ctx)
	if err != nil {
		return fmt.Errorf("scoring the pinned passages: %w", err)
	}
	for n := range r.pins {
		for i := range r.Rankings {
			if r.pins[n].items[i] != nil {
				continue
			}
			item := &fusion.Item{Ordinal: r.pins[n].passage} // deleted since it was looked up
			if found := itemOf(ranked.Rankings[i].Items, item.Ordinal); found != nil {
				item = found
				item.Parts = slices.Clone(item.Parts)
			}
			r.pins[n].items[i] = item
		}
	}
	return nil
}

// pinnedPassages returns the passages that the plan's pins name and that may be found, each once, in the plan's order.
// It fails if the store does.
func (r *Ranking) pinnedPassages(ctx context.Context) (out []rank.Ordinal, err error) {
	named, err := r.namedByPins(ctx)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(named...)
	may, err := r.Found.View.Narrowed.Contains(ctx, all)
	if err != nil {
		return nil, err
	}
	visible := map[rank.Ordinal]bool{}
	for i, o := range all {
		visible[o] = may[i] && (r.isExcluded == nil || !r.isExcluded(o))
	}
	for i, p := range r.Plan.Pins {
		ranked, err := r.firstOf(p)
		if err != nil {
			return nil, err
		}
		for _, o := range append(ranked, named[i]...) {
			if len(ranked) > 0 || visible[o] {
				if !slices.Contains(out, o) {
					out = append(out, o)
				}
				break
			}
		}
	}
	return out, nil
}

// namedByPins returns, for each of the plan's pins, the passage with its id, or if there is none the first passages of
// the document with its id, at most mostFirst; none if there is neither. It asks the store once for each collection,
// and fails if that does.
func (r *Ranking) namedByPins(ctx context.Context) ([][]rank.Ordinal, error) {
	named := make([][]rank.Ordinal, len(r.Plan.Pins))
	byCollection := map[string][]int{} // numbers of pins
	for i, p := range r.Plan.Pins {
		byCollection[p.Collection] = append(byCollection[p.Collection], i)
	}
	for collection, numbers := range byCollection {
		var ids []string
		for _, i := range numbers {
			ids = append(ids, r.Plan.Pins[i].ID)
			for n := range mostFirst {
				ids = append(ids, fmt.Sprintf("%s#%d", r.Plan.Pins[i].ID, n+1))
			}
		}
		found, err := r.Found.View.Lookup(ctx, collection, ids)
		if err != nil {
			return nil, err
		}
		for n, i := range numbers {
			own := found[n*(mostFirst+1) : (n+1)*(mostFirst+1)]
			if own[0].There {
				own = own[:1]
			}
			for _, f := range own {
				if f.There {
					named[i] = append(named[i], f.Ordinal)
				}
			}
		}
	}
	return named, nil
}

// mostFirst is the number of first passages of a pinned document of which one is taken if no source found another.
const mostFirst = 10

// firstOf returns the first passage of the first ranking that is of a document; none if it has none. It fails if ids
// cannot be read.
func (r *Ranking) firstOf(document storage.Reference) ([]rank.Ordinal, error) {
	items := r.Rankings[0].Items
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	ids, err := r.Found.View.Passages().IDs(ordinals)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		whose, _, ok := corpus.SplitPassageID(id)
		if ok && whose == document.ID && r.Found.View.CollectionOf(ordinals[i]) == document.Collection {
			return ordinals[i : i+1 : i+1], nil
		}
	}
	return nil, nil
}

// readGroupValues adds to r.Values those of passages that are no candidates, if results are grouped by a field. It
// fails if they cannot be read.
func (r *Ranking) readGroupValues(ctx context.Context, passages []rank.Ordinal) error {
	field := r.Plan.GroupField()
	if field == "" {
		return nil
	}
	read, err := r.Found.View.Passages().Read(ctx, passages)
	if err != nil {
		return fmt.Errorf("reading the values of pinned passages: %w", err)
	}
	for i := range read {
		if v, ok := conditions.ValueOf(read[i].Metadata[field]); ok {
			r.Values[passages[i]] = v
		}
	}
	return nil
}

// itemOf returns a copy of the item of a passage; nil if there is none.
func itemOf(items []fusion.Item, passage rank.Ordinal) *fusion.Item {
	at := slices.IndexFunc(items, func(item fusion.Item) bool { return item.Ordinal == passage })
	if at < 0 {
		return nil
	}
	item := items[at]
	return &item
}

// withPins returns the items of the ranking at an index with the pinned passages first, and without copies of them. It
// returns items itself if nothing is pinned.
func (r *Ranking) withPins(ranking int, items []fusion.Item) []fusion.Item {
	if len(r.pins) == 0 {
		return items
	}
	out := make([]fusion.Item, 0, len(r.pins)+len(items))
	for _, p := range r.pins {
		item := itemOf(items, p.passage) // a model may have changed its score
		if item == nil {
			item = p.items[ranking]
		}
		out = append(out, *item)
	}
	for _, item := range items {
		if !r.IsPinned(item.Ordinal) && !slices.ContainsFunc(r.Found.CopiesOf(item.Ordinal), r.IsPinned) {
			out = append(out, item)
		}
	}
	return out
}

// IsPinned reports whether an administrator has put a passage first for this question.
func (r *Ranking) IsPinned(passage rank.Ordinal) bool {
	return slices.ContainsFunc(r.pins, func(p pin) bool { return p.passage == passage })
}

// Pinned returns the passages that an administrator has put first for this question, in their order.
func (r *Ranking) Pinned() (out []rank.Ordinal) {
	for _, p := range r.pins {
		out = append(out, p.passage)
	}
	return out
}

// HasPins reports whether an administrator has put a passage first for this question.
func (r *Ranking) HasPins() bool { return len(r.pins) > 0 }
