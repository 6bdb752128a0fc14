package folder

import (
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// readingEncoder is an encoder that reads so many bytes of a text, and no Thai.
type readingEncoder struct {
	hashEncoder
	most int
}

func (e *readingEncoder) Reads(p corpus.Passage) (cut, unread bool) {
	return len(p.Text) > e.most, strings.Contains(p.Text, "ไทย")
}

// TestReads: how many passages are read in part and hardly is counted over segments, after
// deletions, replacements and merges, and when an expert is added to passages of words
// alone.
func TestReads(t *testing.T) {
	text := func(id, text string) corpus.Passage { return corpus.Passage{ID: id, Text: text} }
	long := strings.Repeat("long ", 20)
	one := []corpus.Passage{text("a", "short"), text("b", long), text("c", "ไทย"), text("d", long+"ไทย")}
	two := []corpus.Passage{text("e", "short too"), text("f", long)}
	encoder := &readingEncoder{hashEncoder{name: "base", dimension: 8}, 50}
	o := store.BuildOptions{Experts: []store.PassageEncoder{encoder}}
	dir := built(t, o, one, two)
	want := func(when string, want store.Reads) {
		t.Helper()
		if got := opened(t, dir).Reads(); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	want("two segments", store.Reads{Known: 6, Cut: 3, Unread: 2})
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.delete(t.Context(), []string{"d", "e"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want("two are deleted", store.Reads{Known: 4, Cut: 2, Unread: 1})
	mergeAll(t, dir)
	want("merged", store.Reads{Known: 4, Cut: 2, Unread: 1})
	o.Replace = true
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{text("b", "short now"), text("c", "ไทย again")}),
		o); err != nil {
		t.Fatal(err)
	}
	want("replaced", store.Reads{Known: 4, Cut: 1, Unread: 1})

	dir = built(t, store.BuildOptions{}, one, two)
	want("words alone", store.Reads{})
	if _, err := AddExpert(t.Context(), dir, encoder, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	want("an expert is added", store.Reads{Known: 6, Cut: 3, Unread: 2})
}

// TestReadsOfMergedSegments: of a segment whose encoder does not say how it reads nothing is known, and
// a merge keeps what is known of the others, also a second time.
func TestReadsOfMergedSegments(t *testing.T) {
	text := func(id, text string) corpus.Passage { return corpus.Passage{ID: id, Text: text} }
	long := strings.Repeat("long ", 20)
	o := store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "base", dimension: 8}}}
	dir := built(t, o, []corpus.Passage{text("a", long), text("b", "ไทย")})
	o.Experts = []store.PassageEncoder{&readingEncoder{hashEncoder{name: "base", dimension: 8}, 50}}
	add := func(passages ...corpus.Passage) {
		t.Helper()
		if _, err := Add(t.Context(), dir, of(passages), o); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, want store.Reads) {
		t.Helper()
		if got := opened(t, dir).Reads(); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	add(text("c", long), text("d", "ไทย"), text("e", "short"))
	want("before", store.Reads{Known: 3, Cut: 1, Unread: 1, Unknown: 2})
	mergeAll(t, dir)
	want("merged", store.Reads{Known: 3, Cut: 1, Unread: 1, Unknown: 2})
	add(text("f", long))
	mergeAll(t, dir)
	want("merged again", store.Reads{Known: 4, Cut: 2, Unread: 1, Unknown: 2})
	o.Replace = true
	add(text("a", "short"))
	want("replaced", store.Reads{Known: 5, Cut: 2, Unread: 1, Unknown: 1})
}
