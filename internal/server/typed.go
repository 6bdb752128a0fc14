package server

import (
	"context"
	"time"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// typedWriter is a writer that refuses passages whose metadata do not have the declared types of their fields.
type typedWriter struct {
	store.Writer
	types func() conditions.Types
}

// MostWait returns how long requests wait at most until searches see a change; 0: no limit (handlers.BoundedWriter).
func (w *typedWriter) MostWait() time.Duration { return mostWait(w.Writer) }

// typeMisfit returns which field of a put's metadata does not have its declared type; nil if all have, and for a
// deletion.
func typeMisfit(types conditions.Types, c *store.Change) *corpus.FieldError {
	if c.Put == nil {
		return nil
	}
	return types.Check(c.Put.Metadata)
}

// Apply makes the changes whose metadata have the declared types, in their order, and returns a result for each
// change. The others are not made: their result has a *corpus.FieldError.
func (w *typedWriter) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	types := w.types()
	results := make([]store.ChangeResult, len(changes))
	var fit []store.Change
	var places []int // of fit, in changes
	for i := range changes {
		if wrong := typeMisfit(types, &changes[i]); wrong != nil {
			results[i] = store.ChangeResult{ID: changes[i].ID(), Err: wrong}
			continue
		}
		fit = append(fit, changes[i])
		places = append(places, i)
	}
	if len(fit) == len(changes) {
		return w.Writer.Apply(ctx, changes)
	}
	if len(fit) == 0 {
		return results, ctx.Err()
	}
	made, err := w.Writer.Apply(ctx, fit)
	for i := range made {
		results[places[i]] = made[i]
	}
	return results, err
}

// ApplyTogether makes all changes or none. If the metadata of one do not have the declared types, it makes none and
// returns no error: that one's result has a *corpus.FieldError.
func (w *typedWriter) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	types := w.types()
	for i := range changes {
		if wrong := typeMisfit(types, &changes[i]); wrong != nil {
			results := make([]store.ChangeResult, len(changes))
			for j := range changes {
				results[j].ID = changes[j].ID()
			}
			results[i].Err = wrong
			return results, nil
		}
	}
	return w.Writer.ApplyTogether(ctx, changes)
}
