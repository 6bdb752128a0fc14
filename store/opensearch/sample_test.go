package opensearch

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/schema"
)

// lowestKeys returns the ids of the sample, as it has to be drawn of passages.
func lowestKeys(of map[string]corpus.Passage) []string {
	var ids []string
	for id := range of {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(corpus.SampleKey(a), corpus.SampleKey(b)), cmp.Compare(a, b))
	})
	return ids[:min(sampled, len(ids))]
}

// sampleOf returns the ids of a view's sample, whose vectors and codes have to be those of
// the passages.
func sampleOf(t *testing.T, c *Corpus, of map[string]corpus.Passage) []string {
	t.Helper()
	v := c.Acquire()
	defer v.Release()
	sample := v.Passages().Sample(sampled)
	read, err := v.Passages().Read(t.Context(), sample)
	if err != nil {
		t.Fatal(err)
	}
	query := []float32{1, 0, -1, .5, 0, 0, 2, 1}
	ids := make([]string, len(read))
	for expert, encoder := range map[string]hashed{"base": {name: "base"}, "tokens": {name: "tokens", late: true}} {
		index, _ := v.Vectors(expert)
		scores := make([]float32, len(sample))
		if err := index.Scores(t.Context(), query, sample, scores); err != nil {
			t.Fatal(err)
		}
		for i, p := range read {
			ids[i] = p.ID
			vectors, err := encoder.EncodePassages(t.Context(), []corpus.Passage{of[p.ID]})
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-5
			if encoder.late { // what its codes stand for, and the question's rounding to eight bits
				tolerance = .1
				codes, err := ann.TokenCodes(vectors[0], len(query))
				if err != nil {
					t.Fatal(err)
				}
				vectors[0], err = ann.TokenVectors(codes, len(query))
				if err != nil {
					t.Fatal(err)
				}
			}
			want := math.Inf(-1)
			for rest := vectors[0]; len(rest) > 0; rest = rest[len(query):] {
				product := 0.0
				for j, x := range query {
					product += float64(x) * float64(rest[j])
				}
				want = max(want, product)
			}
			if math.Abs(float64(scores[i])-want) > tolerance {
				t.Errorf("%s of %q in the sample scores %v, want %v", expert, p.ID, scores[i], want)
			}
		}
	}
	return ids
}

// TestSampleFollows: while passages come, change and go, the sample of every server becomes that
// of the passages with the lowest keys, the same in an index of another name and in a folder, with
// their vectors as they are. A table that is full does not lose it, nor does a cluster
// that does not answer.
func TestSampleFollows(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	experts := []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}}
	options := store.BuildOptions{Words: bm25.DefaultParams(), Experts: experts}
	given := tagged(5, 400)
	is := map[string]corpus.Passage{given[0].ID: given[0]}
	var servers []*Corpus
	var writers []*Writer
	for _, name := range []string{"sample-one", "another-sample"} {
		index := testIndex(t, client, name)
		_, err := Build(t.Context(), client, index, schema.Shape{Shards: 2}, &list{passages: given[:1]}, options, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			target, err := Open(t.Context(), client, index)
			if err != nil {
				t.Fatal(err)
			}
			c, err := NewCorpus(t.Context(), target)
			if err == nil {
				err = c.ReadSample(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			servers = append(servers, c)
		}
		w, err := NewWriter(servers[len(servers)-1].Store(), experts, nil)
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	check := func(what string) {
		t.Helper()
		want := lowestKeys(is)
		for i, c := range servers {
			if _, err := c.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := sampleOf(t, c, is); !slices.Equal(got, want) {
				t.Errorf("%s: server %d has the sample\n%q, want\n%q", what, i, got, want)
			}
		}
	}
	change := func(changes ...store.Change) {
		t.Helper()
		for _, w := range writers {
			if _, err := w.Apply(t.Context(), changes); err != nil {
				t.Fatal(err)
			}
			if err := w.Visible(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range changes {
			if c.Put != nil {
				is[c.Put.ID] = *c.Put
			} else {
				delete(is, c.Delete)
			}
		}
	}
	check("one passage")
	var changes []store.Change
	for i := range given[1:] {
		changes = append(changes, store.Change{Put: &given[1+i]})
	}
	change(changes...)
	check("400 passages")
	dir := t.TempDir() + "/folder"
	if _, err := folder.Build(t.Context(), dir, &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	g := opened(t, dir)
	sample, err := g.Sample(sampled)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range lowestKeys(is) {
		if got, err := g.ID(sample[i]); err != nil || got != id {
			t.Errorf("the folder has %q (%v), want %q", got, err, id)
		}
	}
	first := lowestKeys(is)
	change(store.Change{Delete: first[0]}, store.Change{Delete: first[50]},
		store.Change{Put: &corpus.Passage{ID: first[1], Text: "something else altogether"}})
	check("after changes")

	for _, c := range servers {
		c.shared.Store(&shared{newTable(sampled + 2), c.shared.Load().sample.placeIn(newTable(0))})
		c.shared.Store(c.shared.Load().withNewTable())
	}
	for range 3 {
		v := servers[0].Acquire()
		if _, err := v.Words().Search(t.Context(), "w1 w2 w3", 100); err != nil {
			t.Fatal(err)
		}
		v.Release()
		if got := sampleOf(t, servers[0], is); !slices.Equal(got, lowestKeys(is)) {
			t.Errorf("a table that was full has the sample %q", got)
		}
	}
	nobody := &faulty{to: client, random: rand.New(rand.NewPCG(1, 1)), share: 1e-9}
	nobody.before = func(int64) bool { return true }
	servers[0].Store().client = behind(t, nobody)
	err = servers[0].ReadSample(t.Context())
	if n := len(servers[0].Acquire().Passages().Sample(sampled)); err != nil || n != sampled {
		t.Errorf("without a cluster %d of the sample are there: %v", n, err)
	}
	if err := NewCorpusOf(servers[0].Store()).ReadSample(t.Context()); err == nil {
		t.Error("there is a sample though nobody gave it")
	}
}

// NewCorpusOf returns a corpus that has asked nothing.
func NewCorpusOf(s *Store) *Corpus {
	c := &Corpus{}
	c.store.Store(s)
	c.counts.Store(&Statistics{Passages: 400})
	c.shared.Store(&shared{table: newTable(mostKnown)})
	return c
}

// closeness are chances that a confidence changes with: all that is known of an answer counts.
type closeness struct{}

func (closeness) Of(signals []float64, _ int) (float64, error) {
	sum := -1.0
	for i, s := range signals {
		sum += s / float64(5+i)
	}
	return 1 / (1 + math.Exp(-sum)), nil
}

// confident returns an engine whose answers have a confidence, of a dense expert, late interaction
// and words.
func confident(t *testing.T, of storage.Corpus) *search.Engine {
	t.Helper()
	engine, err := search.NewEngine(search.EngineConfig{
		Corpus: of,
		Limits: search.Limits{K: 100, Candidates: 400, QuestionBytes: 1000, Timeout: 20 * time.Second,
			Batch: 1, BatchParallel: 1, EmbedInputs: 1, EmbedBytes: 1, AnswerBytes: 32 << 20},
		LineUp: search.LineUp{
			Experts: []learned.Expert{
				{Name: "base", Encoder: asking{hashed{name: "base"}}, Info: learned.ExpertInfo{Dimension: hashedDimension}},
			},
			Late: []learned.Expert{{Name: "tokens", Encoder: asking{hashed{name: "tokens", late: true}},
				Info: learned.ExpertInfo{Dimension: hashedDimension}}},
			Defaults: search.Defaults{
				K: 10, Candidates: 300, Timeout: 20 * time.Second, Fusion: fusion.MethodGate,
				Missing: fusion.Exact, Chances: closeness{},
				Gate: &fusion.Gate{
					Near: .5, BesideNear: .7,
					Dense:   make([]float64, len(fusion.DenseFeatureNames())),
					Lexical: make([]float64, len(fusion.LexicalFeatureNames())),
					Late:    make([]float64, len(fusion.LateFeatureNames())),
				},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// TestConfidenceAsEmbedded: a question has the same confidence in an index, in one of another
// name and in a folder, where the search is exact; and without a sample that is large enough none
// has one, which a note says.
func TestConfidenceAsEmbedded(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.DefaultParams(), Index: store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}}}
	given := tagged(6, 300)
	var engines []*search.Engine
	for i, name := range []string{"confidence-one", "another-confidence"} {
		slices.Reverse(given) // in whatever order they come
		far, near := built(t, name, given, 2+i, options)
		engines = append(engines, confident(t, far), confident(t, near))
	}
	random := rand.New(rand.NewPCG(6, 6))
	for range 8 {
		var words []string
		for range 2 + random.IntN(5) {
			words = append(words, fmt.Sprintf("w%d", random.IntN(60)))
		}
		r := search.Request{Question: strings.Join(words, " "), Exact: true}
		var first float64
		for i, e := range engines {
			answer, err := e.Search(t.Context(), search.Caller{}, r)
			if err != nil || answer.Confidence == nil || len(answer.Degraded) > 0 {
				t.Fatalf("%q: %+v, %v", r.Question, answer, err)
			}
			if i == 0 {
				first = *answer.Confidence
			}
			if got := *answer.Confidence; math.Abs(got-first) > 1e-6 || got < .05 || got > .95 {
				t.Errorf("%q: the confidences are %v and %v", r.Question, first, got)
			}
		}
	}
}

// TestNearCopiesAsEmbedded: where passages repeat others' texts in another form, a question has the confidence of a
// folder, however many results it asks for.
func TestNearCopiesAsEmbedded(t *testing.T) {
	t.Parallel()
	options := store.BuildOptions{Words: bm25.DefaultParams(), Index: store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}}}
	random := rand.New(rand.NewPCG(8, 1))
	given := tagged(8, 120)
	var questions []string
	for i := range 40 {
		words := make([]string, 30)
		for at := range words {
			words[at] = fmt.Sprintf("w%d", random.IntN(60))
		}
		questions = append(questions, strings.Join(words[3:7], " "))
		for version := range 3 {
			text := append(slices.Clone(words), fmt.Sprint("version", version))
			given = append(given, corpus.Passage{ID: fmt.Sprintf("copy-%d-%d", i, version), Text: strings.Join(text, " ")})
		}
	}
	farCorpus, nearCorpus := built(t, "near-copies", given, 3, options)
	far, near := confident(t, farCorpus), confident(t, nearCorpus)
	for _, question := range questions[:12] {
		for _, k := range []int{1, 10} {
			r := search.Request{Question: question, Exact: true, K: k}
			a, errA := far.Search(t.Context(), search.Caller{}, r)
			b, errB := near.Search(t.Context(), search.Caller{}, r)
			if errA != nil || errB != nil || a.Confidence == nil || b.Confidence == nil {
				t.Fatalf("%q: %v, %v", question, errA, errB)
			}
			if math.Abs(*a.Confidence-*b.Confidence) > 1e-6 {
				t.Errorf("%q, %d results: the confidences are %v and %v", question, k, *a.Confidence, *b.Confidence)
			}
		}
	}
}

// TestFillSample: the sample of a small index has a passage as soon as searches see it, without a look; a full one is
// left to the next look.
func TestFillSample(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "fill-sample")
	options := store.BuildOptions{Words: bm25.DefaultParams()}
	given := tagged(5, sampled+20)
	_, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: given[:2]}, options, "")
	if err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCorpus(t.Context(), target)
	if err == nil {
		err = c.ReadSample(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	had := 0
	for _, n := range []int{2, 20, sampled + 10, sampled + 20} {
		if _, err := target.Add(t.Context(), &list{passages: given[had:n]}, options); err != nil {
			t.Fatal(err)
		}
		had = n
		if err := target.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.FillSample(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(c.Acquire().Passages().Sample(sampled)); got != min(n, sampled) {
			t.Errorf("of %d passages the sample has %d", n, got)
		}
	}
	v := c.Acquire()
	defer v.Release()
	want, err := v.Passages().Read(t.Context(), v.Passages().Sample(7))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := target.RandomPassages(t.Context(), 7); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("random passages are %v, want %v, %v", got, want, err)
	}
	if n := c.Known().Passages; n != sampled+10 {
		t.Errorf("a full sample is drawn again, of %d", n)
	}
}
