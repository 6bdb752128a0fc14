package corpus

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// TestTagsOfAPassage: the tags alone are those that the whole passage has.
func TestTagsOfAPassage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passages")
	w, err := CreateStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	many := strings.Fields(strings.Repeat("tag ", MaxTags))
	for _, p := range []Passage{
		{ID: "a", Text: "none"}, {ID: "b", Title: "Two", Text: "two", Tags: []string{"x", "ü ü"}, Metadata: map[string]any{"year": 1999}}, {ID: "c", Text: "many", Tags: many},
	} {
		if err := w.Append(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for o := range rank.Ordinal(s.Len()) {
		p, err := s.Passage(o)
		if err != nil {
			t.Fatal(err)
		}
		if tags, err := s.Tags(o); err != nil || !reflect.DeepEqual(tags, p.Tags) {
			t.Errorf("passage %s has the tags %q, %v, want %q", p.ID, tags, err, p.Tags)
		}
	}
	if _, err := s.Tags(3); err == nil {
		t.Error("a passage that is not there has tags")
	}
}
