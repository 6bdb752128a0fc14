package lookup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// Misfits are the values of a field that do not fit its declared type. Conditions on the field ignore them.
type Misfits struct {
	Field    string          `json:"field"`
	Type     conditions.Type `json:"type"`     // the declared type
	Passages int             `json:"passages"` // the number of passages with such values
	// Values are the most frequent of them, at most mostMisfits.
	Values []storage.FacetValue `json:"values"`
}

// mostMisfits is the greatest number of values that Misfits shows of a field.
const mostMisfits = 10

// Misfits returns, for each field with a declared type, the values that do not fit it, in the order of the fields'
// names. Fields without such values are left out. It fails if the store cannot count.
func (r Reader) Misfits(ctx context.Context) ([]Misfits, error) {
	view := r.View
	out := []Misfits{}
	for _, field := range slices.Sorted(maps.Keys(view.Types)) {
		m := Misfits{Field: field, Type: view.Types[field]}
		f := storage.Filter{Where: m.Type.Unfitting(field)}
		err := run.Guard(func() error {
			indexes, count, err := view.Among(ctx, f)
			if err != nil {
				return err
			}
			m.Passages, err = count(ctx)
			if err != nil || m.Passages == 0 {
				return err
			}
			m.Values, err = snapshot.ValuesIn(ctx, indexes, field, mostMisfits)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("looking for values of %s that are no %s: %w", wording.Quote(field), m.Type, err)
		}
		if m.Passages > 0 {
			out = append(out, m)
		}
	}
	return out, nil
}
