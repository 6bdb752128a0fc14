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
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped/demo"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// The experts differ in seed, shape and how far their ensembles spread.
func bundles() []tiny.Expert {
	calibrated := func(temperature float64, depth int) *models.Calibration {
		return &models.Calibration{Temperature: temperature, Depth: depth, Questions: "none: made up for the test"}
	}
	return []tiny.Expert{
		{Name: "north", Seed: 1, EnsembleMembers: 5, Spread: .2, Calibration: calibrated(.02, 30)},
		{
			Name:            "south",
			Seed:            2,
			EnsembleMembers: 20,
			Spread:          .3,
			Calibration:     calibrated(.0005, 50),
			TwoTowers:       true,
			Template:        models.TemplatePair,
			Pooling:         models.PoolingCLS,
		},
		{
			Name:            "east",
			Seed:            3,
			EnsembleMembers: 8,
			Spread:          .6,
			Calibration:     calibrated(.1, 40),
			Dimension:       48,
			RawLength:       true,
		},
	}
}

// library is a collection of the demo's passages with the engine on top, as commands
// and servers open it.
type library struct {
	*assembly.Assembly
	passages []corpus.Passage // by ordinal
	experts  map[string]*expert
	names    []string
	dir      string
}

// expert is a loaded bundle, with the vectors that it gave for the collection, to
// compute with.
type expert struct {
	*experts.Expert
	options tiny.Expert
	stored  map[string][]float32 // by passage id, in half precision as collections have them
}

// configured returns a configuration with the runtime and bundles of a folder of its own.
func configured(t testing.TB) configs.Config {
	t.Helper()
	config := configs.Defaults()
	config.Runtime = testenv.Runtime(t)
	config.Bundles = t.TempDir()
	config.Cache = t.TempDir() // no shipped reader
	return config
}

// open builds a collection with an index of the given kind, of some of the
// demo's passages, and opens it.
func open(t testing.TB, kind string) *library {
	t.Helper()
	config := configured(t)
	log := slog.New(slog.DiscardHandler)
	config.Collection = filepath.Join(t.TempDir(), "index")
	l := &library{experts: map[string]*expert{}, dir: config.Collection}
	for _, o := range bundles() {
		if _, err := tiny.Write(filepath.Join(config.Bundles, o.Name), o); err != nil {
			t.Fatal(err)
		}
		l.names = append(l.names, o.Name)
	}
	loaded, err := experts.Open(config, log, l.names)
	if err != nil {
		t.Fatal(err)
	}
	source, err := corpus.OpenSeries([]corpus.Input{{Path: l.write(t, 0, 16)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = folder.Build(
		context.Background(),
		l.dir,
		source,
		store.BuildOptions{Experts: encoders(loaded), Index: store.Index{Kind: kind}},
	)
	if err := errors.Join(err, source.Close(), loaded.Close()); err != nil {
		t.Fatal(err)
	}
	record := calibration.Record{Auto: fusion.MethodRRF, Alpha: .5, Gate: &fusion.Gate{
		Dense: make(
			[]float64, len(fusion.DenseFeatureNames()),
		), Lexical: make([]float64, len(fusion.LexicalFeatureNames())), Words: -3,
	}}
	if err := record.Write(l.dir); err != nil {
		t.Fatal(err)
	}
	l.Assembly, err = assembly.Open(assembly.Options{Config: config, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, e := range l.Experts.All() {
		l.experts[e.Name()] = &expert{Expert: e, options: bundles()[i], stored: map[string][]float32{}}
	}
	l.read(t)
	return l
}

func encoders(loaded *experts.Set) (out []store.PassageEncoder) {
	for _, e := range loaded.All() {
		out = append(out, e)
	}
	return out
}

// write puts passages from … to of each domain into a file. Their texts are cut so that the tiny encoders, which have a
// token for each letter, read them as a whole: a longer passage would have several vectors.
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
			var p map[string]any
			if err := json.Unmarshal(line, &p); err != nil {
				t.Fatal(err)
			}
			text := []rune(p["text"].(string))
			p["text"] = string(text[:min(len(text), 180)])
			if err := json.NewEncoder(&out).Encode(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "passages.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read notes what the collection holds. New passages are encoded as they were when they
// were added, all together.
func (l *library) read(t testing.TB) {
	t.Helper()
	c, err := folder.Open(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	known := len(l.passages)
	for o := known; o < g.Len(); o++ {
		p, err := g.Passage(rank.Ordinal(o))
		if err != nil {
			t.Fatal(err)
		}
		l.passages = append(l.passages, p)
	}
	for _, x := range l.experts {
		vectors, err := x.EncodePassages(context.Background(), l.passages[known:])
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			x.stored[l.passages[known+i].ID] = kernel.AppendFloats(nil, kernel.AppendHalves(nil, v))
		}
	}
}

// questions returns the demo's.
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
