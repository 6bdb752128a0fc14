package folder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// partsSearched compares the searches of an expert of parts with all inner products, in
// double precision, of the texts that should be there: the greatest of a passage's parts
// is its score.
func partsSearched(
	t *testing.T,
	name string,
	g *Generation,
	expert string,
	e *hashEncoder,
	live map[string]corpus.Passage,
) {
	t.Helper()
	v, ok := g.Expert(expert)
	if !ok || !v.Parts() {
		t.Fatalf("%s: the collection has no parts of %s", name, expert)
	}
	for i, q := range questions(71, 8) {
		query := e.vector(q)
		best := map[string]float64{}
		spans := map[string]rank.Span{}
		for id, p := range live {
			texts, of, err := store.Cut(e, p)
			if err != nil {
				t.Fatal(err)
			}
			best[id] = math.Inf(-1)
			for j, part := range texts {
				if s := dot(query, e.vector(part.Title+" "+part.Text)); s > best[id]+1e-6 { // the first of equals
					spans[id] = of[j]
					best[id] = s
				}
			}
		}
		for _, f := range someFilters()[:5] {
			selection, err := g.Select(f.all, f.any)
			if err != nil {
				t.Fatal(err)
			}
			var want []float64
			for id, p := range live {
				if f.lets(p) {
					want = append(want, best[id])
				}
			}
			slices.Sort(want)
			slices.Reverse(want)
			k := []int{1, 7, 40, 1000}[i%4]
			for _, exact := range []bool{true, false} {
				hits, err := v.Among(selection).Search(t.Context(), query, k, exact)
				if err != nil || len(hits) != min(k, len(want)) {
					t.Fatalf("%s, %q, k %d, exact %v: %d hits of %d, %v", name, q, k, exact, len(hits), len(want), err)
				}
				scores, ordinals := make([]float32, len(hits)), make([]rank.Ordinal, len(hits))
				for j, h := range hits {
					ordinals[j] = h.Ordinal
				}
				v.Scores(query, ordinals, scores)
				for j, h := range hits {
					id := names(t, g, hits[j:j+1])[0].id
					if p, ok := live[id]; !ok || !f.lets(p) || math.Abs(float64(h.Score)-best[id]) > 1e-5 ||
						exact && math.Abs(best[id]-want[j]) > 1e-5 ||
						scores[j] != h.Score {
						t.Fatalf(
							"%s, %q, k %d, exact %v: hit %d is %s with %v, by Scores %v; it should have %v, and the hit %v",
							name,
							q,
							k,
							exact,
							j,
							id,
							h.Score,
							scores[j],
							best[id],
							want[j],
						)
					}
					if span, score, err := v.BestPart(query, h.Ordinal); err != nil || score != h.Score || span != spans[id] {
						t.Fatalf(
							"%s, %q: the best part of %s is %v with %v, %v; it should be %v with %v",
							name,
							q,
							id,
							span,
							score,
							err,
							spans[id],
							h.Score,
						)
					}
				}
			}
		}
	}
}

// TestParts changes a live collection at random, with an expert of parts beside one of
// whole passages and one that searches the parts of the other.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(72, 0))
	plain := &hashEncoder{name: "plain", dimension: 8}
	parts := &hashEncoder{name: "parts", dimension: 8, parted: true}
	borrower := &hashEncoder{name: "borrower", dimension: 8, owner: "parts"}
	o := store.BuildOptions{Experts: []store.PassageEncoder{borrower, parts, plain}, BatchPassages: 7}
	first := randomPassages(73, 150)
	live := keyed(first)
	dir := built(t, o, first[:100], first[100:])
	calls := parts.calls
	l := lively(t, disk.OS{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour, Merge: MergePolicy{Off: true}})
	check := func(name string) {
		t.Helper()
		g := l.Collection().Acquire()
		defer g.Release()
		partsSearched(t, name, g, "parts", parts, live)
		partsSearched(t, name+", borrowed", g, "borrower", parts, live)
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	check("built")
	for round := range 5 {
		var changes []store.Change
		for _, p := range randomPassages(uint64(74+round), 40) {
			p.ID = fmt.Sprintf("p%d", rng.IntN(220))
			if rng.IntN(3) == 0 {
				changes = append(changes, store.Change{Delete: p.ID})
				delete(live, p.ID)
			} else {
				changes = append(changes, put(p))
				live[p.ID] = p
			}
		}
		apply(t, l, changes...)
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("round %d", round))
		if round%2 == 1 {
			names := segmentNames(l.writer)
			if err := l.merge(t.Context(), names[:min(len(names), 2+rng.IntN(3))]); err != nil {
				t.Fatal(err)
			}
			check(fmt.Sprintf("round %d, merged", round))
		}
	}
	if parts.calls == calls || borrower.calls > 0 {
		t.Errorf("the owner encoded %d times, and the borrower %d", parts.calls-calls, borrower.calls)
	}
	out := filepath.Join(t.TempDir(), "copy")
	if _, err := l.Snapshot(t.Context(), out, NewID()); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), out, nil); err != nil {
		t.Fatal(err)
	}
	partsSearched(t, "snapshot", opened(t, out), "parts", parts, live)
	exportedParts(t, opened(t, out), parts, live)
}

// exportedParts compares exported vectors with those of the exported passages.
func exportedParts(t *testing.T, g *Generation, e *hashEncoder, live map[string]corpus.Passage) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "vectors")
	if err := g.ExportVectors(t.Context(), folder, g.selectAll()); err != nil {
		t.Fatal(err)
	}
	read := func(name string, columns int) []uint32 {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		head := 10 + int(binary.LittleEndian.Uint16(data[8:]))
		numbers := make([]uint32, len(data[head:])/4)
		for i := range numbers {
			numbers[i] = binary.LittleEndian.Uint32(data[head+4*i:])
		}
		if shape := fmt.Sprintf("'shape': (%d, %d)", len(numbers)/columns, columns); !bytes.Contains(
			data[:head], []byte(shape),
		) {
			t.Fatalf("%s has %d numbers and says %q", name, len(numbers), data[:head])
		}
		return numbers
	}
	ids := slices.Sorted(func(yield func(string) bool) {
		for id := range live {
			if !yield(id) {
				return
			}
		}
	})
	vectors, spans := read("parts.npy", e.dimension), read("parts.parts.npy", 3)
	if len(vectors)/e.dimension != len(spans)/3 {
		t.Fatalf("%d vectors of %d parts", len(vectors)/e.dimension, len(spans)/3)
	}
	lines := map[uint32]bool{}
	for i := range len(spans) / 3 {
		line, begin, end := spans[3*i], spans[3*i+1], spans[3*i+2]
		p := live[ids[line]]
		lines[line] = true
		for j, want := range e.vector(p.Title + " " + p.Text[begin:end]) {
			if got := math.Float32frombits(vectors[i*e.dimension+j]); got != want {
				t.Fatalf("row %d, of %s, has %v where its part has %v", i, p.ID, got, want)
			}
		}
	}
	if len(lines) != len(live) {
		t.Fatalf("parts of %d passages, there are %d", len(lines), len(live))
	}
	if _, err := os.Stat(filepath.Join(folder, "borrower.npy")); err == nil {
		t.Error("the borrower's vectors are there too")
	}
}

// TestOwner: experts that search another one's vectors come and go, and what cannot be is
// refused.
func TestOwner(t *testing.T) {
	owner, borrower := &hashEncoder{name: "base", dimension: 8}, &hashEncoder{name: "head", dimension: 8, owner: "base"}
	passages := randomPassages(75, 60)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{owner}}, passages)
	plain := tree(t, dir)
	report, err := AddExpert(t.Context(), dir, borrower, store.BuildOptions{Index: store.Index{Kind: "flat"}})
	if err != nil || report.Generation != 2 || report.Bytes != 0 || report.Recall["head"].Stored.At10 == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	for name := range tree(t, dir) {
		if _, found := plain[name]; !found {
			t.Errorf("the borrower has a file %s", name)
		}
	}
	g := opened(t, dir)
	files := g.Experts()
	if len(files) != 2 || files[1].Owner != "base" || files[1].Index != files[0].Index || files[1].Rows != 60 ||
		files[1].Passages != 60 {
		t.Fatalf("%+v", files)
	}
	a, _ := g.Expert("base")
	b, ok := g.Expert("head")
	query := owner.vector("word1 word3")
	want, _ := a.Search(t.Context(), query, 9, true)
	if got, err := b.Search(t.Context(), query, 9, true); !ok || err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, %v, want %v", got, err, want)
	}
	if _, _, err := b.BestPart(query, 0); err == nil {
		t.Error("the best part where there are none")
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "more", Text: "more"}}),
		store.BuildOptions{Experts: []store.PassageEncoder{owner, borrower}}); err != nil ||
		borrower.calls > 0 {
		t.Fatalf("%d calls, %v", borrower.calls, err)
	}
	if _, err := Add(t.Context(), dir, of([]corpus.Passage{{ID: "yet more", Text: "more"}}), store.BuildOptions{Experts: []store.PassageEncoder{owner, &hashEncoder{name: "head", dimension: 8, version: 0, parted: true}}}); !errors.Is(
		err, ErrOtherEncoder,
	) {
		t.Errorf("an encoder of parts for an expert without vectors: %v", err)
	}
	if err := RemoveExpert(t.Context(), dir, "base"); !errors.Is(err, ErrIsOwner) {
		t.Errorf("removing the owner: %v", err)
	}
	for name, x := range map[string]*hashEncoder{
		"of nobody":      {name: "x", dimension: 8, owner: "nobody"},
		"of a borrower":  {name: "x", dimension: 8, owner: "head"},
		"of other ones":  {name: "x", dimension: 8, owner: "base", version: 1},
		"of a dimension": {name: "x", dimension: 9, owner: "base"},
		"of itself":      {name: "x", dimension: 8, owner: "x"},
	} {
		if _, err := AddExpert(t.Context(), dir, x, store.BuildOptions{}); !errors.Is(err, ErrNoOwner) {
			t.Errorf("vectors %s: %v", name, err)
		}
		if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "new"), of(passages),
			store.BuildOptions{Experts: []store.PassageEncoder{x, borrower, owner}}); !errors.Is(
			err,
			ErrNoOwner,
		) {
			t.Errorf("building with vectors %s: %v", name, err)
		}
	}
	if _, err := AddExpert(t.Context(), dir, &hashEncoder{name: "x", dimension: 8, owner: "base", parted: true},
		store.BuildOptions{}); err == nil {
		t.Error("parts and another one's vectors at once")
	}
	if err := errors.Join(RemoveExpert(t.Context(), dir, "head"), RemoveExpert(t.Context(), dir, "base")); err != nil {
		t.Fatal(err)
	}
}

// crooked cuts passages where they cannot be cut.
type crooked struct {
	hashEncoder
	spans []rank.Span
}

func (c *crooked) Parts() func(string) []rank.Span {
	return func(string) []rank.Span { return c.spans }
}

func (c *crooked) EncodePassages(ctx context.Context, p []corpus.Passage) ([][]float32, error) {
	return c.hashEncoder.EncodePassages(ctx, p)
}

// TestPartsRefused: what is no part of a passage, named with the passage.
func TestPartsRefused(t *testing.T) {
	passages := []corpus.Passage{{ID: "umlaut", Text: "für"}}
	for _, spans := range [][]rank.Span{{{Begin: 0, End: 5}}, {{Begin: 2, End: 1}}, {{Begin: 0, End: 2}},
		{{Begin: 2, End: 4}}} {
		e := &crooked{hashEncoder{name: "a", dimension: 4}, spans}
		if _, err := Build(t.Context(), filepath.Join(t.TempDir(), "index"), of(passages),
			store.BuildOptions{Experts: []store.PassageEncoder{e}}); err == nil ||
			!strings.Contains(err.Error(), `"umlaut"`) {
			t.Errorf("%v: %v", spans, err)
		}
	}
	dir := built(
		t,
		store.BuildOptions{Experts: []store.PassageEncoder{&crooked{hashEncoder{name: "a", dimension: 4}, nil}}},
		passages,
	)
	v, _ := opened(t, dir).Expert("a")
	if spans, err := v.Spans(0); err != nil || !slices.Equal(spans, []rank.Span{{End: 4}}) {
		t.Errorf("a passage that was not cut has %v, %v", spans, err)
	}
}

// TestPlainManifests: the manifest of a collection without parts and owners has no word of
// them.
func TestPlainManifests(t *testing.T) {
	e := &hashEncoder{name: "a", dimension: 4}
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, randomPassages(76, 9))
	read := func() string {
		data, err := os.ReadFile(filepath.Join(dir, manifest.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if m := read(); !strings.HasPrefix(m, "conclave manifest 8 ") || strings.Contains(m, "parts") ||
		strings.Contains(m, "owner") {
		t.Errorf("%s", m)
	}
	if _, err := AddExpert(t.Context(), dir, &hashEncoder{name: "b", dimension: 4, parted: true},
		store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if m := read(); !strings.HasPrefix(m, "conclave manifest 8 ") || !strings.Contains(m, "parts") {
		t.Errorf("%s", m)
	}
	if err := RemoveExpert(t.Context(), dir, "b"); err != nil {
		t.Fatal(err)
	}
	if m := read(); strings.Contains(m, "parts") {
		t.Errorf("%s", m)
	}
	var _ ann.Index = (*ann.GroupedIndex)(nil)
}
