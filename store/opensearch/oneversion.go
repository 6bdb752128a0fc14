package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
)

// ofOneVersion empties, of passages that were read, those that are of another version of their
// document than its first passage, by their ids: the document is being replaced (Writer.ApplyTogether),
// or a crash has ended that. A caller takes them for deleted.
func (s *Store) ofOneVersion(ctx context.Context, ids []string, passages []corpus.Passage) ([]corpus.Passage, error) {
	versions := map[string]corpus.Document{} // by the ids of first passages
	var ask []string
	for i := range passages {
		d, number, ok := corpus.DocumentOf(&passages[i])
		if ok && number == 1 && !isStandIn(ids[i]) {
			versions[ids[i]] = versionOf(d)
		}
	}
	for i := range passages {
		d, _, ok := corpus.DocumentOf(&passages[i])
		if !ok {
			continue
		}
		first := s.alike(ids[i], corpus.PassageID(d.ID, 1))
		if _, known := versions[first]; !known && !slices.Contains(ask, first) {
			ask = append(ask, first)
		}
	}
	if len(ask) > 0 {
		there, err := s.stored(ctx, ask, fieldID, fieldMetadata)
		if err != nil {
			return nil, err
		}
		for i, has := range there {
			if !has.found {
				continue
			}
			versions[ask[i]], err = has.source.version(plainID(ask[i]))
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
		if now, there := versions[s.alike(ids[i], corpus.PassageID(d.ID, 1))]; !there || !sameVersion(now, versionOf(d)) {
			passages[i] = corpus.Passage{ID: passages[i].ID}
		}
	}
	return passages, nil
}

// version reads the document of a first passage.
func (s documentSource) version(id string) (corpus.Document, error) {
	p := corpus.Passage{ID: id}
	var metadata string
	if err := json.Unmarshal(s[fieldMetadata], &metadata); err != nil {
		return corpus.Document{}, fmt.Errorf("passage %q: field %s: %w", id, fieldMetadata, err)
	}
	if err := json.Unmarshal([]byte(metadata), &p.Metadata); err != nil {
		return corpus.Document{}, fmt.Errorf("passage %q: field %s: %w", id, fieldMetadata, err)
	}
	d, _, _ := corpus.DocumentOf(&p)
	return versionOf(d), nil
}

// versionOf returns what tells versions of a document apart. Tags and metadata may be
// changed of one passage by itself, and count by the revision that all passages got together.
func versionOf(d corpus.Document) corpus.Document {
	d.Tags, d.Metadata = nil, nil
	return d
}

func sameVersion(a, b corpus.Document) bool {
	return a.ID == b.ID && a.Title == b.Title && a.Source == b.Source && a.MediaType == b.MediaType &&
		a.SHA256 == b.SHA256 && a.Modified.Equal(b.Modified) && a.Passages == b.Passages && a.Root == b.Root &&
		a.Revision == b.Revision
}
