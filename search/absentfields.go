package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// mostAbsent is the greatest number of fields that absentFields looks for.
const mostAbsent = 8

// absentFields returns a note for each field of a request that no passage has, out of those that the caller may see. It
// looks for the fields of the filter if nothing was found, those of facets without values, and the one to sort by if no
// result has it; at most mostAbsent, each in a turn of its own. If the store fails or ctx ends, it adds no note.
func (e *Engine) absentFields(ctx context.Context, r *Request, out *reply.Response) (notes []string) {
	var asked []string
	if len(out.Results) == 0 && len(out.Groups) == 0 && len(out.Rankings) == 0 {
		asked = fieldsOf(&r.Filter.Condition)
	}
	for _, f := range out.Facets {
		if len(f.Selected) == 0 && f.Other == 0 {
			asked = append(asked, f.Field)
		}
	}
	shown := func(x reply.Result) bool { _, there := x.Metadata[r.Sort.Field]; return there }
	if r.Sort.Field != "" && !slices.ContainsFunc(out.Results, shown) {
		asked = append(asked, r.Sort.Field)
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	for _, field := range asked[:min(len(asked), mostAbsent)] {
		there := storage.Filter{Condition: conditions.Condition{Field: field, Exists: new(true)}}
		n := 0
		err := e.run.Compute(ctx, func(ctx context.Context) (err error) {
			n, err = e.Count(ctx, there)
			return err
		})
		if err == nil && n == 0 {
			notes = append(notes, fmt.Sprintf("no passage has the field %s%s", wording.Quote(field), e.nearFields(field)))
		}
	}
	return notes
}

// fieldsOf returns the fields that a condition and its parts name, in their order, with repetitions.
func fieldsOf(c *conditions.Condition) (fields []string) {
	if c.Field != "" {
		fields = append(fields, c.Field)
	}
	for _, parts := range [][]conditions.Condition{c.And, c.Or} {
		for i := range parts {
			fields = append(fields, fieldsOf(&parts[i])...)
		}
	}
	if c.Not != nil {
		fields = append(fields, fieldsOf(c.Not)...)
	}
	return fields
}

// nearFields returns the words that a note on a missing field has after the field's name: " (did you mean …?)" with the
// first declared field of nearly the same spelling, or else a list of all declared fields; "" if none are declared.
func (e *Engine) nearFields(field string) string {
	view := e.pin()
	defer view.Release()
	declared := slices.Sorted(maps.Keys(view.Types))
	if len(declared) == 0 {
		return ""
	}
	typed := []rune(strings.ToLower(field))
	for _, name := range declared {
		if _, near := spelling.Between([]rune(strings.ToLower(name)), typed, spelling.MostEdits(len(typed))); near {
			return fmt.Sprintf(" (did you mean %s?)", wording.Quote(name))
		}
	}
	return fmt.Sprintf(" (declared are %s)", strings.Join(declared, ", "))
}
