package opensearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/schema"
)

// windowing is a hashed encoder that reads 60 bytes of a passage at most, and of a longer one each line by itself. It
// leaves out passages in German.
type windowing struct{ hashed }

func (w windowing) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if corpus.LanguageOf(&p) == "de" {
		return []rank.Span{}, false
	}
	if len(p.Text) <= 60 || !strings.Contains(p.Text, "\n") {
		return nil, false
	}
	at := 0
	for line := range strings.Lines(p.Text) {
		windows = append(windows, rank.Span{Begin: uint32(at), End: uint32(at + len(line))})
		at += len(line)
	}
	return windows, false
}

// longPassages draws passages of which every third has five lines, each in three words of its own, and some are in
// German.
func longPassages(seed uint64, n int) (out []corpus.Passage) {
	random := rand.New(rand.NewPCG(seed, 6))
	for i := range n {
		var lines []string
		for range 1 + 4*(i%3/2) {
			lines = append(lines, fmt.Sprintf("w%d w%d common%d w%d", random.IntN(900), random.IntN(900), i%7, random.IntN(900)))
		}
		out = append(out, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: strings.Join(lines, "\n"),
			Tags: []string{fmt.Sprint("by", i%2)}})
		if i%3 < 2 && i%4 == 0 {
			out[i].Metadata = map[string]any{corpus.LanguageKey: "de"}
		}
	}
	return out
}

// TestWindowsAsEmbedded: of a passage that is longer than an encoder reads, an index finds and scores the words of any
// line as a folder does: by graph and exactly, with a filter and without, by the nodes and by vectors that were
// fetched, in the sample and as candidates; whether it was built, exported, written or got an expert more. An import
// makes the same folder of it.
func TestWindowsAsEmbedded(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	plain, late := windowing{hashed{name: "plain"}}, windowing{hashed{name: "tokens", late: true}}
	options := store.BuildOptions{Words: bm25.DefaultParams(), Index: store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{plain, late}}
	given := longPassages(4, 210)
	farCorpus, nearCorpus := built(t, "windows", given, 3, options)
	hasContent(t, client, "windows", given, options)
	compare := func(what string, farCorpus, nearCorpus storage.Corpus, name string, e store.PassageEncoder) {
		t.Helper()
		for i, filtered := range []bool{false, true, false, true} {
			far, near := farCorpus.Acquire(), nearCorpus.Acquire()
			fars, nears := storage.Indexes(far), storage.Indexes(near)
			if filtered {
				var err error
				fars, _, err = far.Among(t.Context(), storage.Filter{TagsAny: []string{"by1"}})
				if err != nil {
					t.Fatal(err)
				}
				nears, _, err = near.Among(t.Context(), storage.Filter{TagsAny: []string{"by1"}})
				if err != nil {
					t.Fatal(err)
				}
			}
			at := 3*(10*i+3) + 2 // a long one, by turns of each tag
			line := strings.Split(given[at].Text, "\n")[1+i]
			query, err := e.EncodePassages(context.Background(), []corpus.Passage{{Text: line}})
			if err != nil {
				t.Fatal(err)
			}
			a, _ := fars.Vectors(name)
			b, _ := nears.Vectors(name)
			for _, exact := range []bool{false, true} {
				got, err := a.Search(t.Context(), query[0], 20, exact)
				if err != nil {
					t.Fatal(err)
				}
				want, err := b.Search(t.Context(), query[0], 20, true)
				if err != nil {
					t.Fatal(err)
				}
				gotIDs, gotScores := byID(t, far, got)
				wantIDs, wantScores := byID(t, near, want)
				near1e6(t, what, gotScores, wantScores)
				if !slices.Equal(gotIDs, wantIDs) || !filtered && !slices.Contains(wantIDs, given[at].ID) {
					t.Errorf("%s, exact %t: %v, want %v, of the line of %s", what, exact, gotIDs, wantIDs, given[at].ID)
				}
			}
			ids := []string{"p000", "p001", "p002", "p004", "p101", "p200"}
			near1e6(t, what, scoresOf(t, far, a, query[0], ids), scoresOf(t, near, b, query[0], ids))
			member := slices.Clone(query[0]) // which nobody searched with
			if got, want := scoresOf(t, far, a, member, ids), scoresOf(t, near, b, member, ids); !slices.Equal(got, want) {
				t.Errorf("%s: a member scores %v, want %v", what, got, want)
			}
			far.Release()
			near.Release()
		}
	}
	compare("built", farCorpus, nearCorpus, "plain", plain)
	far, near := farCorpus.Acquire(), nearCorpus.Acquire()
	question, _ := late.EncodePassages(t.Context(), []corpus.Passage{{Text: "w1 w2 common3"}})
	got, want := scoresOfAll(t, far, question[0], given), scoresOfAll(t, near, question[0], given)
	if !slices.Equal(got, want) {
		t.Errorf("late interaction: %v, want %v", got, want)
	}

	// A folder is exported, with its windows.
	dir := t.TempDir() + "/exported"
	if _, err := folder.Build(t.Context(), dir, &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	before := opened(t, dir)
	stored, err := before.StoredEncoders()
	if err != nil {
		t.Fatal(err)
	}
	index := testIndex(t, client, "windows-exported")
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 2}, before.Source(),
		store.BuildOptions{Words: before.WordParams(), Experts: stored}, ""); err != nil {
		t.Fatal(err)
	}
	hasContent(t, client, index, given, options)

	// An expert is added, and a passage is written, by itself and as a document.
	second := windowing{hashed{name: "second"}}
	if _, err := AddExpert(t.Context(), client, index, second, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	options.Experts = append(options.Experts, second)
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(target, options.Experts, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := slices.Clone(given[:3])
	for i := range put {
		put[i].Text = strings.ReplaceAll(given[i+30].Text, "common", "other")
		if _, err := w.Apply(t.Context(), []store.Change{{Put: &put[i]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	hasContent(t, client, index, slices.Concat(put, given[3:]), options)
	if n, err := target.Statistics(t.Context()); err != nil || n.Passages != int64(len(given)) || n.Cut != 0 {
		t.Errorf("%+v, %v", n, err)
	}
}
