package keeping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/documents"
)

const siteAddress = "https://docs.example.org/"

// page returns a page of the site with a content.
func page(path, text string) documents.FoundFile {
	at := siteAddress + path
	return documents.FoundFile{
		Path: documents.DocumentID(at), At: at, Source: at, Type: "text/html", Size: int64(len(text)),
		Data: func() ([]byte, error) { return []byte(text), nil },
	}
}

// TestSyncPages follows a site through changes of all kinds: the collection has what Find says, documents from
// elsewhere stay, and so do pages of which nothing is known, or of which most would go at once.
func TestSyncPages(t *testing.T) {
	s := newShelf(t, filepath.Join(t.TempDir(), "c"))
	foreign := DocumentFile{About: documents.About{ID: siteAddress + "taken"}, Data: []byte("Put by itself.")}
	if _, err := s.Put(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	var had, warned, failed []string
	var deleteAll bool
	sync := func(found FoundPages, err error) (SyncReport, error) {
		warned, failed = nil, nil
		got, err := SyncPages(t.Context(), s, PagesOptions{
			Site: siteAddress, Reader: reader(), DeleteAll: deleteAll, Tags: []string{"web"},
			Find: func(_ context.Context, has []string) (FoundPages, error) {
				had = has
				return found, err
			},
			Failed: func(id string, _ error) { failed = append(failed, strings.TrimPrefix(id, siteAddress)) },
			Warned: func(id, _ string) { warned = append(warned, strings.TrimPrefix(id, siteAddress)) },
		})
		got.Seq = 0
		return got, err
	}
	want := func(step string, found FoundPages, want SyncReport) {
		t.Helper()
		if got, err := sync(found, nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v, want %+v", step, got, err, want)
		}
	}
	long := siteAddress + strings.Repeat("long/", 150)
	mail := page("minutes.eml", fmt.Sprintf(mail, "Mail words.", "note.txt"))
	mail.Type = "message/rfc822"
	first := []documents.FoundFile{
		page("", "<p>The start."), page("a.html", "<p>First words."), page("b.org?x=.pdf", "<p>Second words."),
		page("taken", "<p>Not this."), page("empty", ""), mail, page(strings.TrimPrefix(long, siteAddress), "<p>Far below."),
	}
	want("first", FoundPages{Pages: first}, SyncReport{Added: 6, Failed: 1})
	if !slices.Equal(warned, []string{"taken"}) || !slices.Equal(failed, []string{"empty"}) || len(had) != 0 {
		t.Errorf("first: warned %q, failed %q, had %q", warned, failed, had)
	}
	texts := s.texts(t)
	if texts[siteAddress+"b.org?x=.pdf"] != "Second words." || texts[siteAddress+"taken"] != "Put by itself." ||
		texts[siteAddress+"minutes.eml/note.txt"] != "Attached words." {
		t.Errorf("texts: %q", slices.Sorted(maps.Keys(texts)))
	}

	all := func(except ...string) (ids []string) {
		for _, f := range first {
			if !slices.Contains(except, strings.TrimPrefix(f.At, siteAddress)) && f.At != siteAddress+"taken" &&
				f.At != siteAddress+"empty" {
				ids = append(ids, f.Path)
			}
		}
		return ids
	}
	want("unchanged", FoundPages{Unchanged: all()}, SyncReport{Unchanged: 5})
	if len(had) != 5 || !slices.Contains(had, long) {
		t.Errorf("had %q", had)
	}
	want("sent again", FoundPages{Pages: first}, SyncReport{Unchanged: 5, Failed: 1})
	want("one is kept, one changed, one gone, and what was attached", FoundPages{
		Unchanged: all("a.html", "b.org?x=.pdf", "minutes.eml", ""), Kept: []string{siteAddress},
		Pages: []documents.FoundFile{
			page("a.html", "<p>Other words."), page("minutes.eml", "<p>A page in its place."),
		},
	}, SyncReport{Replaced: 2, Unchanged: 1, Removed: 2})
	if got := s.texts(t); got[siteAddress+"a.html"] != "Other words." || got[siteAddress+"b.org?x=.pdf"] != "" ||
		got[siteAddress+"minutes.eml/note.txt"] != "" || got[siteAddress] != "The start." {
		t.Errorf("after the changes: %q", got)
	}
	down := errors.New("the site is down")
	if got, err := sync(FoundPages{}, down); !errors.Is(err, down) || got.Changed() {
		t.Errorf("a site that is down: %+v %v", got, err)
	}
	held := Held{Folder: siteAddress, Documents: 4, Of: 4}
	want("nothing is found", FoundPages{}, SyncReport{Held: []Held{held}})
	deleteAll = true
	want("and that is meant", FoundPages{}, SyncReport{Removed: 4})
	if got := s.texts(t); len(got) != 1 || got[siteAddress+"taken"] == "" {
		t.Errorf("in the end: %q", got)
	}
}
