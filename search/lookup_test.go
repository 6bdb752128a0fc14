package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// answersOf returns a batch's answers in a list.
func answersOf(ctx context.Context, e *Engine, requests []Request) (answers []Answer, err error) {
	err = e.Batch(ctx, Caller{}, requests, func(a Answer) error {
		answers = append(answers, a)
		return nil
	})
	return answers, err
}

func TestBatch(t *testing.T) {
	s := newStage("AB", 60)
	s.config.Limits.Batch, s.config.Limits.BatchParallel = 6, 2
	var now, most atomic.Int64
	s.encoders["A"].hook = func(context.Context) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(time.Millisecond)
		return nil
	}
	e := s.engine(t)
	requests := []Request{
		{Question: "red"},
		{Question: ""},
		{Question: "dog", K: 3},
		{Question: "cat", Fusion: methodsOf("x")},
		{Question: "bird"},
		{Question: "blue"},
	}
	answers, err := answersOf(context.Background(), e, requests)
	if err != nil || len(answers) != len(requests) {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	for i, r := range requests {
		one, oneErr := e.Search(context.Background(), Caller{}, r)
		a := answers[i]
		if (a.Err == nil) != (oneErr == nil) || a.Err != nil && a.Err.Error() != oneErr.Error() ||
			!reflect.DeepEqual(a.Response.Results, one.Results) ||
			a.Response.Question != one.Question {
			t.Errorf("%d: %v %v, alone %v %v", i, a.Err, ids(a.Response.Results), oneErr, ids(one.Results))
		}
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d searches at once, at most 2 are allowed", n)
	}
	for _, requests := range [][]Request{nil, make([]Request, 7)} {
		_, err := answersOf(context.Background(), e, requests)
		var refused *fault.Error
		if !errors.As(err, &refused) || refused.Kind != fault.Invalid || refused.Fields[0].Pointer != "/searches" ||
			!strings.Contains(refused.Detail, "from 1 to 6") {
			t.Errorf("a batch of %d: %v", len(requests), err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	answers, _ = answersOf(ctx, e, requests)
	for i, a := range answers {
		if !errors.Is(a.Err, context.Canceled) && kindOf(a.Err) != fault.Invalid {
			t.Errorf("%d, when the caller had gone: %v", i, a.Err)
		}
	}
	_ = e.Close(context.Background())
}

func TestEmbed(t *testing.T) {
	s := newStage("AB", 5)
	e := s.engine(t)
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = fmt.Sprint("text ", i)
	}
	for _, kind := range []string{"", "question", "passage"} {
		got, err := e.Embed(context.Background(), Caller{}, lookup.EmbedRequest{Expert: "B", Kind: kind, Input: texts})
		if err != nil || got.Expert != "B" || got.Dimension != dimension || len(got.Embeddings) != 100 {
			t.Fatalf("%q: %v, %d vectors of %d", kind, err, len(got.Embeddings), got.Dimension)
		}
		for i, v := range got.Embeddings {
			if !reflect.DeepEqual(v, draw(2, texts[i])) {
				t.Errorf("%q: vector %d is another text's", kind, i)
			}
		}
	}
	s.config.Experts[0].Passages = nil
	e = s.engine(t)
	for _, c := range []struct {
		request lookup.EmbedRequest
		kind    fault.ErrorKind
		says    string
	}{
		{lookup.EmbedRequest{Expert: "x", Input: texts}, fault.Invalid, `no expert "x": the experts are A, B`},
		{lookup.EmbedRequest{Expert: "B"}, fault.Invalid, "there are 0 texts: there have to be from 1 to 256"},
		{lookup.EmbedRequest{Expert: "B", Input: make([]string, 257)}, fault.Invalid, "there are 257 texts"},
		{lookup.EmbedRequest{Expert: "B", Input: []string{"a", " "}}, fault.Invalid, "the text is empty"},
		{lookup.EmbedRequest{Expert: "B", Input: []string{"\xff"}}, fault.Invalid, "not valid UTF-8"},
		{lookup.EmbedRequest{Expert: "B", Input: []string{strings.Repeat("x", 65537)}}, fault.Invalid, "has 65537 bytes"},
		{lookup.EmbedRequest{Expert: "B", Input: texts, Kind: "document"}, fault.Invalid, "one of question, passage"},
		{lookup.EmbedRequest{Expert: "A", Input: texts, Kind: "passage"}, fault.Invalid, "no passage encoder"},
	} {
		_, err := e.Embed(context.Background(), Caller{}, c.request)
		if kindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: kind %d, %v", c.request, kindOf(err), err)
		}
	}
	broken := s.config
	broken.Experts = append([]learned.Expert(nil), s.config.Experts...)
	broken.Experts[1].Encoder = &fixedEncoder{append(draw(1, "x")[:dimension-1], nan())}
	withNaN, err := NewEngine(broken)
	if err != nil {
		t.Fatal(err)
	}
	_, err = withNaN.Embed(context.Background(), Caller{}, lookup.EmbedRequest{Expert: "B", Input: texts})
	if kindOf(err) != fault.Unavailable ||
		!strings.Contains(err.Error(), "the encoder gave NaN at 7") {
		t.Errorf("a vector with NaN: %v", err)
	}
	for name, c := range map[string]struct {
		hook func(context.Context) error
		kind fault.ErrorKind
	}{
		"full":   {func(context.Context) error { return full{} }, fault.Overloaded},
		"fails":  {func(context.Context) error { return errors.New("secret") }, fault.Unavailable},
		"panics": {func(context.Context) error { panic("secret") }, fault.Unavailable},
		"late":   {func(context.Context) error { return context.DeadlineExceeded }, fault.Deadline},
	} {
		s.encoders["B"].hook = c.hook
		for _, kind := range []string{"question", "passage"} {
			_, err := e.Embed(context.Background(), Caller{}, lookup.EmbedRequest{Expert: "B", Kind: kind, Input: texts})
			var refused *fault.Error
			if !errors.As(err, &refused) || refused.Kind != c.kind || strings.Contains(refused.Detail, "secret") {
				t.Errorf("%s, %s: kind %d, %v", name, kind, kindOf(err), err)
			}
		}
	}
}

func TestExperts(t *testing.T) {
	e := newStage("Ab", 5).engine(t)
	if got := e.Experts(); len(got) != 2 || got[0].Name != "A" || got[1].Name != "b" {
		t.Errorf("experts %+v", got)
	}
	if got, err := e.Expert("b"); err != nil || got.Name != "b" || got.Calibration != nil {
		t.Errorf("expert b: %+v, %v", got, err)
	}
	if _, err := e.Expert("x"); kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "the experts are A, b") {
		t.Errorf("expert x: %v", err)
	}
	if number, passages := e.Generation(); number != 12 || passages != 5 {
		t.Errorf("generation %d of %d passages", number, passages)
	}
}

func TestPassage(t *testing.T) {
	s := newStage("a", 5)
	e := s.engine(t)
	p, version, err := e.Passage(t.Context(), Caller{}, "p003")
	if err != nil || p.ID != "p003" || len(version) != 32 {
		t.Fatalf("%+v, %q, %v", p, version, err)
	}
	if _, again, _ := e.Passage(t.Context(), Caller{}, "p003"); again != version {
		t.Errorf("versions %s and %s of the same passage", version, again)
	}
	if _, _, err := e.Passage(t.Context(), Caller{}, "p\x003"); kindOf(err) != fault.NotFound ||
		!strings.Contains(err.Error(), `no passage "p\x003"`) {
		t.Errorf("unknown passage: %v", err)
	}
	s.config.Corpus = brittle{s.library}
	if _, _, err := s.engine(t).Passage(t.Context(), Caller{}, "p003"); kindOf(err) != fault.Unavailable {
		t.Errorf("unreadable passage: %v", err)
	}
	if n := s.library.pinned.Load(); n != 0 {
		t.Errorf("%d generations are still pinned", n)
	}
}

// TestVersion: every part of a passage counts, and a part is not taken for
// another. ETags rest on it.
func TestVersion(t *testing.T) {
	seen := map[string]int{}
	for i, p := range []corpus.Passage{
		{}, {ID: "ab"}, {ID: "a", Title: "b"}, {Title: "ab"}, {Title: "a", Text: "b"}, {Text: "ab"},
		{Tags: []string{"ab"}}, {Tags: []string{"a", "b"}}, {Metadata: map[string]any{"a": "b"}}, {Metadata: map[string]any{"a": 1.0}},
	} {
		version := p.Version()
		if j, twice := seen[version]; twice {
			t.Errorf("passages %d and %d have the same version", i, j)
		}
		seen[version] = i
	}
	empty := corpus.Passage{ID: "a", Tags: []string{}, Metadata: map[string]any{}}
	if none := (corpus.Passage{ID: "a"}); none.Version() != empty.Version() {
		t.Error("no tags and an empty list of tags are two versions")
	}
}

// recorder is an observer.
type recorder struct {
	mu      sync.Mutex
	stages  map[string]int
	sources map[string]string
	answers []reply.Response
}

func (r *recorder) Stage(_ context.Context, source, stage string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if took < 0 {
		panic("negative time")
	}
	r.stages[strings.TrimSpace(source+" "+stage)]++
}

func (r *recorder) Source(_ context.Context, source, status string, cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sources[source] = fmt.Sprint(status, " ", cause)
}

func (r *recorder) Answer(_ context.Context, answer reply.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, answer)
}

func TestObserver(t *testing.T) {
	s := newStage("AB", 60)
	o := &recorder{stages: map[string]int{}, sources: map[string]string{}}
	s.config.Observer = o
	s.vectors["B"].hook = func(context.Context) error { return errors.New("the cause") }
	given := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("hybrid")})
	if len(o.answers) != 1 || !reflect.DeepEqual(o.answers[0], given) {
		t.Errorf("told of %+v, given %+v", o.answers, given)
	}
	want := map[string]int{
		"A encode":     1,
		"A search":     1,
		"A confidence": 1,
		"B encode":     1,
		"B search":     1,
		"bm25 search":  1,
		"sources":      1,
		"complete":     1,
		"fuse":         1,
		"fetch":        1,
	}
	if !reflect.DeepEqual(o.stages, want) {
		t.Errorf("stages %v, want %v", o.stages, want)
	}
	if o.sources["A"] != "ok <nil>" || o.sources["bm25"] != "ok <nil>" ||
		o.sources["B"] != "failed searching the vectors: the cause" {
		t.Errorf("sources %v", o.sources)
	}
}

// TestTimings runs on a clock of its own.
func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		s.encoders["A"].hook, s.vectors["A"].hook = stubborn(3*time.Millisecond), stubborn(2*time.Millisecond)
		s.ensembles["A"].hook, s.words.hook = stubborn(1500*time.Microsecond), stubborn(time.Millisecond)
		r := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("hybrid")})
		if got := r.Sources[0].Took; got != (reply.Took{Encode: 3, Search: 2}) {
			t.Errorf("expert took %+v", got)
		}
		if got := r.Sources[1].Took; got != (reply.Took{Search: 1}) {
			t.Errorf("BM25 took %+v", got)
		}
		if r.TookMS != 5 {
			t.Errorf("%v ms in all, want 5: the sources run in parallel", r.TookMS)
		}
		r = s.ask(t, Request{Question: askedOften, Fusion: methodsOf("muf")})
		if got := r.Sources[0].Took; got != (reply.Took{Encode: 3, Search: 2, Confidence: 1.5}) {
			t.Errorf("expert took %+v", got)
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage("A", 60)
		s.encoders["A"].hook = stubborn(time.Second)
		e := s.engine(t)
		if _, err := e.Search(context.Background(), Caller{}, Request{Question: askedOften, TimeoutMS: 10}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if err := e.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close while a source is running: %v", err)
		}
		for name, err := range map[string]error{
			"search":  second(e.Search(context.Background(), Caller{}, Request{Question: askedOften})),
			"embed":   second(e.Embed(context.Background(), Caller{}, lookup.EmbedRequest{Expert: "A", Input: []string{"x"}})),
			"passage": func() error { _, _, err := e.Passage(t.Context(), Caller{}, "p001"); return err }(),
		} {
			if kindOf(err) != fault.Unavailable {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// kindOf returns the kind of err, or 0 when it has none.
func kindOf(err error) fault.ErrorKind {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.Kind
	}
	return 0
}

func TestErrors(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("wrapped: %w", &fault.Error{Kind: fault.Conflict, Detail: "detail", Err: cause})
	if kindOf(err) != fault.Conflict || !errors.Is(err, cause) || err.Error() != "wrapped: detail: cause" {
		t.Errorf("%v", err)
	}
	if kindOf(cause) != 0 || kindOf(nil) != 0 {
		t.Error("a kind out of nothing")
	}
}
