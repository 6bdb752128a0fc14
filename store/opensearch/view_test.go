package opensearch

import (
	"context"
	"fmt"
	"math"
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
	embedded "example.org/conclave/store/folder/view"
	"example.org/conclave/store/opensearch/schema"
)

// both returns the same passages in a cluster and embedded.
func both(t *testing.T, name string, given []corpus.Passage, experts ...hashed) (far, near storage.Corpus) {
	t.Helper()
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true}, Index: store.Index{Kind: "flat"}}
	for _, x := range experts {
		options.Experts = append(options.Experts, x)
	}
	return built(t, name, given, 3, options)
}

// built returns both with these shards and options.
func built(
	t *testing.T,
	name string,
	given []corpus.Passage,
	shards int,
	options store.BuildOptions,
) (far, near storage.Corpus) {
	t.Helper()
	client := testClient(t)
	dir := t.TempDir() + "/embedded"
	if _, err := folder.Build(t.Context(), dir, &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	index := testIndex(t, client, name)
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: shards}, &list{passages: given}, options,
		""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := shown.ReadSample(t.Context()); err != nil {
		t.Fatal(err)
	}
	return shown, embedded.Of(collectionIn(t, dir))
}

func collectionIn(t *testing.T, dir string) *folder.Collection {
	t.Helper()
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// tagged draws passages whose words follow Zipf's law.
func tagged(seed uint64, n int) (out []corpus.Passage) {
	random := rand.New(rand.NewPCG(seed, 5))
	zipf := rand.NewZipf(random, 1.1, 2, 3000)
	for i := range n {
		var text []string
		for range 5 + random.IntN(60) {
			text = append(text, fmt.Sprintf("w%d", zipf.Uint64()))
		}
		p := corpus.Passage{
			ID:   fmt.Sprintf("p%04d", i*7919%n),
			Text: strings.Join(text, " "),
			Tags: []string{fmt.Sprint("by", i%3)},
		}
		if i%4 == 0 {
			p.Title = fmt.Sprintf("w%d w%d", zipf.Uint64(), zipf.Uint64())
		}
		out = append(out, p)
	}
	return out
}

// byID returns hits with ids in the place of ordinals.
func byID(t *testing.T, v storage.View, hits []rank.Hit) (out []string, scores []float32) {
	t.Helper()
	var ordinals []rank.Ordinal
	for _, h := range hits {
		ordinals, scores = append(ordinals, h.Ordinal), append(scores, h.Score)
	}
	read, err := v.Passages().Read(t.Context(), ordinals)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range read {
		out = append(out, p.ID)
		if n, err := v.Passages().Size(ordinals[i]); err != nil || n < 1 {
			t.Fatalf("passage %q has %d bytes, %v", p.ID, n, err)
		}
	}
	return out, scores
}

// settled puts equal scores in the order of their ids, without those of the last score:
// of these, each index returns others.
func settled(t *testing.T, v storage.View, hits []rank.Hit) []rank.Hit {
	t.Helper()
	if n := len(hits); n > 0 {
		last := hits[n-1].Score
		hits = slices.DeleteFunc(hits, func(h rank.Hit) bool { return h.Score == last })
	}
	for i := 0; i < len(hits); {
		j := i + 1
		for j < len(hits) && hits[j].Score == hits[i].Score {
			j++
		}
		tied := make([]rank.Ordinal, j-i)
		for n := range tied {
			tied[n] = hits[i+n].Ordinal
		}
		if err := v.Passages().SortByID(tied); err != nil {
			t.Fatal(err)
		}
		for n := range tied {
			hits[i+n].Ordinal = tied[n]
		}
		i = j
	}
	return hits
}

// TestIndexesAreEqual: what the cluster scores is what the embedded collection scores:
// words, phrases and late interaction to the last bit, inner products nearly so; with and
// without a filter.
func TestIndexesAreEqual(t *testing.T) {
	t.Parallel()
	experts := []hashed{{name: "plain"}, {name: "tokens", late: true}, {name: "head", owner: "plain"}}
	const n = 1500
	farCorpus, nearCorpus := both(t, "view-equal", tagged(3, n), experts...)
	random := rand.New(rand.NewPCG(9, 9))
	zipf := rand.NewZipf(random, 1.1, 2, 3000)
	for round := range 12 {
		far, near := farCorpus.Acquire(), nearCorpus.Acquire()
		fars, nears := storage.Indexes(far), storage.Indexes(near)
		if round%2 == 1 {
			f := storage.Filter{TagsAny: []string{"by0", "by2"}}
			var counts [2]func(context.Context) (int, error)
			var err error
			fars, counts[0], err = far.Among(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			nears, counts[1], err = near.Among(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			a, err := counts[0](t.Context())
			b, again := counts[1](t.Context())
			if err != nil || again != nil || a != b {
				t.Fatalf("%d passages, and %d: %v, %v", a, b, err, again)
			}
		}
		question := fmt.Sprintf("w%d w%d w%d w%d w1 w1", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64())
		for field, pair := range map[string][2]storage.WordIndex{"words": {fars.Words(), nears.Words()},
			"phrases": {fars.Phrases(), nears.Phrases()}} {
			got, err := pair[0].Search(t.Context(), question, 50)
			if err != nil {
				t.Fatal(err)
			}
			want, err := pair[1].Search(t.Context(), question, 50)
			if err != nil {
				t.Fatal(err)
			}
			gotIDs, gotScores := byID(t, far, settled(t, far, got))
			wantIDs, wantScores := byID(t, near, settled(t, near, want))
			if !slices.Equal(gotIDs, wantIDs) || !slices.Equal(gotScores, wantScores) {
				t.Fatalf("%s of %q:\n%v %v, want\n%v %v", field, question, gotIDs, gotScores, wantIDs, wantScores)
			}
			for _, id := range wantIDs[:min(2, len(wantIDs))] {
				got, want := explained(t, far, pair[0], question, id), explained(t, near, pair[1], question, id)
				if !slices.Equal(got, want) {
					t.Errorf("%s of %q in %s:\n%+v, want\n%+v", field, question, id, got, want)
				}
			}
			if field == "words" {
				got, want := nearScores(t, far, pair[0], question, wantIDs), nearScores(t, near, pair[1], question, wantIDs)
				if !slices.Equal(got, want) || slices.Max(want) == 0 {
					t.Errorf("nearness of %q:\n%v, want\n%v", question, got, want)
				}
			}
			a, err := pair[0].UpperBound(t.Context(), question)
			b, again := pair[1].UpperBound(t.Context(), question)
			if err != nil || again != nil || math.Abs(a-b) > 1e-9 {
				t.Errorf("%s: the upper bound is %v, want %v: %v, %v", field, a, b, err, again)
			}
		}
		query, err := experts[0].EncodePassages(t.Context(), []corpus.Passage{{Text: question}})
		if err != nil {
			t.Fatal(err)
		}
		list, err := experts[1].EncodePassages(t.Context(), []corpus.Passage{{Text: question}})
		if err != nil {
			t.Fatal(err)
		}
		for _, expert := range []string{"plain", "head"} {
			a, _ := fars.Vectors(expert)
			b, _ := nears.Vectors(expert)
			got, err := a.Search(t.Context(), query[0], 20, true)
			if err != nil {
				t.Fatal(err)
			}
			want, err := b.Search(t.Context(), query[0], 20, true)
			if err != nil {
				t.Fatal(err)
			}
			_, gotScores := byID(t, far, got)
			_, wantScores := byID(t, near, want)
			near1e6(t, expert, gotScores, wantScores)
			graph, err := a.Search(t.Context(), query[0], 20, false)
			if err != nil || len(graph) != 20 {
				t.Fatalf("%v, %v", graph, err)
			}
			// Of passages that others found, and by vectors that nobody searched with, such as
			// those of an ensemble's members: these to the last bit, since MUF magnifies differences.
			ids := []string{"p0003", "p0077", "p1204"}
			near1e6(t, expert, scoresOf(t, far, a, query[0], ids), scoresOf(t, near, b, query[0], ids))
			member := slices.Clone(query[0])
			if got, want := scoresOf(t, far, a, member, ids), scoresOf(t, near, b, member, ids); !slices.Equal(got, want) {
				t.Fatalf("%s: a member scores %v, want %v", expert, got, want)
			}
		}
		a, _ := fars.Vectors("tokens")
		b, _ := nears.Vectors("tokens")
		ids := []string{"p0003", "p0077", "p1204", "p0500"}
		if got, want := scoresOf(t, far, a, list[0], ids), scoresOf(t, near, b, list[0], ids); !slices.Equal(got, want) {
			t.Fatalf("late interaction: %v, want %v", got, want)
		}
		if sample := far.Passages().Sample(128); len(sample) != 128 {
			t.Fatalf("the sample has %d passages", len(sample))
		}
		far.Release()
		near.Release()
	}
}

// explained returns the terms of a score, in the order of their texts.
func explained(t *testing.T, v storage.View, x storage.WordIndex, question, id string) []storage.TermScore {
	t.Helper()
	o, ok, err := v.Passages().Ordinal(t.Context(), id)
	if err != nil || !ok {
		t.Fatalf("passage %s: %t, %v", id, ok, err)
	}
	terms, err := x.Explain(t.Context(), question, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(terms, func(a, b storage.TermScore) int { return strings.Compare(a.Term, b.Term) })
	return terms
}

// nearScores returns the scores of nearness of passages, half of them prefetched, after comparing each with the terms
// that explain it.
func nearScores(t *testing.T, v storage.View, x storage.WordIndex, question string, ids []string) []float32 {
	t.Helper()
	var ordinals []rank.Ordinal
	for _, id := range ids {
		o, ok, err := v.Passages().Ordinal(t.Context(), id)
		if err != nil || !ok {
			t.Fatalf("passage %s: %t, %v", id, ok, err)
		}
		ordinals = append(ordinals, o)
	}
	index := x.(storage.NearScorer)
	index.ExpectNear(question)
	if gone, err := v.Prefetch(t.Context(), ordinals[len(ordinals)/2:]); err != nil || len(gone) > 0 {
		t.Fatalf("%v, %v", gone, err)
	}
	out := make([]float32, len(ordinals))
	if err := index.NearScores(t.Context(), question, ordinals, out); err != nil {
		t.Fatal(err)
	}
	for i, o := range ordinals {
		terms, err := index.ExplainNear(t.Context(), question, o)
		sum := 0.0
		for _, term := range terms {
			sum += term.Score
		}
		if err != nil || float32(sum) != out[i] {
			t.Errorf("%q: %s is explained by %+v, %v, and scores %v", question, ids[i], terms, err, out[i])
		}
	}
	return out
}

func near1e6(t *testing.T, of string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %v, want %v", of, got, want)
	}
	for i := range want {
		most := 1e-6 * max(1, min(math.Abs(float64(want[i])), math.MaxFloat32))
		if got[i] != want[i] && !(math.Abs(float64(got[i]-want[i])) <= most) {
			t.Fatalf("%s: %v, want %v", of, got, want)
		}
	}
}

func scoresOf(t *testing.T, v storage.View, x storage.VectorIndex, query []float32, ids []string) []float32 {
	t.Helper()
	var ordinals []rank.Ordinal
	for _, id := range ids {
		o, ok, err := v.Passages().Ordinal(context.Background(), id)
		if err != nil || !ok {
			t.Fatalf("passage %s: %t, %v", id, ok, err)
		}
		ordinals = append(ordinals, o)
	}
	out := make([]float32, len(ids))
	if err := x.Scores(t.Context(), query, ordinals, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDeletedCount: passages that were deleted count in the statistics of words until they are
// merged away. With one of twenty deleted a score differs by a few hundredths from that of the
// others alone, and by nothing afterwards.
func TestDeletedCount(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true}}
	const n = 1500
	var left []corpus.Passage
	var changes []store.Change
	all := tagged(8, n)
	for i, p := range all {
		if i%20 == 7 {
			changes = append(changes, store.Change{Delete: p.ID})
		} else {
			left = append(left, p)
		}
	}
	index := testIndex(t, client, "deleted-count")
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3, Replicas: 1}, &list{passages: all}, options,
		""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := NewWriter(target, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	far, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/embedded"
	if _, err := folder.Build(t.Context(), dir, &list{passages: left}, options); err != nil {
		t.Fatal(err)
	}
	near := embedded.Of(collectionIn(t, dir))
	apart := func() (most float64) {
		t.Helper()
		random := rand.New(rand.NewPCG(4, 9))
		zipf := rand.NewZipf(random, 1.1, 2, 3000)
		for range 12 {
			question := fmt.Sprintf("w%d w%d w%d w%d", zipf.Uint64(), zipf.Uint64(), zipf.Uint64(), zipf.Uint64())
			a, b := far.Acquire(), near.Acquire()
			got, err := a.Words().Search(t.Context(), question, n)
			want, again := b.Words().Search(t.Context(), question, n)
			if err != nil || again != nil || len(got) != len(want) || len(want) == 0 {
				t.Fatalf("%q: %d hits, and %d: %v, %v", question, len(got), len(want), err, again)
			}
			scores := map[string]float32{}
			ids, of := byID(t, b, want)
			for i, id := range ids {
				scores[id] = of[i]
			}
			ids, of = byID(t, a, got)
			for i, id := range ids {
				most = max(most, math.Abs(float64(of[i]-scores[id]))/float64(scores[id]))
			}
			a.Release()
			b.Release()
		}
		return most
	}
	if most := apart(); most == 0 || most > .05 {
		t.Errorf("with one of twenty deleted, scores differ by %.2f %%", 100*most)
	} else {
		t.Logf("scores differ by up to %.2f %%", 100*most)
	}
	if err := target.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := target.Statistics(t.Context()); err != nil || s.Deleted != 0 || s.inCopies != 0 ||
		s.Passages != int64(len(left)) {
		t.Errorf("after settling: %+v, %v", s, err)
	}
	if most := apart(); most != 0 {
		t.Errorf("after settling, scores differ by %.2g %%", 100*most)
	}
}
