package presenting

import (
	"context"
	"fmt"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// nameCopies sets the ids of each result's copies, and the collections that these are of; at most mostCopies. ordinals
// are the passages of the results. It fails if copies cannot be read or the answer becomes too large.
func (a *Page) nameCopies(ctx context.Context, results []reply.Result, ordinals []rank.Ordinal) error {
	var all []rank.Ordinal
	ends := make([]int, len(results))
	for i, o := range ordinals {
		others := a.answer.Found.CopiesOf(o)
		all = append(all, others[:min(len(others), mostCopies)]...)
		ends[i] = len(all)
	}
	if len(all) == 0 {
		return nil
	}
	passages, err := a.answer.Found.View.Passages().Read(ctx, all)
	if err != nil {
		return fmt.Errorf("reading the copies: %w", err)
	}
	from := 0
	for i, end := range ends {
		for n, p := range passages[from:end] {
			if !storage.IsDeleted(p) {
				results[i].Copies = append(results[i].Copies, p.ID)
				collection := a.answer.Found.View.CollectionOf(all[from+n])
				if collection != "" {
					results[i].CopiesIn = append(results[i].CopiesIn, collection)
				}
				if err := a.answer.Grow(len(p.ID) + len(collection) + 16); err != nil {
					return err
				}
			}
		}
		from = end
	}
	return nil
}

// mostCopies is the greatest number of copies that are named for a result.
const mostCopies = 100
