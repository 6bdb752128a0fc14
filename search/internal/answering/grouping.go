package answering

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/ask"
)

// passageName is the collection of a passage, "" unless several are searched, and its id.
type passageName struct{ collection, id string }

// groupName names a group of results: a document, a value of the field that they are grouped by, or a single passage.
type groupName struct {
	of    passageName // a document or a passage; empty if value is set
	value conditions.Value
}

// groupPassages returns the passages of a ranking that a page of groups needs, in the ranking's order: the first
// GroupSize passages of each group on the page. Models may still move the first within passages: with within above 0 it
// also returns these, passages of their groups, and of the groups before the page. It fails if the ids of the passages
// cannot be read.
func (a *Answer) groupPassages(items []fusion.Item, within int) ([]fusion.Item, error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	ids, err := a.Found.View.Passages().IDs(ordinals)
	if err != nil {
		return nil, fmt.Errorf("grouping by %s: %w", a.Plan.GroupBy, err)
	}
	type group struct {
		place, passages int
		moves           bool
	}
	groups := map[groupName]*group{}
	if a.groups == nil {
		a.groups = map[passageName]groupName{}
	}
	var kept []fusion.Item
	for i, item := range items {
		passage := passageName{a.Found.View.CollectionOf(ordinals[i]), ids[i]}
		name := a.nameGroup(passage, ordinals[i])
		g := groups[name]
		if g == nil {
			g = &group{place: len(groups), moves: i < within}
			groups[name] = g
		}
		answered := (g.place >= a.Plan.Offset || within > 0) && g.place < a.Plan.K || g.moves
		if i < within || answered && g.passages < a.Plan.GroupSize {
			g.passages++
			kept = append(kept, item)
			a.groups[passage] = name
		}
	}
	return kept, nil
}

// groupsWithPins returns the items of the ranking at an index that pages of groups need, if pinned passages stand
// before them (groupPassages), without these passages unless they are among items. It fails if ids cannot be read.
func (a *Answer) groupsWithPins(ranking int, items []fusion.Item, within int) ([]fusion.Item, error) {
	needed, err := a.groupPassages(a.withPins(ranking, items), within+len(a.pins))
	if err != nil || len(a.pins) == 0 {
		return needed, err
	}
	return slices.DeleteFunc(slices.Clone(items), func(item fusion.Item) bool {
		return itemOf(needed, item.Ordinal) == nil
	}), nil
}

// nameGroup returns the name of a passage's group: its document's, or that of its value in the field that results are
// grouped by. A passage without one is a group of its own.
func (a *Answer) nameGroup(passage passageName, ordinal rank.Ordinal) groupName {
	if a.Plan.GroupBy != ask.GroupByDocument {
		if v, ok := a.Values[ordinal]; ok {
			return groupName{value: v}
		}
		return groupName{of: passage}
	}
	if document, _, ok := corpus.SplitPassageID(passage.id); ok {
		passage.id = document + "#"
	}
	return groupName{of: passage}
}

// documentKey returns a key that the passages of one document share, made of the collection and the passage's id. A
// passage without a document has a key of its own.
func documentKey(collection, passage string) string {
	if document, _, ok := corpus.SplitPassageID(passage); ok {
		return collection + "/" + document + "#"
	}
	return collection + "/" + passage
}

// GroupOf returns a text that only the passages of one group share, for a passage that groupPassages has kept, and the
// group's value in the field that results are grouped by; nil if it has none.
func (a *Answer) GroupOf(collection, id string) (name string, value *conditions.Value) {
	group := a.groups[passageName{collection, id}]
	if group.value != (conditions.Value{}) {
		value = &group.value
	}
	return group.of.collection + "/" + group.of.id + "#" + group.value.String(), value
}
