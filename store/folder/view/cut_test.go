package view

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestCutWhileServed: each kind of mapped file is really cut to its first page while
// it is served, after its checksums were compared. Reading it is a fault (SIGBUS),
// which is the end of a process that does not expect it. Here the source is out and
// named, the others answer as without it, and texts that are gone are an error;
// once the file is whole again, the answers are the first ones.
func TestCutWhileServed(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 0))
	vocabulary := make([]string, 2000)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf("word%d", i)
	}
	source := &list{}
	for i := range 6000 {
		var text []string
		for range 12 {
			text = append(text, vocabulary[min(random.IntN(2000), random.IntN(2000))])
		}
		source.passages = append(
			source.passages,
			corpus.Passage{
				ID:   fmt.Sprintf("p%04d", i),
				Text: strings.Join(text, " "),
				Tags: []string{fmt.Sprint("by", i%3)},
			},
		)
	}
	experts := []hashed{{name: "flat"}, {name: "tokens", late: true}}
	words := bm25.DefaultParams()
	dir := filepath.Join(t.TempDir(), "index")
	options := store.BuildOptions{
		Experts: []store.PassageEncoder{experts[0], experts[1]},
		Index:   store.Index{Kind: "flat"},
		Words:   words,
		Threads: 1,
	}
	if _, err := folder.Build(t.Context(), dir, source, options); err != nil {
		t.Fatal(err)
	}
	options.Index = store.Index{Kind: "hnsw"}
	if _, err := folder.AddExpert(t.Context(), dir, hashed{name: "graph"}, options); err != nil {
		t.Fatal(err)
	}
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	config := engineOf(c)
	config.Defaults.Gate = gateOf(random)
	config.Late = []learned.Expert{{
		Name:    "tokens",
		Encoder: experts[1],
		Info:    learned.ExpertInfo{Dimension: hashedDimension},
	}}
	for _, name := range []string{"flat", "graph"} {
		config.Experts = append(
			config.Experts,
			learned.Expert{
				Name:    name,
				Encoder: hashed{name: name},
				Info:    learned.ExpertInfo{Dimension: hashedDimension},
			},
		)
	}
	engine, err := search.NewEngine(config)
	if err != nil {
		t.Fatal(err)
	}
	request := search.Request{
		Question:   "word1 word2 word30 word400",
		Fusion:     search.Methods{Names: []string{fusion.MethodGate}},
		K:          5,
		Candidates: 10,
		TimeoutMS:  10_000,
	}
	narrow := request
	narrow.Filter = storage.Filter{TagsAll: []string{"by1"}}
	want := asked(t, engine, request)

	for _, file := range []struct {
		pattern, source string // "": all of the answer
		request         search.Request
	}{
		{"flat-*.vectors", "flat", request}, {"graph-*.vectors", "graph", request}, {"graph-*.hnsw", "graph", request},
		{"tokens-*.vectors", "tokens", request}, {"words*", reply.WordSource, request},
		{"passages", "", request}, {"tags", "", narrow},
	} {
		paths, err := filepath.Glob(filepath.Join(dir, "seg-*", file.pattern))
		if err != nil || len(paths) != 1 {
			t.Fatalf("%s: %v, %v", file.pattern, paths, err)
		}
		whole, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		size := min(4096, int64(len(whole)-1)/4096*4096)
		if err := os.Truncate(paths[0], size); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			response, err := engine.Search(t.Context(), search.Caller{}, file.request)
			switch {
			case file.source == "":
				if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.Unavailable ||
					!strings.Contains(err.Error(), "mapped into memory") {
					t.Errorf("%s was cut: %v", file.pattern, err)
				}
				_, _, err = engine.Passage(t.Context(), search.Caller{}, "p2999")
				if e, ok := errors.AsType[*fault.Error](err); file.pattern == "passages" &&
					(!ok || e.Kind != fault.Unavailable) {
					t.Errorf("%s was cut: a passage: %v", file.pattern, err)
				}
			case err != nil || len(response.Results) == 0:
				t.Errorf("%s was cut: %v", file.pattern, err)
			default:
				if !slices.ContainsFunc(
					response.Degraded, func(m reply.Missing) bool { return m.Source == file.source },
				) {
					t.Errorf("%s was cut: degraded are %+v", file.pattern, response.Degraded)
				}
			}
		}
		if _, err := folder.Verify(t.Context(), dir, nil); err == nil ||
			!strings.Contains(err.Error(), filepath.Base(paths[0])) {
			t.Errorf("%s was cut: verify says %v", file.pattern, err)
		}
		f, err := os.OpenFile(paths[0], os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(whole, 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := asked(t, engine, request); show(got) != show(want) {
			t.Errorf("%s is whole again: %s, before %s", file.pattern, show(got), show(want))
		}
	}
}
