// Package endtoend tests the parts together: tiny bundles with ensembles,
// encoded by ONNX Runtime, indexed in a collection, searched by the engine.
// Everything is as in the server but the weights, which are random: the
// vectors mean little, and every number has to be right all the same.
package endtoend

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"conclave/collection"
	"conclave/corpus"
	"conclave/demo"
	"conclave/encoder"
	"conclave/fusion"
	"conclave/internal/testenv"
	"conclave/models"
	"conclave/models/tiny"
	"conclave/rank"
	"conclave/search"
	"conclave/serving/view"
)

// The experts differ in seed, shape and how far their ensembles spread.
func bundles() []tiny.Options {
	calibrated := func(temperature float64, depth int) *models.Calibration {
		return &models.Calibration{Temperature: temperature, Depth: depth, Questions: "none: made up for the test"}
	}
	return []tiny.Options{
		{Name: "north", Seed: 1, EnsembleMembers: 5, Calibration: calibrated(.02, 30)},
		{Name: "south", Seed: 2, EnsembleMembers: 20, Spread: .3, Calibration: calibrated(.0005, 50), TwoTowers: true, Template: models.TemplatePair, Pooling: models.PoolingCLS},
		{Name: "east", Seed: 3, EnsembleMembers: 8, Spread: .6, Calibration: calibrated(.1, 40), Dimension: 48, RawLength: true},
	}
}

// library is a collection of the demo's passages with the engine on top.
type library struct {
	collection *collection.Collection
	passages   []corpus.Passage // by ordinal
	experts    map[string]*expert
	names      []string
	engine     *search.Engine
	dir        string
}

// expert is a loaded bundle, as collection and search need it. It remembers
// the vectors that it gave for the collection, to compute with.
type expert struct {
	options tiny.Options
	bundle  *models.Bundle
	stored  map[string][]float32 // by passage id
	*encoder.Encoder
}

func (x *expert) Name() string        { return x.options.Name }
func (x *expert) Fingerprint() string { return x.Encoder.Fingerprint(models.Passage) }

func (x *expert) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	texts := make([]encoder.Text, len(passages))
	for i, p := range passages {
		texts[i] = encoder.Text{Title: p.Title, Text: p.Text}
	}
	vectors, err := x.Encoder.EncodePassages(ctx, texts)
	for i, v := range vectors {
		x.stored[passages[i].ID] = v
	}
	return vectors, err
}

// runtime opens ONNX Runtime once for all tests.
func runtime(t testing.TB) *encoder.Runtime {
	t.Helper()
	path := testenv.Runtime(t)
	r, err := openRuntime(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The path is the same in all tests of a process.
var openRuntime = func() func(string) (*encoder.Runtime, error) {
	var once sync.Once
	var opened *encoder.Runtime
	var failed error
	return func(path string) (*encoder.Runtime, error) {
		once.Do(func() { opened, failed = encoder.OpenRuntime(path) })
		return opened, failed
	}
}()

// open builds a collection with an index of the given kind, of some of the
// demo's passages, and opens it.
func open(t testing.TB, kind string) *library {
	t.Helper()
	run := runtime(t)
	l := &library{experts: map[string]*expert{}, dir: filepath.Join(t.TempDir(), "index")}
	var encoders []collection.PassageEncoder
	gate := &fusion.Gate{Dense: make([]float64, len(fusion.DenseFeatureNames())), Lexical: make([]float64, len(fusion.LexicalFeatureNames())), Words: -3}
	config := search.Config{LineUp: search.LineUp{Defaults: search.Defaults{Gate: gate}}}
	for _, o := range bundles() {
		b, err := tiny.Write(filepath.Join(t.TempDir(), o.Name), o)
		if err != nil {
			t.Fatal(err)
		}
		e, err := run.Open(b, encoder.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		x := &expert{options: o, bundle: b, stored: map[string][]float32{}, Encoder: e}
		l.experts[o.Name] = x
		l.names = append(l.names, o.Name)
		encoders = append(encoders, x)
		config.Experts = append(config.Experts, search.Expert{
			Name: o.Name, Encoder: e, Ensemble: e.Ensemble(), Passages: x,
			Info: search.ExpertInfo{
				Dimension:    e.Dimension(),
				Fingerprints: map[string]string{"question": e.Fingerprint(models.Question)},
				Calibration:  &search.CalibrationInfo{Temperature: b.Calibration.Temperature, Depth: b.Calibration.Depth},
			},
		})
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: l.write(t, 0, 16)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = collection.Build(context.Background(), l.dir, source, collection.BuildOptions{Experts: encoders, Index: collection.Index{Kind: kind}})
	if err != nil {
		t.Fatal(err)
	}
	_ = source.Close()
	if l.collection, err = collection.Open(l.dir); err != nil {
		t.Fatal(err)
	}
	l.read(t)
	config.Corpus = view.Of(l.collection)
	if l.engine, err = search.NewEngine(config); err != nil {
		t.Fatal(err)
	}
	// Before the encoders, which Cleanup ends afterwards.
	t.Cleanup(func() {
		if err := l.engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := l.collection.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// write puts passages from … to of each domain into a file.
func (l *library) write(t testing.TB, from, to int) string {
	t.Helper()
	var out bytes.Buffer
	for _, domain := range demo.Domains() {
		data, err := demo.FS.ReadFile("passages/" + domain + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		for _, line := range lines[from:to] {
			out.Write(line)
		}
	}
	path := filepath.Join(t.TempDir(), "passages.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read notes what the collection holds.
func (l *library) read(t testing.TB) {
	t.Helper()
	g := l.collection.Acquire()
	defer g.Release()
	l.passages = nil
	for o := range g.Len() {
		p, err := g.Passage(rank.Ordinal(o))
		if err != nil {
			t.Fatal(err)
		}
		l.passages = append(l.passages, p)
	}
}

// questions are the demo's.
func questions(t testing.TB, n int) (out []string) {
	t.Helper()
	data, err := demo.FS.ReadFile("questions/dev.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan() && len(out) < n; {
		var q struct {
			Question string `json:"question"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q.Question)
	}
	return out
}
