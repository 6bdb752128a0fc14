package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// The tests serve the real engine over a corpus in memory: what a request may
// say is the engine's to decide, and a stand-in would only repeat what this
// package believes of it.

var _ Engine = (*search.Engine)(nil)
var _ search.Observer = Observer{}

// library is a corpus in memory, with brute-force indexes.
type library struct {
	passages []corpus.Passage
	vectors  map[string][][]float32 // of each expert
	damaged  bool
}

func testLibrary() *library {
	l := &library{vectors: map[string][][]float32{}, passages: []corpus.Passage{
		{
			ID:       "bees",
			Title:    "Bees",
			Text:     "Bees find their way back to the hive by the sun and by landmarks.",
			Tags:     []string{"nature"},
			Metadata: map[string]any{"year": 2020},
		},
		{ID: "wiki/42", Title: "Answers", Text: "Forty two is the answer to everything."},
		{ID: "a b&c%d é", Text: "An id that needs escaping everywhere."},
		{ID: "long", Title: "Long", Text: strings.Repeat("A long passage is worth compressing. ", 200)},
	}}
	for i := range 40 {
		l.passages = append(
			l.passages,
			corpus.Passage{
				ID:    fmt.Sprintf("p%02d", i),
				Title: fmt.Sprintf("Passage %d", i),
				Text:  fmt.Sprintf("Filler number %d about house tree river %d.", i, i%7),
			},
		)
	}
	for _, expert := range []string{"wiki", "health", "plain"} {
		for i := range l.passages {
			l.vectors[expert] = append(l.vectors[expert], vectorOf(expert, l.text(rank.Ordinal(i))))
		}
	}
	return l
}

func (l *library) Acquire() storage.View      { return l }
func (l *library) Release()                   {}
func (l *library) Generation() uint64         { return 12 }
func (l *library) Passages() storage.Passages { return l }
func (l *library) Words() storage.WordIndex   { return (*wordScan)(l) }
func (l *library) Phrases() storage.WordIndex { return nil }
func (l *library) Len() int                   { return len(l.passages) }
func (l *library) Ordinals() int              { return len(l.passages) }
func (l *library) text(o rank.Ordinal) string { return l.passages[o].Title + " " + l.passages[o].Text }

func (l *library) Index(string) (storage.IndexInfo, bool) {
	return storage.IndexInfo{Kind: "flat", Passages: 44, Recall: map[string]float64{"recall@10": 1, "recall@100": 1}}, true
}

func (l *library) Vectors(expert string) (storage.VectorIndex, bool) {
	return vectorScan{l, expert}, true
}

// Among leaves out of the indexes' hits what the filter does not let through.
func (l *library) Among(
	_ context.Context,
	f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	a := amongSome{l, func(o rank.Ordinal) bool { return lets(f, l.passages[o]) }}
	n := 0
	for i := range l.passages {
		if a.lets(rank.Ordinal(i)) {
			n++
		}
	}
	return a, func(context.Context) (int, error) { return n, nil }, nil
}

func lets(f storage.Filter, p corpus.Passage) bool {
	has := func(tag string) bool { return slices.Contains(p.Tags, tag) }
	return (len(f.TagsAny) == 0 || slices.ContainsFunc(f.TagsAny, has)) &&
		!slices.ContainsFunc(f.TagsAll, func(tag string) bool { return !has(tag) }) && f.Where.Matches(p.Tags, p.Metadata)
}

type amongSome struct {
	*library
	lets func(rank.Ordinal) bool
}

func (a amongSome) first(hits []rank.Hit, k int) []rank.Hit {
	hits = slices.DeleteFunc(hits, func(h rank.Hit) bool { return !a.lets(h.Ordinal) })
	return hits[:min(k, len(hits))]
}

func (a amongSome) Contains(_ context.Context, passages []rank.Ordinal) (out []bool, err error) {
	for _, o := range passages {
		out = append(out, a.lets(o))
	}
	return out, nil
}

func (a amongSome) Vectors(expert string) (storage.VectorIndex, bool) {
	return someVectors{vectorScan{a.library, expert}, a}, true
}

func (a amongSome) Words() storage.WordIndex   { return someWords{(*wordScan)(a.library), a} }
func (a amongSome) Phrases() storage.WordIndex { return nil }

type someVectors struct {
	vectorScan
	among amongSome
}

func (s someVectors) Search(ctx context.Context, q []float32, k int, exact bool) ([]rank.Hit, error) {
	hits, err := s.vectorScan.Search(ctx, q, s.Len(), exact)
	return s.among.first(hits, k), err
}

type someWords struct {
	*wordScan
	among amongSome
}

func (s someWords) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	hits, err := s.wordScan.Search(ctx, question, len(s.passages))
	return s.among.first(hits, k), err
}

func (l *library) After(_ context.Context, id string, limit int) (out []rank.Ordinal, err error) {
	for i, p := range l.passages {
		if p.ID > id {
			out = append(out, rank.Ordinal(i))
		}
	}
	slices.SortFunc(out, func(a, b rank.Ordinal) int { return strings.Compare(l.passages[a].ID, l.passages[b].ID) })
	return out[:min(limit, len(out))], nil
}

func (l *library) DocumentsAfter(ctx context.Context, id string, limit int) (out []rank.Ordinal, err error) {
	all, err := l.After(ctx, id, len(l.passages))
	for _, o := range all {
		if _, n, ok := corpus.DocumentOf(&l.passages[o]); ok && n == 1 && len(out) < limit {
			out = append(out, o)
		}
	}
	return out, err
}

func (l *library) IDs(ordinals []rank.Ordinal) (ids []string, err error) {
	for _, o := range ordinals {
		ids = append(ids, l.passages[o].ID)
	}
	return ids, nil
}

func (l *library) Lookup(ctx context.Context, ids []string) ([]storage.Found, error) {
	found := make([]storage.Found, len(ids))
	for i, id := range ids {
		found[i].Ordinal, found[i].There, _ = l.Ordinal(ctx, id)
	}
	return found, nil
}

func (l *library) Size(o rank.Ordinal) (int, error) {
	return len(l.passages[o].ID) + len(l.text(o)), nil
}

func (l *library) Read(_ context.Context, passages []rank.Ordinal) (out []corpus.Passage, err error) {
	if l.damaged {
		return nil, errors.New("the file is damaged")
	}
	for _, o := range passages {
		out = append(out, l.passages[o])
	}
	return out, nil
}

func (l *library) Sample(n int) (out []rank.Ordinal) {
	for o := range min(n, len(l.passages)) {
		out = append(out, rank.Ordinal(o))
	}
	return out
}

func (l *library) Contains(_ context.Context, passages []rank.Ordinal) (out []bool, err error) {
	for range passages {
		out = append(out, true)
	}
	return out, nil
}

func (l *library) Prefetch(context.Context, []rank.Ordinal) ([]rank.Ordinal, error) { return nil, nil }

func (l *library) SortByID(passages []rank.Ordinal) error { slices.Sort(passages); return nil }

func (l *library) Ordinal(_ context.Context, id string) (rank.Ordinal, bool, error) {
	for i, p := range l.passages {
		if p.ID == id {
			return rank.Ordinal(i), true, nil
		}
	}
	return 0, false, nil
}

const testDimension = 16

// vectorOf hashes words into a unit vector, differently for each expert.
func vectorOf(expert, text string) []float32 {
	v := make([]float32, testDimension)
	v[0] = 0.1
	for _, word := range strings.Fields(strings.ToLower(text)) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(expert + " " + strings.Trim(word, ".,?")))
		v[h.Sum32()%testDimension]++
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x * x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

type vectorScan struct {
	*library
	expert string
}

func (s vectorScan) Search(ctx context.Context, q []float32, k int, _ bool) ([]rank.Hit, error) {
	top := rank.NewTopK(k)
	scores := make([]float32, 1)
	for i := range s.passages {
		_ = s.Scores(ctx, q, []rank.Ordinal{rank.Ordinal(i)}, scores)
		top.Push(rank.Hit{Ordinal: rank.Ordinal(i), Score: scores[0]})
	}
	return top.Sorted(), nil
}

func (s vectorScan) Scores(_ context.Context, q []float32, passages []rank.Ordinal, out []float32) error {
	for i, o := range passages {
		out[i] = 0
		for d, x := range s.vectors[s.expert][o] {
			out[i] += x * q[d]
		}
	}
	return nil
}

type wordScan library

func (s *wordScan) Scores(_ context.Context, question string, passages []rank.Ordinal, out []float32) error {
	for i, o := range passages {
		out[i] = 0
		for _, word := range strings.Fields(strings.ToLower(question)) {
			out[i] += float32(strings.Count(strings.ToLower((*library)(s).text(o)), word))
		}
	}
	return nil
}

func (s *wordScan) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	top := rank.NewTopK(k)
	score := make([]float32, 1)
	for i := range s.passages {
		_ = s.Scores(ctx, question, []rank.Ordinal{rank.Ordinal(i)}, score)
		if score[0] > 0 {
			top.Push(rank.Hit{Ordinal: rank.Ordinal(i), Score: score[0]})
		}
	}
	return top.Sorted(), nil
}

func (s *wordScan) UpperBound(_ context.Context, question string) (float64, error) {
	return 10 * float64(len(strings.Fields(question))), nil
}

func (s *wordScan) Rarities(_ context.Context, texts []string) ([][]storage.Rarity, error) {
	return make([][]storage.Rarity, len(texts)), nil
}

func (s *wordScan) Explain(_ context.Context, question string, o rank.Ordinal) ([]storage.TermScore, error) {
	var terms []storage.TermScore
	for _, word := range strings.Fields(strings.ToLower(question)) {
		if n := strings.Count(strings.ToLower((*library)(s).text(o)), word); n > 0 {
			terms = append(
				terms,
				storage.TermScore{Term: word, Frequency: n, DocFrequency: 1, IDF: 1, Boost: 1, Score: float64(n)},
			)
		}
	}
	return terms, nil
}

// testEncoder encodes, after whatever the test puts in its way.
type testEncoder struct {
	expert string
	before func(ctx context.Context) error
}

func (e *testEncoder) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	if e.before != nil {
		if err := e.before(ctx); err != nil {
			return nil, err
		}
	}
	return vectorOf(e.expert, text), nil
}

func (e *testEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	out := make([][]float32, len(passages))
	for i, p := range passages {
		out[i] = vectorOf(e.expert, p.Text)
	}
	return out, ctx.Err()
}

func (*testEncoder) QuestionTokens(string) (int, bool) { return 0, false }

func (*testEncoder) KnownWords(string) (words, whole, unknown int) { return 0, 0, 0 }

func (*testEncoder) Readable(string) float64 { return 1 }

func (*testEncoder) PassageTokens(corpus.Passage) (int, bool) { return 0, false }

// testEnsemble has three members that disagree a little.
type testEnsemble struct{}

func (testEnsemble) EnsembleMembers() int { return 3 }

func (testEnsemble) Members(_ context.Context, v []float32) ([]float32, error) {
	out := make([]float32, 0, 3*len(v))
	for member := range 3 {
		for d, x := range v {
			out = append(out, x+0.01*float32(math.Sin(float64(member*31+d))))
		}
	}
	return out, nil
}

// engineOptions break the engine in one way or another.
type engineOptions struct {
	before   func(ctx context.Context) error // in every encoder
	observer search.Observer
	limits   search.Limits
	library  *library
	damaged  bool                 // passages cannot be read
	oneWay   bool                 // the encoders encode no passages
	lineUp   func(*search.LineUp) // changes it; nil: nothing
	turns    turn.Turns           // nil: without a limit
}

func testEngine(t testing.TB, o engineOptions) *search.Engine {
	t.Helper()
	expert := func(name string, calibrated bool) learned.Expert {
		encoder := &testEncoder{expert: name, before: o.before}
		x := learned.Expert{Name: name, Encoder: encoder, Passages: encoder, Info: learned.ExpertInfo{
			Dimension: testDimension, Provider: "cpu", Precision: "fp32",
			Fingerprints: map[string]string{"question": name + "q", "passage": name + "p"},
			MaxTokens:    map[string]int{"question": 64, "passage": 256},
		}}
		if o.oneWay {
			x.Passages = nil
		}
		if calibrated {
			x.Ensemble = testEnsemble{}
			x.Info.Calibration = &learned.CalibrationInfo{
				Temperature: 0.05,
				Depth:       5,
				ECEBefore:   0.2,
				ECEAfter:    0.05,
				Questions:   "dev",
			}
		}
		return x
	}
	limits := testLimits()
	limits.Timeout, limits.K, limits.AnswerBytes = cmp.Or(
		o.limits.Timeout, limits.Timeout,
	), cmp.Or(
		o.limits.K,
		limits.K,
	), cmp.Or(o.limits.AnswerBytes, limits.AnswerBytes)
	books := o.library
	if books == nil {
		books = testLibrary()
	}
	books.damaged = o.damaged
	lineUp := search.LineUp{
		Experts:  []learned.Expert{expert("wiki", true), expert("health", true), expert("plain", false)},
		Defaults: testDefaults(),
	}
	lineUp.Defaults.Timeout = min(lineUp.Defaults.Timeout, limits.Timeout)
	lineUp.Defaults.Gate = &fusion.Gate{
		Dense: make(
			[]float64, len(fusion.DenseFeatureNames()),
		), Lexical: make([]float64, len(fusion.LexicalFeatureNames())), Words: -3,
	}
	if o.lineUp != nil {
		o.lineUp(&lineUp)
	}
	e, err := search.NewEngine(search.EngineConfig{Corpus: books, Limits: limits, Observer: o.observer, LineUp: lineUp,
		Turns: o.turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

func testLimits() search.Limits {
	return search.Limits{
		K:             1000,
		Candidates:    1000,
		QuestionBytes: 8 << 10,
		Timeout:       5 * time.Second,
		Batch:         100,
		BatchParallel: 8,
		EmbedInputs:   256,
		EmbedBytes:    64 << 10,
		AnswerBytes:   32 << 20,
	}
}

func testDefaults() search.Defaults {
	return search.Defaults{
		K:          10,
		Candidates: 100,
		Timeout:    2 * time.Second,
		Fusion:     search.MethodAuto,
		Missing:    fusion.Exact,
		Alpha:      .03,
	}
}

// overloadedError is what an encoder with a full queue says.
type overloadedError struct{}

func (overloadedError) Error() string    { return "queue full" }
func (overloadedError) Overloaded() bool { return true }
