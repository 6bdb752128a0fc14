package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/onnx"
	"example.org/conclave/models/convert/tiny"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library loads ONNX Runtime for one test.
func library(tb testing.TB) *Runtime {
	tb.Helper()
	r, err := OpenRuntime(testenv.Runtime(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func open(tb testing.TB, r *Runtime, b *models.Bundle, o Running) *Encoder {
	tb.Helper()
	e, err := r.Open(b, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}

func bundle(tb testing.TB, o tiny.Expert) *models.Bundle {
	tb.Helper()
	b, err := tiny.Write(filepath.Join(tb.TempDir(), "bundle"), o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func base(tb testing.TB, precision string) *models.Bundle {
	tb.Helper()
	b, err := models.Load(testenv.Base(tb, precision))
	if err != nil {
		tb.Fatal(err)
	}
	if b.Manifest.Precision != precision {
		tb.Fatalf("%s is %s, not %s: run `conclave setup`", b.Dir, b.Manifest.Precision, precision)
	}
	return b
}

func question(tb testing.TB, e *Encoder, text string) []float32 {
	tb.Helper()
	vector, err := e.EncodeQuestion(context.Background(), text)
	if err != nil {
		tb.Fatal(err)
	}
	return vector
}

// furthest returns the largest difference of a component.
func furthest(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	far := 0.0
	for i := range a {
		far = max(far, math.Abs(float64(a[i])-float64(b[i])))
	}
	return far
}

func TestQuestionsAndPassages(t *testing.T) {
	r := library(t)
	e := open(t, r, bundle(t, tiny.Expert{Name: "small", Template: models.TemplateText}), Running{})
	if e.Name() != "small" || e.Dimension() != 32 || e.Provider() != CPU || e.Ensemble() != nil || r.Version() == "" {
		t.Errorf(
			"name %q, dimension %d, provider %q, ensemble %v, version %q",
			e.Name(),
			e.Dimension(),
			e.Provider(),
			e.Ensemble(),
			r.Version(),
		)
	}
	if err := e.SelfTest(); err != nil {
		t.Error(err)
	}
	texts := make([]Text, 200)
	for i := range texts {
		texts[i].Text = strings.Repeat(fmt.Sprintf("word %d ", i), 1+i%17)
	}
	vectors, err := e.EncodePassages(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, vector := range vectors {
		if len(vector) != 32 || math.Abs(vectorLength(vector)-1) > 1e-5 {
			t.Fatalf("passage %d: %d numbers of length %g", i, len(vector), vectorLength(vector))
		}
		// One model serves both sides, so a short passage asked as a question
		// has the same vector.
		if i%17 < 5 {
			if far := furthest(vector, question(t, e, texts[i].Text)); far > 1e-5 {
				t.Errorf("text %d as passage and as question: %g apart", i, far)
			}
		}
	}
	if far := furthest(vectors[0], vectors[1]); far < 1e-3 {
		t.Errorf("two texts have the same vector, %g apart", far)
	}
	if s := e.Stats(); s.PassageRows != 200 || s.QuestionRows == 0 {
		t.Errorf("stats %+v", s)
	}
	for _, text := range []string{"", " ", "\xff\x00", "[SEP] [CLS]", strings.Repeat("long ", 1000),
		strings.Repeat("x", 100_000)} {
		if vector := question(t, e, text); math.Abs(vectorLength(vector)-1) > 1e-5 {
			t.Errorf("%.20q: a vector of length %g", text, vectorLength(vector))
		}
	}
}

func TestTemplates(t *testing.T) {
	r := library(t)
	for template, want := range map[string]func(*wordpiece.Tokenizer, Text) ([]int32, error){
		models.TemplateText: func(w *wordpiece.Tokenizer, t Text) ([]int32, error) { return w.Encode(t.Text, 12) },
		models.TemplateTitleDotText: func(w *wordpiece.Tokenizer, t Text) ([]int32,
			error) {
			return w.Encode(t.Title+". "+t.Text, 12)
		},
		models.TemplatePair: func(w *wordpiece.Tokenizer, t Text) ([]int32, error) {
			ids, _, err := w.EncodePair(t.Title, t.Text, 12)
			return ids, err
		},
	} {
		b := bundle(t, tiny.Expert{Template: template, MaxTokens: models.MaxTokens{Question: 8, Passage: 12}})
		e := open(t, r, b, Running{})
		for _, text := range []Text{{"A title", "and a text"}, {"a", "much longer text than fits into twelve"}, {"", "no title"}} {
			got, err := e.passageTokens(text, 12)
			if err != nil {
				t.Fatal(err)
			}
			reference := want
			if text.Title == "" {
				reference = func(w *wordpiece.Tokenizer, t Text) ([]int32, error) { return w.Encode(t.Text, 12) }
			}
			if ids, err := reference(e.tokenizer.words, text); err != nil || !slices.Equal(got, ids) {
				t.Errorf("%s, %+v: %v, want %v (%v)", template, text, got, ids, err)
			}
		}
	}
}

func TestTowers(t *testing.T) {
	r := library(t)
	one := open(t, r, bundle(t, tiny.Expert{}), Running{})
	if one.model.question != one.model.passage {
		t.Error("one file is loaded twice")
	}
	two := open(t, r, bundle(t, tiny.Expert{TwoTowers: true}), Running{})
	vectors, err := two.EncodePassages(t.Context(), []Text{{Text: "what is this"}})
	if err != nil {
		t.Fatal(err)
	}
	if far := furthest(vectors[0], question(t, two, "what is this")); far < 1e-3 {
		t.Errorf("passages go through the question tower: %g apart", far)
	}
	if far := furthest(question(t, one, "what is this"), question(t, two, "what is this")); far > 1e-6 {
		t.Errorf("question towers of one seed are %g apart", far)
	}
}

func TestEnsemble(t *testing.T) {
	r := library(t)
	// Members that are not disturbed at all give the vector back.
	e := open(t, r, bundle(t, tiny.Expert{EnsembleMembers: 5, Spread: 1e-7}), Running{})
	vector := question(t, e, "how sure are you")
	members, err := e.Ensemble().Members(t.Context(), vector)
	if err != nil {
		t.Fatal(err)
	}
	if e.Ensemble().EnsembleMembers() != 5 || len(members) != 5*32 {
		t.Fatalf("%d members, %d numbers", e.Ensemble().EnsembleMembers(), len(members))
	}
	for k := range 5 {
		if far := furthest(members[k*32:(k+1)*32], vector); far > 1e-5 {
			t.Errorf("member %d is %g away from the vector", k, far)
		}
	}
	if _, err := e.Ensemble().Members(t.Context(), vector[:31]); err == nil {
		t.Error("a vector of 31 numbers is accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Ensemble().Members(ctx, vector); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Ensemble().Members(t.Context(), vector); !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := e.EncodeQuestion(t.Context(), "x"); !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestProviders(t *testing.T) {
	r := library(t)
	b := bundle(t, tiny.Expert{})
	if _, err := r.Open(b, Running{Provider: "gpu"}); err == nil || !strings.Contains(err.Error(), `"gpu"`) {
		t.Errorf("provider gpu: %v", err)
	}
	if _, err := r.Open(b, Running{Threads: -1}); err == nil || !strings.Contains(err.Error(), "-1") {
		t.Errorf("threads -1: %v", err)
	}
	e := open(t, r, b, Running{Provider: Auto})
	switch reason := r.CUDA(0); {
	case reason == nil:
		if e.Provider() != CUDA || e.Fallback() != nil || r.CUDA(0) != nil {
			t.Errorf("cuda works, but auto chose %s (%v) of %v", e.Provider(), e.Fallback(), r.CUDA(0))
		}
	default:
		if e.Provider() != CPU || e.Fallback() == nil || r.CUDA(0) == nil {
			t.Errorf("cuda does not work, but auto chose %s (%v) of %v", e.Provider(), e.Fallback(), r.CUDA(0))
		}
		_, err := r.Open(b, Running{Provider: CUDA})
		if err == nil || !strings.Contains(err.Error(), "cuda is not available") ||
			!strings.Contains(err.Error(), "NVIDIA") {
			t.Errorf("provider cuda: %v", err)
		}
	}
}

func TestOverload(t *testing.T) {
	r := library(t)
	e := open(t, r, bundle(t, tiny.Expert{}), Running{Queue: 1})
	// Many at once find one place; most are refused, and the rest are right.
	var callers sync.WaitGroup
	var mu sync.Mutex
	answered, refused := 0, 0
	for i := range 64 {
		callers.Go(func() {
			_, err := e.EncodeQuestion(t.Context(), fmt.Sprintf("%s %d", strings.Repeat("long ", 40), i))
			var overloaded interface{ Overloaded() bool }
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered++
			case errors.As(err, &overloaded) && overloaded.Overloaded():
				refused++
			default:
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if answered == 0 || answered+refused != 64 || e.Stats().Refused != uint64(refused) {
		t.Errorf("%d answered, %d refused, stats %+v", answered, refused, e.Stats())
	}
}

// A run that nobody waits for any more ends before it is done.
func TestRunIsTerminated(t *testing.T) {
	r := library(t)
	e := open(t, r, bundle(t, tiny.Expert{Layers: 8, Dimension: 128, Heads: 8}), Running{})
	rows := make([][]int32, 64)
	for i := range rows {
		rows[i] = make([]int32, 512)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := e.model.question.encodeRows(ctx, rows)
		done <- err
	}()
	cancel() // before the run or in it, by chance; both must work
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	// In it, for sure: the model is asked for far more than fits into the time.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for i := range rows {
		rows[i] = make([]int32, 500)
	}
	began := make(chan struct{})
	go func() {
		close(began)
		for {
			if _, _, err := e.model.question.encodeRows(ctx, rows); err != nil {
				done <- err
				return
			}
		}
	}()
	<-began
	question(t, e, "something else meanwhile is not disturbed")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, _, err := e.model.question.encodeRows(t.Context(), rows[:1]); err != nil {
		t.Errorf("the session does not work after a terminated run: %v", err)
	}
}

func TestSignalHandlersAreKept(t *testing.T) {
	const sigurg = 23 // Go's own preemption signal on Linux
	before := signalHandler(sigurg)
	if before == 0 {
		t.Skip("no handler is set for signal 23 here")
	}
	restore := keepSignalHandlers()
	ignoreSignal(sigurg)
	if signalHandler(sigurg) == before {
		t.Fatal("the handler was not replaced, so the test shows nothing")
	}
	restore()
	if after := signalHandler(sigurg); after != before {
		t.Errorf("the handler is %#x, was %#x", after, before)
	}
}

func TestOpenErrors(t *testing.T) {
	r := library(t)
	if _, err := OpenRuntime(testenv.Runtime(t)); err == nil {
		t.Error("the library is loaded twice")
	}
	for name, c := range map[string]struct {
		spoil func(b *models.Bundle)
		want  string
	}{
		"other dimension": {func(b *models.Bundle) { b.Manifest.Vectors.Dimension = 31 }, "encoder.onnx"},
		"other input":     {func(b *models.Bundle) { b.Manifest.Vectors.Question.InputIDs = "words" }, "words"},
		"other output":    {func(b *models.Bundle) { b.Manifest.Vectors.Question.Embedding = "vector" }, "vector"},
		"raw length":      {func(b *models.Bundle) { b.Manifest.Vectors.Normalise = true }, "normalise"},
		"members":         {func(b *models.Bundle) { b.Manifest.Vectors.Ensemble.Members = 7 }, "ensemble.onnx"},
		"broken graph":    {func(b *models.Bundle) { write(t, b.Path("encoder.onnx"), "no graph") }, "encoder.onnx"},
		"no graph":        {func(b *models.Bundle) { remove(t, b.Path("encoder.onnx")) }, "encoder.onnx"},
		"no vocabulary":   {func(b *models.Bundle) { write(t, b.Path("vocab.txt"), "a\nb\n") }, "[UNK]"},
		"no tokenizer":    {func(b *models.Bundle) { remove(t, b.Path("vocab.txt")) }, "vocab.txt"},
		"passage graph":   {func(b *models.Bundle) { b.Manifest.Vectors.Passage.File = "passages.onnx" }, "passages.onnx"},
	} {
		b := bundle(t, tiny.Expert{Name: "spoilt", RawLength: true, EnsembleMembers: 3})
		c.spoil(b)
		b.Manifest.Files["vocab.txt"] = "" // no other bundle's tokenizer is taken
		e, err := r.Open(b, Running{})
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "spoilt") {
			t.Errorf("%s: %v, want an error that names %q", name, err, c.want)
		}
	}
}

func TestRuntimeErrors(t *testing.T) {
	path := testenv.Runtime(t) // skips where there is none
	var failed *RuntimeError
	if _, err := OpenRuntime(path + ".missing"); !errors.As(err, &failed) || failed.Path != path+".missing" {
		t.Errorf("a missing library: %v", err)
	}
	r, err := OpenRuntime(path)
	if err != nil {
		t.Fatal(err)
	}
	b := bundle(t, tiny.Expert{})
	e, err := r.Open(b, Running{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err == nil {
		t.Error("the library is unloaded under an open encoder")
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Open(b, Running{}); err == nil {
		t.Error("a closed runtime opens a bundle")
	}
}

// A graph that gives something that is no number is found out.
func TestNotFinite(t *testing.T) {
	_ = library(t)
	path := filepath.Join(t.TempDir(), "nan.onnx")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	dims := []onnx.Dim{onnx.Varying("batch"), onnx.Varying("sequence")}
	g := &onnx.Graph{
		Name:    "nan",
		Inputs:  []*onnx.Value{onnx.NewValue("ids", onnx.Int64, dims...), onnx.NewValue("mask", onnx.Int64, dims...)},
		Outputs: []*onnx.Value{onnx.NewValue("out", onnx.Float, dims...)},
	}
	g.Add("Add", "sum", []string{"ids", "mask"})
	g.Add("Cast", "float", []string{"sum"}, onnx.Int("to", int64(onnx.Float)))
	g.Add("Neg", "minus", []string{"float"})
	g.Add("Log", "out", []string{"minus"})
	model := onnx.New("test", 17, g)
	if err := errors.Join(model.Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	inner, err := loadSession(path, []string{"ids", "mask"}, []string{"out"}, target{provider: CPU, threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{file: path, inner: inner, width: 2}
	defer func() { _ = s.close() }()
	if _, _, err := s.encodeRows(t.Context(), [][]int32{{1, 2}}); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, path, content string) {
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// A text is cut exactly when it has more tokens than the bundle's limit.
func TestCuts(t *testing.T) {
	r := library(t)
	for _, template := range []string{models.TemplateText, models.TemplateTitleDotText, models.TemplatePair} {
		b := bundle(t, tiny.Expert{Template: template, MaxTokens: models.MaxTokens{Question: 9, Passage: 14}})
		e := open(t, r, b, Running{})
		cut := map[string]int{}
		for n := range 20 {
			text := Text{Title: "a title", Text: strings.Repeat("word ", n)}
			whole, err := e.tokenizer.Encode(text.Text, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if n, got := e.QuestionTokens(text.Text); got != (len(whole) > 9) || n != min(len(whole), 9) {
				t.Errorf("%s: a question of %d tokens, limit 9: %d read, cut %t", template, len(whole), n, got)
			}
			whole, err = e.passageTokens(text, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if n, got := e.PassageTokens(text); got != (len(whole) > 14) || n != min(len(whole), 14) {
				t.Errorf("%s: a passage of %d tokens, limit 14: %d read, cut %t", template, len(whole), n, got)
			} else if got {
				cut[template]++
			}
		}
		if cut[template] == 0 {
			t.Errorf("%s: nothing was cut", template)
		}
	}
}
