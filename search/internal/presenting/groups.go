package presenting

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/reply"
)

// groupByDocument groups results by their documents. Groups stand in the order of their best results, which are ranked
// anew in each. The first group has the rank after Plan.Offset. A passage without a document is a group of its own.
func (a *Page) groupByDocument(results []reply.Result) []reply.Group {
	groups := []reply.Group{}
	at := map[string]int{}
	for _, r := range results {
		name := answering.GroupOf(r.Collection, r.ID)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name] = i
			groups = append(groups, reply.Group{Rank: a.answer.Plan.Offset + i + 1, Score: r.Score})
		}
		g := &groups[i]
		if g.Document == nil {
			g.Document = r.Document
		}
		if document, _, ok := corpus.SplitPassageID(r.ID); ok && g.Document == nil {
			g.Document = &reply.DocumentReference{ID: document, Source: document}
		}
		g.Results = append(g.Results, r)
		g.Results[len(g.Results)-1].Rank = len(g.Results)
	}
	return slices.Clip(groups)
}
