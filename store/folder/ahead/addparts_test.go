package ahead

import (
	"path/filepath"
	"reflect"
	"testing"

	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// TestAddExpertOfParts: parts are encoded ahead, each once, and are found as in a
// collection that had the expert from the beginning. An expert that searches its vectors
// is added without encoding anything.
func TestAddExpertOfParts(t *testing.T) {
	all := numbered(300)
	cut := func(text string) []rank.Span {
		return []rank.Span{{End: 4}, {Begin: 4, End: uint32(len(text))}, {End: uint32(len(text))}}
	}
	l := live(t, all)
	e := &hashEncoder{name: "parts", parts: cut}
	o := store.BuildOptions{Index: store.Index{Kind: "flat"}}
	scratch := filepath.Join(t.TempDir(), "1.work")
	if _, err := AddExpert(t.Context(), l, e, scratch, o, func(store.Progress) {}); err != nil {
		t.Fatal(err)
	}
	if n := e.encoded.Load(); n != 3*300 {
		t.Errorf("%d texts were encoded", n)
	}
	head := &hashEncoder{name: "head", owner: "parts"}
	scratch = filepath.Join(t.TempDir(), "2.work")
	if _, err := AddExpert(t.Context(), l, head, scratch, o, func(store.Progress) {}); err != nil ||
		head.encoded.Load() != 0 {
		t.Fatalf("%d texts were encoded for nothing, %v", head.encoded.Load(), err)
	}
	put(t, l, numbered(310)[300:]...)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	query := []float32{1, -2, .5, .25}
	ids, scores := search(t, l, "head", query)
	beginning := live(t, numbered(310), &hashEncoder{name: "parts", parts: cut})
	if wantIDs, want := search(t, beginning, "parts", query); len(ids) != 310 || !reflect.DeepEqual(ids, wantIDs) ||
		!reflect.DeepEqual(scores, want) {
		t.Errorf("%d hits, and others than from the beginning", len(ids))
	}
}
