package presenting

import (
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/place"
)

// Group is a document that was found, with its best passages. A passage of no document is a
// group by itself.
type Group struct {
	Rank     int                      `json:"rank"` // from 1
	Document *place.DocumentReference `json:"document,omitempty"`
	Score    float64                  `json:"score"`   // that of its best passage
	Results  []Result                 `json:"results"` // ranked within the group
}

// group makes groups of ranked results.
func (a *Page) group(results []Result) []Group {
	groups := []Group{}
	at := map[string]int{}
	for _, r := range results {
		name := answering.GroupOf(r.Collection, r.ID)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name] = i
			groups = append(groups, Group{Rank: a.answer.Plan.Offset + i + 1, Score: r.Score})
		}
		g := &groups[i]
		if g.Document == nil {
			g.Document = r.Document
		}
		if document, _, ok := corpus.SplitPassageID(r.ID); ok && g.Document == nil {
			g.Document = &place.DocumentReference{ID: document, Source: document}
		}
		g.Results = append(g.Results, r)
		g.Results[len(g.Results)-1].Rank = len(g.Results)
	}
	return slices.Clip(groups)
}
