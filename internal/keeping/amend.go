package keeping

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Amend replaces the tags and the metadata of a document in one change, without encoding its text anew; its own
// metadata, such as its title, stay. ok is false if there is no such document. It returns a *corpus.FieldError if
// the tags or metadata cannot be stored, and another error if the document keeps being changed meanwhile.
func (k *Keeper) Amend(
	ctx context.Context,
	id string,
	tags []string,
	metadata map[string]any,
) (result ChangeResult, ok bool, err error) {
	if err := checkAbout(&documents.About{ID: id, Tags: tags, Metadata: metadata}); err != nil {
		return result, false, err
	}
	get := func(ctx context.Context, id string) (corpus.Passage, string, bool, error) {
		return k.writer.Passage(ctx, id, func(int) error { return nil })
	}
	for range attempts {
		_, version, all, ok, err := Passages(ctx, get, id)
		if err != nil || !ok {
			return result, false, err
		}
		changes := make([]store.Change, len(all))
		for i := range all {
			p := &all[i]
			maps.DeleteFunc(p.Metadata, func(key string, _ any) bool { return !slices.Contains(corpus.DocumentKeys(), key) })
			maps.Copy(p.Metadata, metadata)
			p.Tags = tags
			changes[i].Put = p
		}
		result, err = k.change(ctx, id, changes, storedDocument{version: version}, Condition{})
		if !overtaken(err, Condition{}) {
			result.Passages = len(all)
			return result, true, err
		}
	}
	return result, false, fmt.Errorf("document %q was changed by others during each of %d attempts: try again", id, attempts)
}
