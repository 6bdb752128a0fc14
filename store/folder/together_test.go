package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
)

// carryingEncoder makes the vectors of a dense encoder beside its own.
type carryingEncoder struct {
	wordEncoder
	dense         *hashEncoder
	passes, alone int // passages encoded for both, and for itself
	failAt        int // passages after which it fails; 0: never
}

func (e *carryingEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	e.alone += len(passages)
	return e.wordEncoder.EncodePassages(ctx, passages)
}

// both makes the vectors of both in one pass.
func (e *carryingEncoder) both() []store.SharedPass {
	return []store.SharedPass{
		{
			Late:  e,
			Dense: e.dense,
			Encode: func(ctx context.Context, passages []corpus.Passage) (late, dense [][]float32, err error) {
				e.passes += len(passages)
				if e.failAt > 0 && e.passes >= e.failAt {
					return nil, nil, errors.New("the model broke")
				}
				late, err = e.wordEncoder.EncodePassages(ctx, passages)
				if err != nil {
					return nil, nil, err
				}
				dense, err = e.dense.EncodePassages(ctx, passages)
				return late, dense, err
			},
		},
	}
}

func carrying() (*carryingEncoder, *hashEncoder) {
	dense := &hashEncoder{name: "base", dimension: 8}
	return &carryingEncoder{
		wordEncoder: wordEncoder{hashEncoder: hashEncoder{name: "tokens", dimension: 256}},
		dense:       dense,
	}, dense
}

// TestOnePassMakesBoth: the files of two experts that one pass serves are those
// that two passes make, whichever is named first, in a build and in a flush.
func TestOnePassMakesBoth(t *testing.T) {
	passages := randomPassages(70, 300)
	late, dense := carrying()
	apart := built(t, store.BuildOptions{Experts: []store.PassageEncoder{dense, &late.wordEncoder}}, passages)
	for name, experts := range map[string][]store.PassageEncoder{
		"dense first": {dense, late},
		"late first":  {late, dense},
	} {
		late.passes, late.alone = 0, 0
		dir := built(t, store.BuildOptions{Experts: experts, Shared: late.both(), BatchPassages: 64}, passages)
		if late.passes != len(passages) || late.alone != 0 {
			t.Errorf("%s: %d passages for both, %d for late alone", name, late.passes, late.alone)
		}
		for _, pattern := range []string{"base-*.vectors", "tokens-*.vectors", "base-*.hnsw"} {
			want, got := onlyFile(t, apart, pattern), onlyFile(t, dir, pattern)
			if want != got {
				t.Errorf("%s: %s is another file than two passes make", name, pattern)
			}
		}
		if _, err := Verify(t.Context(), dir, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	dir := built(t, store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{dense, late}}, passages[:200])
	l := lively(
		t,
		disk.OS{},
		dir,
		LiveOptions{
			Build: store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{dense, late}},
			Merge: MergePolicy{Off: true},
		},
	)
	late.passes, late.alone = 0, 0
	apply(t, l, put(passages[200]), put(passages[201]))
	if err := errors.Join(l.Flush(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	if late.passes != 2 || late.alone != 0 {
		t.Errorf("a flush of two passages: %d for both, %d for late alone", late.passes, late.alone)
	}
	lateScores(t, opened(t, dir), &late.wordEncoder, "word1 title2")

	// Where the other one is not asked for, its vectors are not made.
	late.passes, late.alone = 0, 0
	built(t, store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{late}}, passages[:9])
	if late.passes != 0 || late.alone != 9 {
		t.Errorf("by itself: %d for both, %d alone", late.passes, late.alone)
	}

	// Nor where the other one is of the same name alone.
	late.passes, late.alone = 0, 0
	other := &hashEncoder{name: dense.name, dimension: 6}
	built(t, store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{other, late}}, passages[:9])
	if late.passes != 0 || late.alone != 9 {
		t.Errorf("beside another of the name: %d for both, %d alone", late.passes, late.alone)
	}
}

// onlyFile returns the content of a collection's only file of a pattern.
func onlyFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "seg-*", pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestOnePassThatFails leaves nothing behind.
func TestOnePassThatFails(t *testing.T) {
	late, dense := carrying()
	passages := randomPassages(71, 100)
	dir := built(t, store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{dense, late}}, passages[:40])
	late.passes, late.failAt = 0, 30
	both := store.BuildOptions{Shared: late.both(), Experts: []store.PassageEncoder{dense, late}, BatchPassages: 20}
	if _, err := Add(t.Context(), dir, of(passages[40:]), both); err == nil {
		t.Fatal("no error")
	}
	entries, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		if filepath.Base(filepath.Dir(path)) != "seg-000001" && filepath.Base(filepath.Dir(path)) != "wal" {
			t.Errorf("%s was left", path)
		}
	}
	lateScores(t, opened(t, dir), &late.wordEncoder, "word1 title2")
}
