package bm25

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
)

// segmentBytes writes what a builder has.
func segmentBytes(t testing.TB, b *Builder) []byte {
	t.Helper()
	var out bytes.Buffer
	n, err := b.WriteTo(t.Context(), &out)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(out.Len()) {
		t.Fatalf("%d bytes were said to be written and %d were", n, out.Len())
	}
	return out.Bytes()
}

func addAll(t testing.TB, b *Builder, passages []goldenPassage) *Builder {
	t.Helper()
	for _, p := range passages {
		if err := b.Add(p.Title, p.Text); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestSpillsDoNotMatter: a builder with little memory writes the same bytes,
// and leaves nothing in the folder.
func TestSpillsDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 0))
	passages := randomPassages(rng, 5000, 2000)
	want := segmentBytes(t, addAll(t, NewBuilder(DefaultParams()), passages))
	folder := t.TempDir()
	b := NewBuilder(DefaultParams())
	b.SpillTo(disk.OS{}, folder, 200<<10)
	addAll(t, b, passages)
	if len(b.parts) < 2 {
		t.Fatalf("%d parts: the test is to spill more", len(b.parts))
	}
	if got := segmentBytes(t, b); !bytes.Equal(got, want) {
		t.Fatal("with parts on the disk the segment is another")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

// deleteSome deletes a third of the passages of segments, and all of the first
// one's beginning, so that terms vanish. It returns the others.
func deleteSome(rng *rand.Rand, segments []Segment, passages []goldenPassage) (kept []goldenPassage) {
	for s := range segments {
		segments[s].Deleted = make([]uint64, (segments[s].Index.Docs()+63)/64)
		for p := range segments[s].Index.Docs() {
			if rng.IntN(3) == 0 || s == 0 && p < 400 {
				segments[s].Deleted[p/64] |= 1 << (p % 64)
			} else {
				kept = append(kept, passages[int(segments[s].Base)+p])
			}
		}
	}
	return kept
}

// merge merges segments in their order, without the passages deleted from them.
func merge(ctx context.Context, path string, segments ...Segment) error {
	var order []SegmentPassage
	for i, g := range segments {
		dead := segment{Segment: g}
		for passage := range g.Index.passages {
			if !dead.isDeleted(passage) {
				order = append(order, SegmentPassage{Segment: i, Passage: passage})
			}
		}
	}
	return MergeOrdered(ctx, disk.OS{}, path, slices.Values(order), segments...)
}

// wantMerged merges segments into a file, and returns the bytes that it has to
// have: those that indexing the kept passages gives.
func wantMerged(t *testing.T, path string, segments []Segment, params Params, kept []goldenPassage) []byte {
	t.Helper()
	if err := merge(t.Context(), path, segments...); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := segmentBytes(t, addAll(t, NewBuilder(params), kept))
	if !bytes.Equal(got, want) {
		t.Fatalf("%+v: the merged segment is another than that of the remaining passages", params)
	}
	return want
}

// TestMerge: merging segments, without what was deleted from them, gives the
// bytes that indexing the rest gives.
func TestMerge(t *testing.T) {
	for i, params := range paramsToTry {
		rng := rand.New(rand.NewPCG(22, uint64(i)))
		passages := randomPassages(rng, 3000, 500)
		segments := divide(t, rng, params, passages, 4)
		kept := deleteSome(rng, segments, passages)
		wantMerged(t, filepath.Join(t.TempDir(), "merged"), segments, params, kept)
	}
	a := build(t, DefaultParams(), []goldenPassage{{Text: "windmill"}})
	b := build(t, Params{K1: 2}, []goldenPassage{{Text: "windmill"}})
	path := filepath.Join(t.TempDir(), "merged")
	if err := merge(t.Context(), path, Segment{Index: a}, Segment{Index: b}); err == nil {
		t.Error("segments with other parameters were merged")
	}
	if err := merge(t.Context(), path); err == nil {
		t.Error("nothing was merged")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := merge(ctx, path, Segment{Index: a}); !errors.Is(err, context.Canceled) {
		t.Errorf("a merge after its end: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed merge left a file: %v", err)
	}
}

// TestMergeOrdered: passages that are dealt out to segments and merged in another
// order, without some, give the bytes that indexing them in that order gives.
func TestMergeOrdered(t *testing.T) {
	for i, params := range slices.Concat(paramsToTry, withPhrases()[:3]) {
		rng := rand.New(rand.NewPCG(23, uint64(i)))
		passages := randomPassages(rng, 3000, 500)
		const parts = 5
		dealt := make([][]goldenPassage, parts)
		var order []SegmentPassage
		var kept []goldenPassage
		to := 0
		for _, p := range passages {
			if rng.IntN(1+i%3*20) == 0 { // runs of a segment, and none
				to = rng.IntN(parts - 1) // the last stays empty
			}
			if rng.IntN(5) > 0 {
				order = append(order, SegmentPassage{Segment: to, Passage: uint32(len(dealt[to]))})
				kept = append(kept, p)
			}
			dealt[to] = append(dealt[to], p)
		}
		var segments []Segment
		for _, part := range dealt {
			segments = append(segments, Segment{Index: build(t, params, part)})
		}
		path := filepath.Join(t.TempDir(), "merged")
		if err := MergeOrdered(t.Context(), disk.OS{}, path, slices.Values(order), segments...); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := segmentBytes(t, addAll(t, NewBuilder(params), kept)); !bytes.Equal(got, want) {
			t.Fatalf("%+v: the merged segment is another than that of the same passages", params)
		}
	}
	x := build(t, DefaultParams(), []goldenPassage{{Text: "windmill"}, {Text: "dog"}})
	for name, order := range map[string][]SegmentPassage{
		"twice":             {{0, 1}, {0, 1}},
		"out of order":      {{0, 1}, {0, 0}},
		"no such passage":   {{0, 2}},
		"no such segment":   {{1, 0}},
		"segment before it": {{-1, 0}},
	} {
		path := filepath.Join(t.TempDir(), "merged")
		if err := MergeOrdered(t.Context(), disk.OS{}, path, slices.Values(order), Segment{Index: x}); err == nil {
			t.Errorf("%s: merged", name)
		}
	}
}

// TestRepeatedTerms covers counts and lengths beyond the plain tables, gaps of
// every width and impacts that are not among the codes.
func TestRepeatedTerms(t *testing.T) {
	for _, params := range paramsToTry[:2] {
		b := NewBuilder(params)
		var passages []goldenPassage
		for i := range 700 {
			passages = append(
				passages,
				goldenPassage{Text: strings.Repeat("cat ", 1+i*i/150) + strings.Repeat("dog ", i) + strings.Repeat("x ", i%3*1200)},
			)
		}
		for i := range 70_000 {
			text := ""
			switch {
			case i%300 == 0:
				text = "dog every300"
			case i == 69_000:
				text = "late windmill"
			}
			passages = append(passages, goldenPassage{Text: text})
		}
		addAll(t, b, passages)
		x := write(t, b)
		if err := x.check(); err != nil {
			t.Fatal(err)
		}
		oracle := newNaive(params, passages)
		for _, question := range []string{"cat", "dog cat", "x", "every300 windmill", "cat cat cat dog late x"} {
			for _, k := range []int{1, 10, 2000} {
				hits, err := x.Search(t.Context(), question, k)
				if err != nil {
					t.Fatal(err)
				}
				oracle.checkHits(t, question, k, hits)
			}
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	for _, params := range []Params{{K1: -1, B: 0.4}, {K1: math.NaN()}, {K1: math.Inf(1)}, {K1: 1e7}, {K1: 1, B: 1.1},
		{K1: 1, B: -0.1}, {K1: 1, B: math.NaN()}} {
		b := NewBuilder(params)
		if err := b.Add("", "windmill"); err == nil {
			t.Errorf("%+v: Add accepts", params)
		}
		if _, err := b.WriteTo(t.Context(), &bytes.Buffer{}); err == nil {
			t.Errorf("%+v: WriteTo accepts", params)
		}
	}
	b := NewBuilder(DefaultParams())
	segmentBytes(t, b)
	if err := b.Add("", "late"); err == nil {
		t.Error("a builder that has written accepts a passage")
	}
	b = NewBuilder(DefaultParams())
	b.SpillTo(disk.OS{}, filepath.Join(t.TempDir(), "not there"), 1)
	if err := b.Add("", "windmill"); err == nil {
		t.Error("a folder to spill to that is not there was accepted")
	}
	b = NewBuilder(DefaultParams())
	b.Discard()
	if err := b.Add("", "late"); err == nil {
		t.Error("a discarded builder accepts a passage")
	}
}

// TestWriteFails: an error of the disk at any byte is reported, and no file is
// left that looks like an index.
func TestWriteFails(t *testing.T) {
	passages := []goldenPassage{{Text: "one windmill"}, {Text: "two dogs"}}
	whole := segmentBytes(t, addAll(t, NewBuilder(DefaultParams()), passages))
	for limit := range len(whole) {
		b := addAll(t, NewBuilder(DefaultParams()), passages)
		if _, err := b.WriteTo(t.Context(), &limitedWriter{limit}); !errors.Is(err, errFull) {
			t.Fatalf("a disk that is full after %d of %d bytes: %v", limit, len(whole), err)
		}
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "words")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := addAll(t, NewBuilder(DefaultParams()), passages).Write(disk.OS{}, path); err == nil {
		t.Error("a folder was replaced by an index")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := addAll(t, NewBuilder(DefaultParams()), passages).Write(disk.OS{},
		filepath.Join(folder, "not there", "words")); !errors.Is(
		err,
		os.ErrNotExist,
	) {
		t.Errorf("writing to a folder that is not there: %v", err)
	}
}

var errFull = errors.New("no space left")

type limitedWriter struct{ left int }

func (w *limitedWriter) Write(b []byte) (int, error) {
	if len(b) > w.left {
		return w.left, errFull
	}
	w.left -= len(b)
	return len(b), nil
}

// TestArena compares lists in an arena with slices.
func TestArena(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 0))
	var a arena
	for range 2 { // the second time with pages from before a reset
		lists := make([]arenaList, 50)
		want := make([][]byte, len(lists))
		for range 400_000 {
			i := min(rng.IntN(len(lists)), rng.IntN(len(lists)))
			c := byte(rng.Uint32())
			a.put(&lists[i], c)
			want[i] = append(want[i], c)
		}
		for i := range lists {
			if got := a.appendTo(nil, lists[i]); !bytes.Equal(got, want[i]) {
				t.Fatalf("list %d of %d bytes differs", i, len(want[i]))
			}
		}
		if got := a.appendTo([]byte("x"), arenaList{}); string(got) != "x" {
			t.Fatalf("an empty list gives %q", got)
		}
		a.reset()
	}
}

// TestCommonest checks the choice of impacts that get a code.
func TestCommonest(t *testing.T) {
	ranked := []countedImpact{{count: 5}, {count: 9}, {count: 1}, {count: 9}, {count: 5}}
	if got := commonest(ranked, 3); !slices.Equal(got, []uint32{0, 1, 3}) {
		t.Errorf("got %v", got)
	}
	if got := commonest(ranked, 9); len(got) != 5 {
		t.Errorf("got %v", got)
	}
}
