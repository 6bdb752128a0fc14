package folder

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// segmentNames returns the names of all segments, the oldest first.
func segmentNames(w *writer) (names []string) {
	for _, s := range w.snapshot().Segments {
		names = append(names, s.Name)
	}
	return names
}

// mergeAll makes one segment of all that a collection has.
func mergeAll(t testing.TB, dir string) {
	t.Helper()
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.merge(t.Context(), segmentNames(w), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMerge: a merge changes no answer, also when passages are deleted while it
// works, and leaves nothing of what it replaced.
func TestMerge(t *testing.T) {
	a := &hashEncoder{name: "base", dimension: 8}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}}
	passages := randomPassages(50, 300)
	live := keyed(passages)
	dir := built(t, o, split(51, passages, 4)...)
	remove := func(w *writer, ids ...string) {
		t.Helper()
		if _, err := w.delete(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			delete(live, id)
		}
	}
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	remove(w, "p1", "p2", "p3", "p4", "p5")
	meanwhile := false
	o.Progress = func(p store.Progress) {
		if p.Stage == store.Words && !meanwhile {
			meanwhile = true
			remove(w, "p10", "p11", "p12", "p13", "p14", "p15")
		}
	}
	segments := w.snapshot().Segments
	if _, err := w.merge(t.Context(), []string{segments[0].Name, segments[2].Name, segments[3].Name}, o); err != nil {
		t.Fatal(err)
	}
	g := opened(t, dir)
	if !meanwhile || g.Segments() != 2 {
		t.Fatalf("%d segments", g.Segments())
	}
	sameAnswers(t, "merged", g, a, live)
	if report, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatalf("%+v, %v", report, err)
	}
	for _, s := range []int{0, 2, 3} {
		if exists(filepath.Join(dir, segments[s].Name)) {
			t.Errorf("%s is still there", segments[s].Name)
		}
	}
	// With itself, to be rid of the deleted.
	for _, name := range segmentNames(w) {
		if _, err := w.merge(t.Context(), []string{name}, store.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	g = opened(t, dir)
	if g.total != len(live) || len(contents(t, g)) != len(live) {
		t.Errorf("%d passages are stored, %d are live", g.total, len(live))
	}
	sameAnswers(t, "merged each with itself", g, a, live)
	// Everything deleted while it is merged.
	meanwhile = false
	o.Progress = func(store.Progress) {
		if !meanwhile {
			meanwhile = true
			remove(w, slices.Collect(maps.Keys(live))...)
		}
	}
	if _, err := w.merge(t.Context(), segmentNames(w), o); err != nil {
		t.Fatal(err)
	}
	if g := opened(t, dir); g.Len() != 0 || g.Segments() != 0 {
		t.Errorf("%d passages in %d segments are left of nothing", g.Len(), g.Segments())
	}
	if _, err := w.merge(t.Context(), []string{"seg-000001"}, o); err == nil {
		t.Error("a segment that is not there was merged")
	}
}

// TestMergePolicy simulates growth: the number of segments stays within what
// the policy's comment says, and so does how often a passage is written.
func TestMergePolicy(t *testing.T) {
	p := MergePolicy{}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	var segments []manifest.Segment
	written, most := 0, 0
	const flushes, size = 2000, 500
	for i := range flushes {
		segments = append(segments, manifest.Segment{Name: fmt.Sprint(i), Passages: size})
		written += size
		for {
			names := p.choose(segments)
			if names == nil {
				break
			}
			merged := manifest.Segment{Name: fmt.Sprint(i, "m", written)}
			segments = slices.DeleteFunc(segments, func(s manifest.Segment) bool {
				if slices.Contains(names, s.Name) {
					merged.Passages += s.Passages - s.Deleted
					return true
				}
				return false
			})
			segments = append(segments, merged)
			written += merged.Passages
		}
		most = max(most, len(segments))
	}
	t.Logf(
		"%d passages in flushes of %d: at most %d segments, each passage written %.1f times",
		flushes*size,
		size,
		most,
		float64(written)/(flushes*size),
	)
	if most > 7*5 || written > 6*flushes*size {
		t.Errorf("%d segments, %d passages written for %d", most, written, flushes*size)
	}
	if names := p.choose([]manifest.Segment{{Name: "a", Passages: 10, Deleted: 2},
		{Name: "b", Passages: 10, Deleted: 4}}); !slices.Equal(
		names,
		[]string{"b"},
	) {
		t.Errorf("%q", names)
	}
	if names := (&MergePolicy{Off: true}).choose([]manifest.Segment{{Name: "b", Passages: 10, Deleted: 9}}); names != nil {
		t.Errorf("%q", names)
	}
}
