package search

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/fault"
)

// GroupByDocument is the value of Request.GroupBy.
const GroupByDocument = "document"

// How many passages of a document a group has.
const (
	usuallyGrouped = 3
	mostGrouped    = 20
)

// Group is a document that was found, with its best passages. A passage of no document is a
// group by itself.
type Group struct {
	Rank     int                `json:"rank"` // from 1
	Document *DocumentReference `json:"document,omitempty"`
	Score    float64            `json:"score"`   // that of its best passage
	Results  []Result           `json:"results"` // ranked within the group
}

// planGroups checks how results are to be grouped.
func (p *plan) planGroups(r *Request, wrong *fault.Problems) {
	p.groupBy = fault.OneOf(wrong, "/group_by", r.GroupBy, "", []string{GroupByDocument})
	p.groupSize = wrong.Count("/group_size", r.GroupSize, usuallyGrouped, mostGrouped)
	switch {
	case p.groupBy == "" && r.GroupSize != 0:
		wrong.Add("unused_option", "/group_size", "group_size is for groups of results: leave it out, or say group_by")
	case p.groupBy != "" && r.Fusion.Listed:
		wrong.Add(
			"not_one_ranking",
			"/group_by",
			"results are grouped in one ranking, and fusion is a list of methods: name one method, or leave out group_by",
		)
	}
}

// ofGroups leaves of a ranking what the groups have that are answered, in the ranking's order:
// the first passages of each document, and of the documents those from the plan's offset on.
// Where the first passages, within so many, may still change places, all is left that can come to
// be answered: these passages, the first ones of their documents, and the documents before the
// offset.
func (a *answer) ofGroups(items []fusion.Item, within int) ([]fusion.Item, error) {
	ordinals := make([]rank.Ordinal, len(items))
	for i, item := range items {
		ordinals[i] = item.Ordinal
	}
	ids, err := a.found.View.Passages().IDs(ordinals)
	if err != nil {
		return nil, fmt.Errorf("grouping by documents: %w", err)
	}
	type group struct {
		place, passages int
		moves           bool
	}
	groups := map[string]*group{}
	var kept []fusion.Item
	for i, item := range items {
		name := groupOf(a.found.View.CollectionOf(ordinals[i]), ids[i])
		g := groups[name]
		if g == nil {
			g = &group{place: len(groups), moves: i < within}
			groups[name] = g
		}
		answered := (g.place >= a.plan.offset || within > 0) && g.place < a.plan.k || g.moves
		if i < within || answered && g.passages < a.plan.groupSize {
			g.passages++
			kept = append(kept, item)
		}
	}
	return kept, nil
}

// groupOf returns what tells the document of a passage of a collection from others; of a passage of none its own id.
func groupOf(collection, passage string) string {
	if document, _, ok := corpus.SplitPassageID(passage); ok {
		return collection + "/" + document + "#"
	}
	return collection + "/" + passage
}

// group makes groups of ranked results.
func (a *answer) group(results []Result) []Group {
	groups := []Group{}
	at := map[string]int{}
	for _, r := range results {
		name := groupOf(r.Collection, r.ID)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name] = i
			groups = append(groups, Group{Rank: a.plan.offset + i + 1, Score: r.Score})
		}
		g := &groups[i]
		if g.Document == nil {
			g.Document = r.Document
		}
		if document, _, ok := corpus.SplitPassageID(r.ID); ok && g.Document == nil {
			g.Document = &DocumentReference{ID: document, Source: document}
		}
		g.Results = append(g.Results, r)
		g.Results[len(g.Results)-1].Rank = len(g.Results)
	}
	return slices.Clip(groups)
}
