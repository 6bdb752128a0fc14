package collection

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conclave/corpus"
)

// TestSnapshot copies a collection that is being changed; the copy has what was
// acknowledged, shares its files, and lives on by itself.
func TestSnapshot(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 4}
	o := BuildOptions{Experts: []PassageEncoder{a}}
	dir := built(t, o, randomPassages(1, 30))
	l := lively(t, osDisk{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new"}), Change{Delete: "p3"})
	aside := filepath.Join(filepath.Dir(dir), "aside")
	report, err := Snapshot(t.Context(), dir, aside)
	if err != nil || report.Pending != 2 || report.Passages != 30 {
		t.Fatalf("beside the server: %+v, %v", report, err)
	}
	out := filepath.Join(filepath.Dir(dir), "deep", "copy")
	report, err = l.Snapshot(t.Context(), out)
	if err != nil || report.Passages != 30 || report.Pending != 0 || report.Files == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	want := contents(t, opened(t, out))
	if _, ok := want["x"]; !ok || len(want) != 30 {
		t.Fatalf("%d passages in the copy", len(want))
	}
	if _, err := l.Snapshot(t.Context(), out); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Fatalf("over another: %v", err)
	}
	// Each goes its own way.
	apply(t, l, put(corpus.Passage{ID: "after", Text: "x"}))
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := lively(t, osDisk{}, out, LiveOptions{Build: o, FlushAfter: time.Hour})
	apply(t, copied, Change{Delete: "x"})
	if err := copied.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := opened(t, out); g.Len() != 29 {
		t.Fatalf("%d passages", g.Len())
	}
	for _, path := range []string{dir, out, aside} {
		if _, err := Verify(t.Context(), path, nil); err != nil {
			t.Fatal(err)
		}
	}
	if g := opened(t, dir); g.Len() != 31 {
		t.Fatalf("%d passages", g.Len())
	}
}
