package server

import (
	"context"
	"slices"
	"time"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/store"
)

// tellingWriter is a writer that adds to the metadata of each passage which language it is in, if the collection is in
// several (corpus.WithLanguage).
type tellingWriter struct {
	store.Writer
	made   []string              // codes of the languages that the collection was made for; nil: its settings say none
	engine func() *search.Engine // that searches the collection
}

// MostWait returns how long requests wait at most until searches see a change; 0: no limit (handlers.BoundedWriter).
func (w *tellingWriter) MostWait() time.Duration { return mostWait(w.Writer) }

// Apply makes the changes in their order, with the languages of the passages that are put, and returns a result for
// each. It fails as the writer's own Apply does.
func (w *tellingWriter) Apply(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	return w.Writer.Apply(ctx, w.withLanguages(ctx, changes))
}

// ApplyTogether makes all changes or none, with the languages of the passages that are put. It fails as the writer's
// own ApplyTogether does.
func (w *tellingWriter) ApplyTogether(ctx context.Context, changes []store.Change) ([]store.ChangeResult, error) {
	return w.Writer.ApplyTogether(ctx, w.withLanguages(ctx, changes))
}

// withLanguages returns the changes with the languages of the passages that are put; changes itself if none is put. It
// changes none of them in place.
func (w *tellingWriter) withLanguages(ctx context.Context, changes []store.Change) []store.Change {
	if !slices.ContainsFunc(changes, func(c store.Change) bool { return c.Put != nil }) {
		return changes
	}
	codes := w.languagesNow(ctx)
	if len(codes) < 2 {
		return changes
	}
	out := slices.Clone(changes)
	for i := range out {
		if out[i].Put != nil {
			p := corpus.WithLanguage(*out[i].Put, codes)
			out[i].Put = &p
		}
	}
	return out
}

// languagesNow returns the codes of the languages that the collection's passages are in: those that it was made for if
// these are several, or else those of a sample of its passages; nil if none is known, or if corpus.LanguageKey is
// declared as a field without texts.
func (w *tellingWriter) languagesNow(ctx context.Context) []string {
	engine := w.engine()
	kind, declared := engine.Defaults().Fields[corpus.LanguageKey]
	switch {
	case declared && kind != conditions.Keyword:
		return nil
	case len(w.made) > 1:
		return w.made
	}
	return engine.Languages(ctx)
}
