package search

import (
	"example.org/conclave/search/fault"
	"example.org/conclave/search/storage"
)

// allowExact returns a *fault.Error if one of the wanted sources (indexes of Sources) has more passages than its index
// can compare in an exact search. An index whose MostExact is 0 has no limit.
func (l *lineUp) allowExact(wanted []int, view storage.View) error {
	for _, at := range wanted {
		if x, ok := view.Index(l.panel.Sources[at].Name()); ok && x.MostExact > 0 && x.Passages > x.MostExact {
			var wrong fault.Problems
			wrong.Add(
				"out_of_range", "/exact",
				"exact compares the question with all %d passages: at most %d are possible here", x.Passages,
				x.MostExact,
			)
			return wrong.Err()
		}
	}
	return nil
}
