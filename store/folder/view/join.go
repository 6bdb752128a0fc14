package view

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/folder"
)

// JoinedCorpus is several collections as one corpus, as they were when they were joined.
type JoinedCorpus struct {
	generation  *folder.Generation
	names       []string
	collections []*folder.Collection
	members     []*folder.Generation // of the collections, in their order, when they were joined
}

// Join returns several collections as one corpus, as they are now. names are the collections' names, in the same
// order. It fails if there is none, if their words are analysed differently, or if they have too many passages
// together. The collections' generations stay open until Close.
func Join(all []*folder.Collection, names []string) (*JoinedCorpus, error) {
	var generations []*folder.Generation
	for _, c := range all {
		generations = append(generations, c.Acquire())
	}
	joined, err := folder.Join(generations)
	if err != nil {
		for _, g := range generations {
			g.Release()
		}
		return nil, err
	}
	return &JoinedCorpus{joined, names, all, generations}, nil
}

// Acquire returns a view of the generations that were joined, which names the collection of each passage. It pins
// them until the view's Release.
func (j *JoinedCorpus) Acquire() storage.View {
	j.generation.Pin()
	return member{pinnedView{j.generation}, j.names}
}

// Experts returns the names of the experts that all collections have.
func (j *JoinedCorpus) Experts() (names []string) {
	for _, x := range j.generation.Experts() {
		names = append(names, x.Name)
	}
	return names
}

// Current reports whether no collection has a newer generation than the one joined.
func (j *JoinedCorpus) Current() bool {
	for i, c := range j.collections {
		if !c.Shows(j.members[i]) {
			return false
		}
	}
	return true
}

// Close releases the collections when no view searches them any more. Acquire must not be called afterwards.
func (j *JoinedCorpus) Close() { j.generation.Release() }

// member is a view of a JoinedCorpus, which knows the collection of each passage.
type member struct {
	pinnedView
	names []string
}

// Among returns the indexes narrowed to the passages that f selects, and a function that counts these. Hidden passages
// are those of the collections that f names with them. It returns a *conditions.MisfitError if f does not fit the types
// of the fields.
func (m member) Among(
	_ context.Context, f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	return amongIn(m.generation, f, m.names)
}

// LookupIn returns the passages of a joined collection with these ids, one entry for each id; There is false if that
// collection has none. It fails if no collection of this name was joined.
func (m member) LookupIn(_ context.Context, collection string, ids []string) ([]storage.Found, error) {
	number := slices.Index(m.names, collection)
	if number < 0 {
		return nil, fmt.Errorf("collection %q is not among those that are searched: %q", collection, m.names)
	}
	found := make([]storage.Found, len(ids))
	for i, id := range ids {
		var err error
		found[i].Ordinal, found[i].There, err = m.generation.InMember(number, id)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// CollectionOf returns the name of the collection that a passage comes from.
func (m member) CollectionOf(ordinal rank.Ordinal) string {
	return m.names[m.generation.Member(ordinal)]
}
