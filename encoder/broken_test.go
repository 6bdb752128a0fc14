package encoder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

// breakable is a real graph that can be made to fail when it is run.
type breakable struct {
	runner
	fail atomic.Pointer[func() error]
}

func (b *breakable) RunWithOptions(inputs, outputs []ort.Value, options *ort.RunOptions) error {
	if fail := b.fail.Load(); fail != nil {
		return (*fail)()
	}
	return b.runner.RunWithOptions(inputs, outputs, options)
}

// indexed is an encoder as a collection wants it.
type indexed struct{ *Encoder }

func (x indexed) Fingerprint() string { return x.Encoder.Fingerprint(models.Passage) }

func (indexed) Parts() func(string) []rank.Span { return nil }

func (indexed) Owner() string { return "" }

func (x indexed) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	texts := make([]Text, len(passages))
	for i, p := range passages {
		texts[i].Text = p.Text
	}
	return x.Encoder.EncodePassages(ctx, texts)
}

// TestBundleThatFailsAtRunTime: ONNX Runtime fails, or panics, on the graph of one
// expert while it serves: that expert is out and named, the others answer as
// without it, and it is back as soon as its graph runs again.
func TestBundleThatFailsAtRunTime(t *testing.T) {
	r := library(t)
	passages := make([]string, 12)
	for i := range passages {
		passages[i] = fmt.Sprintf(`{"id":"p%02d","text":"a passage of the number %d and of the fox"}`, i, i)
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: "-", Stdin: strings.NewReader(strings.Join(passages, "\n"))}})
	if err != nil {
		t.Fatal(err)
	}
	options := store.BuildOptions{Index: store.Index{Kind: "flat"}}
	config := search.EngineConfig{
		Limits: search.Limits{
			K:             10,
			Candidates:    100,
			QuestionBytes: 1000,
			Timeout:       10 * time.Second,
			Batch:         1,
			BatchParallel: 1,
			EmbedInputs:   1,
			EmbedBytes:    1000,
			AnswerBytes:   1 << 20,
		},
		LineUp: search.LineUp{
			Defaults: search.Defaults{
				K:          10,
				Candidates: 100,
				Timeout:    time.Second,
				Fusion:     search.MethodAuto,
				Missing:    fusion.Exact,
			},
		},
	}
	var graphs []*breakable
	for i, name := range []string{"sound", "broken"} {
		e := open(t, r, bundle(t, tiny.Expert{Name: name, Seed: uint64(i + 1)}), Running{})
		b := &breakable{runner: e.model.question.inner}
		e.model.question.inner = b
		graphs = append(graphs, b)
		options.Experts = append(options.Experts, indexed{e})
		config.Experts = append(
			config.Experts, learned.Expert{Name: name, Encoder: e, Info: learned.ExpertInfo{Dimension: e.Dimension()}},
		)
	}
	dir := filepath.Join(t.TempDir(), "index")
	if _, err := folder.Build(t.Context(), dir, source, options); err != nil {
		t.Fatal(err)
	}
	c, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	config.Corpus = view.Of(c)
	engine, err := search.NewEngine(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close(context.Background()) }()
	ask := func(question string, experts ...string) reply.Response {
		t.Helper()
		request := search.Request{Question: question, TimeoutMS: 10_000}
		if experts != nil {
			request.Experts = &experts
		}
		response, err := engine.Search(t.Context(), search.Caller{}, request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	idsOf := func(r reply.Response) (out []string) {
		for _, result := range r.Results {
			out = append(out, result.ID)
		}
		return out
	}
	if r := ask("the fox"); len(r.Degraded) > 0 {
		t.Fatalf("before: %+v", r.Degraded)
	}
	for name, fail := range map[string]func() error{
		"an error": func() error { return errors.New("Non-zero status code returned while running Gemm node") },
		"a panic":  func() error { panic("index out of range [3] with length 2") },
	} {
		graphs[1].fail.Store(&fail)
		question := "the fox after " + name
		got, want := ask(question), ask(question, "sound")
		if len(got.Degraded) != 1 || got.Degraded[0].Source != "broken" || !slices.Equal(idsOf(got), idsOf(want)) {
			t.Errorf("%s: degraded %+v, results %v, without the expert %v", name, got.Degraded, idsOf(got), idsOf(want))
		}
		_, err := engine.Embed(t.Context(), search.Caller{}, lookup.EmbedRequest{Expert: "broken", Input: []string{question}})
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.Unavailable {
			t.Errorf("%s: embedding: %v", name, err)
		}
		graphs[1].fail.Store(nil)
		if r := ask("the fox once more after " + name); len(r.Degraded) > 0 {
			t.Errorf("after %s: %+v", name, r.Degraded)
		}
	}
}
