package keeping

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/documents"
)

// PagesOptions say which pages of a site SyncPages compares with a collection, and whom it tells of them.
type PagesOptions struct {
	Site   string               // the start address
	Reader *documents.Extractor // reads the pages
	AtOnce int                  // how many pages are put at a time; 0: one
	// Find goes through the site. had are the addresses of the pages that the collection has from it.
	Find func(ctx context.Context, had []string) (FoundPages, error)
	// DeleteAll deletes all documents whose pages are gone, however many.
	DeleteAll bool
	Tags      []string // of the documents
	// Failed, Warned and Progress are those of SyncOptions.
	Failed   func(path string, err error)
	Warned   func(path, warning string)
	Progress func(done, total int64)
}

// FoundPages are the pages of a site as it is now.
type FoundPages struct {
	Pages     []documents.FoundFile // whose content may be new; Path is the id of the document
	Unchanged []string              // ids of documents whose pages are as they were
	Kept      []string              // ids of documents that stay since nothing is known of their pages
}

// SyncPages makes a collection match the pages of a site: it puts new and changed pages, and deletes documents whose
// pages are gone. It returns what it did, also with an error.
//
//   - A page whose id another document has, from elsewhere, is not taken, and Warned is told.
//   - A page that cannot be read keeps its old document.
//   - If more than half of the documents would be deleted, they stay and SyncReport.Held says so, unless DeleteAll is
//     set: a site whose pages all lead to a page that asks for a password, or that is being rebuilt, looks like that.
//
// The error is about more than one page. If it is that of Find, nothing was changed.
func SyncPages(ctx context.Context, to Target, o PagesOptions) (SyncReport, error) {
	mark, err := documents.RootOf(o.Site)
	if err != nil {
		return SyncReport{}, err
	}
	s := &syncing{
		SyncOptions: SyncOptions{
			Reader: o.Reader, AtOnce: o.AtOnce, Failed: o.Failed, Warned: o.Warned, Progress: o.Progress,
		},
		to: to, tags: o.Tags, marks: map[string]string{mark: o.Site}, owned: map[string][]string{},
		had: map[string]*earlierDocument{}, keep: map[string]bool{},
	}
	if err := s.list(ctx); err != nil {
		return s.synced, err
	}
	found, err := o.Find(ctx, s.addressesOf(mark))
	if err != nil {
		return s.synced, err
	}
	for _, id := range slices.Concat(found.Unchanged, found.Kept) {
		s.keep[id] = true
	}
	s.synced.Unchanged += len(found.Unchanged)
	pages := s.ownPages(mark, found.Pages)
	gone := s.gonePages(mark, pages)
	if all := s.countOf(mark); 2*len(gone) > all && !o.DeleteAll {
		s.synced.Held = append(s.synced.Held, Held{Folder: o.Site, Documents: len(gone), Of: all})
		gone = nil
	}
	if err := s.takeFiles(ctx, pages); err != nil {
		return s.synced, err
	}
	for _, id := range slices.Concat(gone, s.goneParts(mark)) {
		r, err := to.Delete(ctx, id)
		if err != nil {
			return s.synced, fmt.Errorf("removing %s: %w", id, err)
		}
		s.synced.Seq = max(s.synced.Seq, r.Seq)
		s.synced.Removed++
	}
	return s.synced, nil
}

// pageOf returns the id of the document of the page that a document was read from: its own, or for what is attached to
// a mail, or is a part of a long text, that of the whole.
func (h *earlierDocument) pageOf(id string) string {
	if h.source == "" {
		return id
	}
	return documents.DocumentID(h.source)
}

// addressesOf returns the addresses of the pages that the collection has with a mark, in the order of their ids.
func (s *syncing) addressesOf(mark string) (out []string) {
	for _, id := range slices.Sorted(maps.Keys(s.had)) {
		if h := s.had[id]; h.mark == mark && h.pageOf(id) == id {
			out = append(out, cmp.Or(h.source, id))
		}
	}
	return out
}

// ownPages returns the pages without those whose ids other documents have, which it warns of, and adds up their sizes.
func (s *syncing) ownPages(mark string, found []documents.FoundFile) (pages []documents.FoundFile) {
	for _, f := range found {
		f.Mark = mark
		if h := s.had[f.Path]; h != nil && h.mark != mark {
			if s.Warned != nil {
				s.Warned(f.Path, "it is not taken: the collection has a document with this id from elsewhere")
			}
			continue
		}
		pages = append(pages, f)
		s.total += f.Size
	}
	return pages
}

// gonePages returns the ids of the documents with the mark whose pages are neither found nor kept.
func (s *syncing) gonePages(mark string, found []documents.FoundFile) (gone []string) {
	present := map[string]bool{}
	for _, f := range found {
		present[f.Path] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.had)) {
		h := s.had[id]
		if page := h.pageOf(id); h.mark == mark && !present[page] && !s.keep[page] {
			gone = append(gone, id)
		}
	}
	return gone
}

// goneParts returns the ids of documents that were attached to, or parts of, pages that were read and no longer have
// them.
func (s *syncing) goneParts(mark string) (gone []string) {
	for _, id := range slices.Sorted(maps.Keys(s.had)) {
		h := s.had[id]
		page := h.pageOf(id)
		if whole := s.had[page]; h.mark == mark && page != id && !h.seen && whole != nil && whole.seen && !s.keep[page] {
			gone = append(gone, id)
		}
	}
	return gone
}

// countOf returns how many documents with a mark the collection has.
func (s *syncing) countOf(mark string) (n int) {
	for _, h := range s.had {
		if h.mark == mark {
			n++
		}
	}
	return n
}
