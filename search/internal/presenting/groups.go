package presenting

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/reply"
)

// groupResults groups results by their documents, or by their values of the plan's field. Groups stand in the order of
// their best results, which are ranked anew in each. The first group has the rank after Plan.Offset. A passage without
// a document, or without the field, is a group of its own.
func (a *Page) groupResults(results []reply.Result) []reply.Group {
	groups := []reply.Group{}
	at := map[string]int{}
	for _, r := range results {
		name, value := a.answer.GroupOf(r.Collection, r.ID)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name] = i
			group := reply.Group{Rank: a.answer.Plan.Offset + i + 1, Score: r.Score, Value: value}
			if a.answer.Plan.GroupField() == "" {
				group.Document = documentOf(&r)
			}
			groups = append(groups, group)
		}
		g := &groups[i]
		g.Results = append(g.Results, r)
		g.Results[len(g.Results)-1].Rank = len(g.Results)
	}
	return slices.Clip(groups)
}

// documentOf returns the document of a result, which is known by the result's id if the request wants no documents; nil
// if it has none.
func documentOf(r *reply.Result) *reply.DocumentReference {
	if document, _, ok := corpus.SplitPassageID(r.ID); ok && r.Document == nil {
		return &reply.DocumentReference{ID: document, Source: document}
	}
	return r.Document
}
