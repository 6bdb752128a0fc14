package search

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

func TestMain(m *testing.M) {
	testenv.SameDraws()
	goleak.VerifyTestMain(m)
}

// encoder gives every text a vector of its own, drawn from its hash. A hook
// runs first.
type encoder struct {
	seed  uint64
	calls atomic.Int64
	hook  func(ctx context.Context) error
}

const dimension = 8

func (e *encoder) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	e.calls.Add(1)
	if e.hook != nil {
		if err := e.hook(ctx); err != nil {
			return nil, err
		}
	}
	return draw(e.seed, text), nil
}

func (e *encoder) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		v, err := e.EncodeQuestion(ctx, p.Title+p.Text)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (*encoder) QuestionTokens(string) (int, bool) { return 0, false }

func (*encoder) KnownWords(string) (words, whole, unknown int) { return 0, 0, 0 }

func (*encoder) Readable(string) float64 { return 1 }

func (*encoder) PassageTokens(corpus.Passage) (int, bool) { return 0, false }

func draw(seed uint64, text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	random := rand.New(rand.NewPCG(seed, h.Sum64()))
	v := make([]float32, dimension)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

// ensemble's members disagree by as much as spread says.
type ensemble struct {
	members int
	spread  float32
	hook    func(ctx context.Context) error
}

func (e *ensemble) EnsembleMembers() int { return e.members }
func (e *ensemble) Members(ctx context.Context, vector []float32) ([]float32, error) {
	if e.hook != nil {
		if err := e.hook(ctx); err != nil {
			return nil, err
		}
	}
	var out []float32
	for m := range e.members {
		noise := draw(uint64(m), fmt.Sprint(vector))
		for i, x := range vector {
			out = append(out, x+e.spread*noise[i])
		}
	}
	return out, nil
}

// vectors is exact search over every vector.
type vectors struct {
	rows   [][]float32
	hook   func(ctx context.Context) error
	scores func()
}

func (v *vectors) Search(ctx context.Context, query []float32, k int, exact bool) ([]rank.Hit, error) {
	if v.hook != nil {
		if err := v.hook(ctx); err != nil {
			return nil, err
		}
	}
	top := rank.NewTopK(k)
	for i, row := range v.rows {
		top.Push(rank.Hit{Ordinal: rank.Ordinal(i), Score: product(query, row)})
	}
	return top.Sorted(), nil
}

func (v *vectors) Scores(_ context.Context, query []float32, passages []rank.Ordinal, out []float32) error {
	if v.scores != nil {
		v.scores()
	}
	for i, o := range passages {
		out[i] = product(query, v.rows[o])
	}
	return nil
}

func product(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// words scores a passage by how often it has the question's terms.
type words struct {
	unexplained error // of Explain alone
	texts       []string
	pairs       bool // terms are two words that follow each other
	hook        func(ctx context.Context) error
	fail        error
	inexact     error // of UpperBound and Rarities, beside what they return
}

func (w *words) terms(question string) []string {
	terms := strings.Fields(question)
	if !w.pairs {
		return terms
	}
	var out []string
	for i := 1; i < len(terms); i++ {
		out = append(out, terms[i-1]+" "+terms[i])
	}
	return out
}

func (w *words) score(question string, o rank.Ordinal) (sum float32) {
	for _, term := range w.terms(question) {
		sum += float32(strings.Count(w.texts[o], term))
	}
	return sum
}

func (w *words) Search(ctx context.Context, question string, k int) ([]rank.Hit, error) {
	if w.hook != nil {
		if err := w.hook(ctx); err != nil {
			return nil, err
		}
	}
	top := rank.NewTopK(k)
	for i := range w.texts {
		if score := w.score(question, rank.Ordinal(i)); score > 0 {
			top.Push(rank.Hit{Ordinal: rank.Ordinal(i), Score: score})
		}
	}
	return top.Sorted(), nil
}

func (w *words) Scores(_ context.Context, question string, passages []rank.Ordinal, out []float32) error {
	for i, o := range passages {
		out[i] = w.score(question, o)
	}
	return w.fail
}

// UpperBound returns ten for every word of the question.
func (w *words) UpperBound(_ context.Context, question string) (float64, error) {
	return 10 * float64(len(strings.Fields(question))), w.inexact
}

// Rarities returns as of a thousand passages.
func (w *words) Rarities(_ context.Context, texts []string) ([][]storage.Rarity, error) {
	out := make([][]storage.Rarity, len(texts))
	for i, text := range texts {
		for _, term := range w.terms(text) {
			r := storage.Rarity{Term: term, Count: 1}
			for _, passage := range w.texts {
				if strings.Contains(passage, term) {
					r.DocFrequency++
				}
			}
			idf := func(df int) float64 { return math.Log(1 + (1000-float64(df)+.5)/(float64(df)+.5)) }
			r.IDF = idf(r.DocFrequency)
			r.Relative = r.IDF / idf(0)
			out[i] = append(out[i], r)
		}
	}
	return out, w.inexact
}

func (w *words) Explain(_ context.Context, question string, o rank.Ordinal) ([]storage.TermScore, error) {
	var terms []storage.TermScore
	for _, term := range w.terms(question) {
		if n := strings.Count(w.texts[o], term); n > 0 {
			terms = append(terms, storage.TermScore{Term: term, Frequency: n, Score: float64(n)})
		}
	}
	return terms, errors.Join(w.fail, w.unexplained)
}

// full is an error of a full queue.
type full struct{}

func (full) Error() string    { return "the queue is full" }
func (full) Overloaded() bool { return true }

// stage is a corpus of so many passages with experts on top, everything within
// reach of a test.
type stage struct {
	library   *library
	encoders  map[string]*encoder
	ensembles map[string]*ensemble
	vectors   map[string]*vectors
	words     *words
	config    EngineConfig
}

// newStage sets up experts named by the letters of names: a capital letter has
// an ensemble and a calibration.
func newStage(names string, passages int) *stage {
	s := &stage{
		encoders:  map[string]*encoder{},
		ensembles: map[string]*ensemble{},
		vectors:   map[string]*vectors{},
		words:     &words{},
	}
	sh := &shelf{number: 12, reads: new(atomic.Int64), vectors: map[string]storage.VectorIndex{}, words: s.words}
	vocabulary := strings.Fields("red green blue cat dog bird runs sleeps")
	random := rand.New(rand.NewPCG(3, 4))
	for i := range passages {
		var text []string
		for range 6 {
			text = append(text, vocabulary[random.IntN(len(vocabulary))])
		}
		p := corpus.Passage{
			ID:    fmt.Sprintf("p%03d", i),
			Title: fmt.Sprintf("Title %d", i),
			Text:  strings.Join(text, " "),
			Tags:  []string{"even"},
		}
		sh.passages = append(sh.passages, p)
		s.words.texts = append(s.words.texts, p.Text)
	}
	for n, letter := range names {
		name := string(letter)
		enc := &encoder{seed: uint64(n + 1)}
		v := &vectors{}
		for _, p := range sh.passages {
			v.rows = append(v.rows, draw(enc.seed+100, p.Text+p.ID))
		}
		s.encoders[name], s.vectors[name], sh.vectors[name] = enc, v, v
		x := learned.Expert{
			Name:     name,
			Encoder:  enc,
			Passages: enc,
			Info:     learned.ExpertInfo{Dimension: dimension, Fingerprints: map[string]string{"question": fmt.Sprint("f", n)}},
		}
		if name == "A" || name == "B" {
			x.Granularity = "1"
		}
		if name == strings.ToUpper(name) {
			s.ensembles[name] = &ensemble{members: 5, spread: .2 * float32(n+1)}
			x.Ensemble = s.ensembles[name]
			x.Info.Calibration = &learned.CalibrationInfo{Temperature: .5, Depth: 20}
		}
		s.config.Experts = append(s.config.Experts, x)
	}
	s.library = &library{shelf: sh}
	s.config.Corpus = s.library
	s.config.Limits = Limits{
		K:             1000,
		Candidates:    1000,
		QuestionBytes: 8 << 10,
		Timeout:       10 * time.Second,
		Batch:         100,
		BatchParallel: 8,
		EmbedInputs:   256,
		EmbedBytes:    64 << 10,
		AnswerBytes:   32 << 20,
	}
	s.config.Defaults = Defaults{
		K:          10,
		Candidates: 15,
		Timeout:    10 * time.Second, // a busy machine under the race detector needs more than a server's 2
		Fusion:     MethodAuto,
		Missing:    fusion.Exact,
		Alpha:      .03,
	}
	s.config.Defaults.Gate = &fusion.Gate{
		Generalist: .1,
		Base:       .2,
		Words:      -1,
		Dense:      []float64{8, 0, 0, .5, 1, 0, 0},
		Lexical:    []float64{-.5, .1, .3, .2, 0, 0, .1, .2, 0},
	}
	if len(names) > 1 { // the first one is the reference, and every other a specialist
		s.config.Reference = names[:1]
		for i := range s.config.Experts[1:] {
			for n := range 12 {
				s.config.Experts[i+1].Representatives = append(
					s.config.Experts[i+1].Representatives,
					draw(uint64(i), fmt.Sprint(n))...)
			}
		}
	}
	return s
}

func (s *stage) engine(t testing.TB) *Engine {
	t.Helper()
	e, err := NewEngine(s.config)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// ask returns a search that must succeed and leave nothing pinned.
func (s *stage) ask(t testing.TB, r Request) reply.Response {
	t.Helper()
	engine := s.engine(t)
	response, err := engine.Search(context.Background(), Caller{}, r)
	if err != nil {
		t.Fatal(err)
	}
	checkResponse(t, response)
	// A source lets go of its generation just after it has answered.
	if err := engine.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := s.library.pinned.Load(); n != 0 {
		t.Errorf("%d generations are still pinned", n)
	}
	return response
}

// refused returns a search that must fail.
func (s *stage) refused(t testing.TB, r Request) *fault.Error {
	t.Helper()
	engine := s.engine(t)
	response, err := engine.Search(context.Background(), Caller{}, r)
	_ = engine.Close(context.Background())
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v with %+v, want an *Error", err, response)
	}
	return e
}

func methodsOf(names ...string) Methods { return Methods{Names: names} }
func listOf(names ...string) Methods    { return Methods{Names: names, Listed: true} }

func ids(results []reply.Result) (out []string) {
	for _, r := range results {
		out = append(out, r.ID)
	}
	return out
}

const askedOften = "does the red dog run while the bird sleeps"
