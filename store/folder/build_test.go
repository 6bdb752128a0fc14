package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// tree lists the files of a folder with their content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || info.Name() == lockName {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sources(t testing.TB, contents ...string) *corpus.Series {
	t.Helper()
	dir := t.TempDir()
	var inputs []corpus.Input
	for i, content := range contents {
		path := filepath.Join(dir, fmt.Sprintf("file%d.jsonl", i+1))
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, corpus.Input{Path: path})
	}
	s, err := corpus.OpenSeries(inputs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestClashes: the error for an id that is taken names both places, and the
// collection stays as it was.
func TestClashes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	line := func(id string) string { return fmt.Sprintf("{\"id\":%q,\"text\":\"x\"}\n", id) }
	_, err := Build(
		t.Context(), dir, sources(t, line("a")+"\n"+line("b"), line("c")+line("d")+line("b")), store.BuildOptions{},
	)
	var clash *store.ClashError
	if !errors.As(err, &clash) || clash.ID != "b" || !strings.Contains(err.Error(), "file2.jsonl:3: ") ||
		!strings.Contains(err.Error(), "file1.jsonl:3 ") {
		t.Fatalf("a clash between files: %v", err)
	}
	if exists(dir) {
		t.Fatal("the failed build left a folder")
	}
	if _, err := Build(t.Context(), dir, sources(t, line("a")+line("b")), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	_, err = Add(t.Context(), dir, sources(t, line("c")+line("a")), store.BuildOptions{})
	if !errors.As(err, &clash) || clash.ID != "a" || !strings.Contains(err.Error(), "file1.jsonl:2: ") ||
		!strings.Contains(err.Error(), "seg-000001") {
		t.Fatalf("a clash with the collection: %v", err)
	}
	if after := tree(t, dir); !reflect.DeepEqual(before, after) {
		t.Fatal("the failed Add left something")
	}

	// With BadPassage the rest goes in.
	var told []string
	report, err := Add(
		t.Context(),
		dir,
		sources(t, line("c")+line("a")+"{\"id\":\"e\"}\n"+line("d")+line("d")),
		store.BuildOptions{BadPassage: func(err error) error {
			told = append(told, err.Error())
			return nil
		}},
	)
	if err != nil || report.Passages != 2 || report.Skipped != 3 || len(told) != 3 {
		t.Fatalf("%+v, %v, told %q", report, err, told)
	}
	g := opened(t, dir)
	if g.Len() != 4 || g.Number() != 2 {
		t.Fatalf("%d passages in generation %d", g.Len(), g.Number())
	}
	stop := errors.New("enough")
	if _, err := Add(t.Context(), dir, sources(t, line("a")),
		store.BuildOptions{BadPassage: func(error) error { return stop }}); !errors.Is(
		err,
		stop,
	) {
		t.Fatalf("BadPassage's error became %v", err)
	}
}

// TestRefusals has what Build and Add refuse, and that it leaves nothing.
func TestRefusals(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 4}
	other := &hashEncoder{name: "a", dimension: 4, version: 2}
	passages := randomPassages(1, 20)
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, passages)
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.doc"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"build over a collection":   {func() error { _, err := Build(t.Context(), dir, of(passages), store.BuildOptions{}); return err }, "holds a collection already (20 passages)"},
		"build in a foreign folder": {func() error { _, err := Build(t.Context(), foreign, of(passages), store.BuildOptions{}); return err }, "is not empty and holds no collection (it has thesis.doc)"},
		"nothing to build":          {func() error { _, err := Build(t.Context(), fresh, of(nil), store.BuildOptions{}); return err }, "there was no passage to index"},
		"an unknown index": {func() error {
			_, err := Build(t.Context(), fresh, of(passages), store.BuildOptions{Index: store.Index{Kind: "tree"}})
			return err
		}, `there is no index of kind "tree"`},
		"k1 below zero": {func() error {
			_, err := Build(t.Context(), fresh, of(passages), store.BuildOptions{Words: bm25.Params{K1: -1}})
			return err
		}, "k1 is -1"},
		"the expert bm25": {func() error {
			_, err := Build(t.Context(), fresh, of(passages),
				store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "bm25", dimension: 4}}})
			return err
		}, `cannot be called "bm25"`},
		"the expert phrases": {func() error {
			_, err := Build(t.Context(), fresh, of(passages),
				store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "phrases", dimension: 4}}})
			return err
		}, `cannot be called "phrases"`},
		"an expert with a path": {func() error {
			_, err := Build(t.Context(), fresh, of(passages),
				store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "../x", dimension: 4}}})
			return err
		}, `"../x" is no name for an expert`},
		"an expert twice": {func() error {
			_, err := Build(t.Context(), fresh, of(passages), store.BuildOptions{Experts: []store.PassageEncoder{a, other}})
			return err
		}, `expert "a" is named twice`},
		"add to nothing":          {func() error { _, err := Add(t.Context(), fresh, of(passages), store.BuildOptions{}); return err }, "holds no collection"},
		"add without the encoder": {func() error { _, err := Add(t.Context(), dir, of(passages), store.BuildOptions{}); return err }, `has vectors of expert "a", so its encoder is needed`},
		"add with another encoder": {func() error {
			_, err := Add(t.Context(), dir, of(passages), store.BuildOptions{Experts: []store.PassageEncoder{other}})
			return err
		}, "were made by the passage encoder hash-a-4-0 (4 numbers), and the one given is hash-a-4-2"},
		"add with one more": {func() error {
			_, err := Add(t.Context(), dir, of(passages), store.BuildOptions{Experts: []store.PassageEncoder{a,
				&hashEncoder{name: "b", dimension: 4}}})
			return err
		}, `has no vectors of expert "b" (it has: a)`},
		"add with another k1": {func() error {
			_, err := Add(t.Context(), dir, of(passages), store.BuildOptions{Experts: []store.PassageEncoder{a},
				Words: bm25.Params{K1: 2, B: 0.5}})
			return err
		}, "was built with k1 0.9 and b 0.4, not k1 2 and b 0.5"},
		"an encoder that fails": {func() error {
			_, err := Build(t.Context(), fresh, of(passages),
				store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 4,
					fail: func(int) error { return errTest }}}})
			return err
		}, `expert a: encoding passages "p0" to "p9": the test's error`},
		"a source that fails": {func() error {
			_, err := Build(t.Context(), fresh, &list{passages: passages, err: errTest},
				store.BuildOptions{BadPassage: func(error) error { return nil }})
			return err
		}, "the test's error"},
		"wrong vectors": {func() error {
			_, err := Build(t.Context(), fresh, of(passages),
				store.BuildOptions{Experts: []store.PassageEncoder{&liar{hashEncoder{name: "a", dimension: 4}}}})
			return err
		}, `the vector of passage "p0" has 3 numbers, and the expert's vectors have 4`},
		"an expert that is there": {func() error { _, err := AddExpert(t.Context(), dir, a, store.BuildOptions{}); return err }, `has vectors of expert "a" already`},
		"an expert that is not":   {func() error { return RemoveExpert(t.Context(), dir, "b") }, `has no vectors of expert "b"`},
		"read nothing":            {func() error { _, err := Open(fresh); return err }, "holds no collection (it has no file MANIFEST)"},
	} {
		before := tree(t, dir)
		err := c.call()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want … %s", name, err, c.want)
		}
		if exists(fresh) {
			t.Errorf("%s: left a folder", name)
			_ = os.RemoveAll(fresh)
		}
		if !reflect.DeepEqual(before, tree(t, dir)) {
			t.Errorf("%s: changed the collection", name)
		}
	}
	if got := tree(t, foreign); len(got) != 1 {
		t.Errorf("the foreign folder now has %d files", len(got))
	}
}

// liar says another dimension than its vectors have.
type liar struct{ hashEncoder }

func (l *liar) EncodePassages(ctx context.Context, p []corpus.Passage) ([][]float32, error) {
	out, err := l.hashEncoder.EncodePassages(ctx, p)
	for i := range out {
		out[i] = out[i][:3]
	}
	return out, err
}

// TestCancelled cancels builds in every stage: a new collection disappears, an
// existing one stays as it was.
func TestCancelled(t *testing.T) {
	e, late := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "late", dimension: 8}
	passages := randomPassages(2, 2500)
	first := randomPassages(3, 300)
	for i := range first {
		first[i].ID = "first/" + first[i].ID
	}
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{e}}, first)
	before := tree(t, dir)
	stages := []store.Stage{store.Reading, store.Words, store.Encoding, store.Graph, store.Measuring, store.Verifying}
	for _, stage := range stages {
		for name, call := range map[string]func(context.Context, string, store.BuildOptions) error{
			"Build": func(ctx context.Context, _ string, o store.BuildOptions) error {
				fresh := filepath.Join(t.TempDir(), "fresh")
				_, err := Build(ctx, fresh, of(passages), o)
				if exists(fresh) {
					t.Errorf("Build cancelled while %s left a folder", stage)
				}
				return err
			},
			"Add": func(ctx context.Context, dir string, o store.BuildOptions) error {
				_, err := Add(ctx, dir, of(passages), o)
				return err
			},
			"AddExpert": func(ctx context.Context, dir string, o store.BuildOptions) error {
				_, err := AddExpert(ctx, dir, late, o)
				return err
			},
			"RebuildWords": func(ctx context.Context, dir string, o store.BuildOptions) error {
				_, err := RebuildWords(ctx, dir, phrased(), o)
				return err
			},
		} {
			if name == "AddExpert" && (stage == store.Reading || stage == store.Words) {
				continue
			}
			if name == "RebuildWords" && stage != store.Words && stage != store.Verifying {
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			o := store.BuildOptions{Experts: []store.PassageEncoder{e}, BatchPassages: 100, Progress: func(p store.Progress) {
				if p.Stage == stage {
					cancel()
				}
			}}
			if err := call(ctx, dir, o); !errors.Is(err, context.Canceled) {
				t.Errorf("%s cancelled while %s: %v", name, stage, err)
			}
			if !reflect.DeepEqual(before, tree(t, dir)) {
				t.Fatalf("%s cancelled while %s changed the collection", name, stage)
			}
			cancel()
		}
	}
}

// TestProgress: every stage begins at 0 or more, never goes back, and ends at
// its total, in the order of the stages.
func TestProgress(t *testing.T) {
	a, b := &hashEncoder{name: "a", dimension: 8}, &hashEncoder{name: "b", dimension: 8}
	var stages []string
	var last store.Progress
	watch := func(p store.Progress) {
		if name := string(p.Stage) + " " + p.Expert; len(stages) == 0 || stages[len(stages)-1] != name {
			if last.Done != last.Total {
				t.Errorf("%s ended at %d of %d", last.Stage, last.Done, last.Total)
			}
			stages = append(stages, name)
		} else if p.Done < last.Done || p.Unit != last.Unit || p.Total != last.Total {
			t.Errorf("%+v follows %+v", p, last)
		}
		if p.Done > p.Total || p.Unit == "" {
			t.Errorf("%+v", p)
		}
		last = p
	}
	dir := filepath.Join(t.TempDir(), "index")
	report, err := Build(
		t.Context(),
		dir,
		of(randomPassages(1, 3000)),
		store.BuildOptions{Experts: []store.PassageEncoder{a, b}, Progress: watch},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"reading ",
		"words ",
		"encoding a",
		"graph a",
		"measuring a",
		"encoding b",
		"graph b",
		"measuring b",
		"verifying ",
	}
	if !slices.Equal(stages, want) || last.Done != last.Total {
		t.Errorf("stages %q, the last at %+v, want %q", stages, last, want)
	}
	if report.Generation != 1 || report.Segment != "seg-000001" || report.Passages != 3000 || report.Bytes < 1000 ||
		len(report.Recall) != 2 {
		t.Errorf("%+v", report)
	}
	if recall := report.Recall["a"].Stored; recall.At10 < 0.95 || recall.Queries != 200 {
		t.Errorf("recall %+v", recall)
	}
}

// TestSameInSameOut: the same passages in another order make the same files,
// and a build is repeatable.
func TestSameInSameOut(t *testing.T) {
	passages := randomPassages(4, 800)
	o := store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 8}}}
	first := tree(t, built(t, o, passages))
	second := tree(t, built(t, o, passages))
	for name, content := range first {
		if name != "/"+manifest.FileName && second[name] != content {
			t.Errorf("%s differs between two builds", name)
		}
	}
	if len(first) != len(second) || len(first) != 9 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
}
