package opensearch

import (
	"context"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store/opensearch/schema"
)

// ofOneVersion replaces those passages that are of another version of their document than its first passage by ones
// with an id alone, which callers take for deleted; ids are the passages' in the index. Such passages are there while
// a document is replaced (Writer.ApplyTogether), and after a crash in between. It changes passages and returns it. It
// fails if the first passages cannot be read.
func (s *Store) ofOneVersion(ctx context.Context, ids []string, passages []corpus.Passage) ([]corpus.Passage, error) {
	versions := map[string]corpus.Document{} // by the ids of first passages
	var ask []string
	for i := range passages {
		d, number, ok := corpus.DocumentOf(&passages[i])
		if ok && number == 1 && !isStandIn(ids[i]) {
			versions[ids[i]] = schema.VersionOf(d)
		}
	}
	for i := range passages {
		d, _, ok := corpus.DocumentOf(&passages[i])
		if !ok {
			continue
		}
		first := s.memberIDLike(ids[i], corpus.PassageID(d.ID, 1))
		if _, known := versions[first]; !known && !slices.Contains(ask, first) {
			ask = append(ask, first)
		}
	}
	if len(ask) > 0 {
		there, err := s.readStored(ctx, ask, schema.FieldID, schema.FieldMetadata)
		if err != nil {
			return nil, err
		}
		for i, has := range there {
			if !has.Found {
				continue
			}
			versions[ask[i]], err = has.Source.DocumentVersion(plainID(ask[i]))
			if err != nil {
				return nil, err
			}
		}
	}
	for i := range passages {
		d, _, ok := corpus.DocumentOf(&passages[i])
		if !ok {
			continue
		}
		now, there := versions[s.memberIDLike(ids[i], corpus.PassageID(d.ID, 1))]
		if !there || !sameVersion(now, schema.VersionOf(d)) {
			passages[i] = corpus.Passage{ID: passages[i].ID}
		}
	}
	return passages, nil
}

// sameVersion reports whether two results of schema.VersionOf are of one version of a document.
func sameVersion(a, b corpus.Document) bool {
	return a.ID == b.ID && a.Title == b.Title && a.Source == b.Source && a.MediaType == b.MediaType &&
		a.SHA256 == b.SHA256 && a.Modified.Equal(b.Modified) && a.Passages == b.Passages && a.Root == b.Root &&
		a.Revision == b.Revision
}
