package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/wording"
)

// Misfits are the values of a field that do not have its declared type, and that conditions pass over.
type Misfits struct {
	Field    string          `json:"field"`
	Type     conditions.Type `json:"type"`     // that is declared
	Passages int             `json:"passages"` // with such values
	// Values are the most frequent ones.
	Values []FacetValue `json:"values"`
}

// mostMisfits is how many values are shown of each field.
const mostMisfits = 10

// Misfits returns, for each field with a declared type, the values that do not have it; fields without such
// values are left out.
func (e *Engine) Misfits(ctx context.Context) ([]Misfits, error) {
	l, err := e.begin()
	if err != nil {
		return nil, err
	}
	defer l.leave()
	view := e.pin()
	defer view.unpin()
	out := []Misfits{}
	for _, field := range slices.Sorted(maps.Keys(view.types)) {
		m := Misfits{Field: field, Type: view.types[field]}
		f := Filter{Where: m.Type.Unfitting(field)}
		err := guard(func() error {
			indexes, count, err := view.Among(ctx, f)
			if err != nil {
				return err
			}
			m.Passages, err = count(ctx)
			if err != nil || m.Passages == 0 {
				return err
			}
			m.Values, err = valuesIn(ctx, indexes, field, mostMisfits)
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

// valuesIn returns the most frequent values of a field among what can be found.
func valuesIn(ctx context.Context, indexes Indexes, field string, most int) ([]FacetValue, error) {
	of, ok := indexes.(Faceted)
	if !ok {
		return []FacetValue{}, nil
	}
	facet, err := of.Facet(ctx, field, most)
	return facet.Selected, err
}

// shownValues is how many values of a field an error shows, that others do not fit.
const shownValues = 3

// showValues adds to the error of a condition that compares what a field does not hold what it holds, as far
// as the caller may see it.
func (p *pinned) showValues(ctx context.Context, err error) {
	var misfit *conditions.MisfitError
	if !errors.As(err, &misfit) {
		return
	}
	for i := range misfit.Problems {
		problem := &misfit.Problems[i]
		if problem.Field == "" {
			continue
		}
		seen, _, err := p.View.Among(ctx, Filter{Where: p.restriction(ctx)})
		if err != nil {
			return
		}
		values, err := valuesIn(ctx, seen, problem.Field, shownValues)
		if err != nil || len(values) == 0 {
			return
		}
		var shown []string
		for _, v := range values {
			shown = append(shown, wording.Shorten(v.Value.String()))
		}
		problem.Detail += "; its most frequent values are " + strings.Join(shown, ", ")
	}
}
