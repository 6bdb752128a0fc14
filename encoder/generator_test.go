package encoder

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// fidGolden is what transformers makes of the checkpoints in testdata/fid; see make.py.
type fidGolden struct {
	Checkpoints map[string][]fidCase `json:"checkpoints"`
}

type fidCase struct {
	Question    string      `json:"question"`
	Passages    [][2]string `json:"passages"`
	IDs         [][]int32   `json:"ids"`
	Forced      []int32     `json:"forced"`
	Logits      [][]float32 `json:"logits"`
	Greedy      []int32     `json:"greedy"`
	GreedyScore float64     `json:"greedy_score"`
	GreedyText  string      `json:"greedy_text"`
	Shares      []float64   `json:"shares"`
	Beam        []int32     `json:"beam"`
	BeamScore   float64     `json:"beam_score"`
}

// Of make.py.
const (
	fidLongest = 48
	fidAnswer  = 12
	fidBeams   = 4
)

func (c *fidCase) asking() Asking {
	a := Asking{Question: c.Question, MaxTokens: fidAnswer}
	for _, p := range c.Passages {
		a.Passages = append(a.Passages, Text{Title: p[0], Text: p[1]})
	}
	return a
}

func readFid(tb testing.TB) fidGolden {
	tb.Helper()
	data, err := os.ReadFile("testdata/fid/golden.json")
	if err != nil {
		tb.Fatal(err)
	}
	var g fidGolden
	if err := json.Unmarshal(data, &g); err != nil {
		tb.Fatal(err)
	}
	return g
}

// fidCheckpoint returns a folder with one of the checkpoints and its tokenizer.
func fidCheckpoint(tb testing.TB, name string) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, file := range []string{"config.json", "model.safetensors"} {
		data, err := os.ReadFile(filepath.Join("testdata/fid", name, file))
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	data := unzippedFile(tb, "testdata/fid/tokenizer.first.json.gz")
	if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func unzippedFile(tb testing.TB, path string) []byte {
	tb.Helper()
	zipped, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = zipped.Close() }()
	z, err := gzip.NewReader(zipped)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func generator(tb testing.TB, r *Runtime, name string, beams int) *Generator {
	tb.Helper()
	o := convert.Options{Name: name, Beams: beams, MaxTokens: models.MaxTokens{Passage: fidLongest}}
	b, err := convert.Import(tb.Context(), fidCheckpoint(tb, name), filepath.Join(tb.TempDir(), "bundle"), o)
	if err != nil {
		tb.Fatal(err)
	}
	if found := convert.Verify(b.Dir); !found.Fine {
		tb.Fatalf("%+v", found)
	}
	g, err := r.OpenGenerator(b, Running{Threads: 1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
	})
	return g
}

// TestGeneratorReference compares with transformers: ids, logits with and without past,
// greedy answers and those of a beam search, and how attention is spread, for 1, 5 and
// 50 passages and three checkpoints: T5, T5 version 1.1, and one with the names of
// Fusion-in-Decoder's code.
func TestGeneratorReference(t *testing.T) {
	r := library(t)
	golden := readFid(t)
	if len(golden.Checkpoints) != 3 {
		t.Fatalf("%d checkpoints", len(golden.Checkpoints))
	}
	for name, cases := range golden.Checkpoints {
		greedy, beam := generator(t, r, name, 1), generator(t, r, name, fidBeams)
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/%d", name, len(c.Passages)), func(t *testing.T) {
				c.compareTokens(t, greedy)
				c.compareLogits(t, greedy)
				c.compareGreedy(t, greedy)
				got, err := beam.Answer(t.Context(), c.asking())
				if err != nil {
					t.Fatal(err)
				}
				if want := beam.tokenizer.Decode(c.Beam); got.Text != want ||
					math.Abs(got.LogProbability/float64(len(c.Beam))-c.BeamScore) > 1e-4 {
					t.Errorf(
						"beam search: %q of %g, not %q of %g",
						got.Text,
						got.LogProbability/float64(len(c.Beam)),
						want,
						c.BeamScore,
					)
				}
			})
		}
	}
}

func (c *fidCase) compareTokens(t *testing.T, g *Generator) {
	t.Helper()
	rows, cut, err := g.tokenRows(c.asking())
	if err != nil {
		t.Fatal(err)
	}
	full := 0
	for i, row := range rows {
		if !slices.Equal(row, c.IDs[i]) {
			t.Errorf("passage %d: %v, not %v", i, row, c.IDs[i])
		}
		if len(row) == fidLongest {
			full++
		}
	}
	if cut > full || len(rows) == 50 && cut < 10 {
		t.Errorf("%d of %d passages cut, %d as long as the limit", cut, len(rows), full)
	}
}

func (c *fidCase) compareLogits(t *testing.T, g *Generator) {
	t.Helper()
	s, err := g.encodePassages(t.Context(), c.IDs)
	if err != nil {
		t.Fatal(err)
	}
	decode := func() *decoderRun {
		d, err := g.newDecoding(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.close)
		return d
	}
	step := decode()
	for i, token := range c.Forced {
		with, _, err := step.Step(t.Context(), []int32{token}, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		without, _, err := decode().readTokens(t.Context(), [][]int32{c.Forced[:i+1]}, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		for how, got := range map[string][]float32{"with past": with[0], "without": without[0]} {
			if far := furthest(got, c.Logits[i]); far > 1e-4 {
				t.Errorf("%d tokens %s: logits %g apart", i+1, how, far)
			}
		}
	}
}

func (c *fidCase) compareGreedy(t *testing.T, g *Generator) {
	t.Helper()
	var said []string
	asking := c.asking()
	asking.Each = func(text string) { said = append(said, text) }
	got, err := g.Answer(t.Context(), asking)
	if err != nil {
		t.Fatal(err)
	}
	complete := c.Greedy[len(c.Greedy)-1] == g.tokenizer.End()
	tokens := len(c.Greedy)
	if complete {
		tokens--
	}
	if got.Text != c.GreedyText || got.Tokens != tokens || got.Complete != complete ||
		math.Abs(got.LogProbability-c.GreedyScore) > 1e-3 {
		t.Errorf("greedy: %+v, not %q of %d tokens, complete %t, %g", got, c.GreedyText, tokens, complete, c.GreedyScore)
	}
	sum := 0.0
	for i, share := range got.Shares {
		sum += share
		if math.Abs(share-c.Shares[i]) > 1e-4 {
			t.Errorf("passage %d has %g of the attention, not %g", i, share, c.Shares[i])
		}
	}
	if math.Abs(sum-1) > 1e-4 {
		t.Errorf("shares add up to %g", sum)
	}
	for i, text := range said {
		if i > 0 && !strings.HasPrefix(text, said[i-1]) {
			t.Errorf("%q was said after %q", text, said[i-1])
		}
	}
	if len(said) > 0 && said[len(said)-1] != got.Text || len(said) == 0 && got.Text != "" {
		t.Errorf("%q was said of %q", said, got.Text)
	}
}

// TestGeneratorBatches: what passages become does not depend on those beside them, nor
// on how many runs it took to read them.
func TestGeneratorBatches(t *testing.T) {
	r := library(t)
	g := generator(t, r, "plain", 1)
	c := readFid(t).Checkpoints["plain"][2]
	rows, _, err := g.tokenRows(c.asking())
	if err != nil {
		t.Fatal(err)
	}
	many := slices.Concat(rows, rows, rows) // together more than one run reads
	all, err := g.encodePassages(t.Context(), many)
	if err != nil {
		t.Fatal(err)
	}
	if all.tokens <= readTokens {
		t.Fatalf("%d tokens fit one run", all.tokens)
	}
	size := g.shape.HeadSize
	for i, row := range many {
		alone, err := g.encodePassages(t.Context(), [][]int32{row})
		if err != nil {
			t.Fatal(err)
		}
		for k := range all.cross {
			for h := range g.shape.Heads {
				got := all.cross[k][(h*all.tokens+all.from[i])*size : (h*all.tokens+all.to[i])*size]
				if far := furthest(got, alone.cross[k][h*len(row)*size:(h+1)*len(row)*size]); far > 1e-4 {
					t.Fatalf("passage %d, layer %d, head %d: %g apart", i, k/2, h, far)
				}
			}
		}
	}
}

func TestGeneratorRefuses(t *testing.T) {
	r := library(t)
	g := generator(t, r, "fid", 1)
	asking := readFid(t).Checkpoints["fid"][1].asking()
	asking.Memory = 1 << 30
	if _, err := g.Answer(t.Context(), asking); err != nil {
		t.Fatal(err)
	}
	rows, _, err := g.tokenRows(asking)
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for _, row := range rows {
		tokens += len(row)
	}
	// By hand: 2 layers, keys and values, 2 heads of 16, 4 bytes.
	asking.Memory = int64(2 * 2 * tokens * 2 * 16 * 4)
	_, err = g.Answer(t.Context(), asking)
	if m, ok := errors.AsType[*MemoryError](err); !ok || m.Tokens != tokens || m.Passages != 5 ||
		m.Needed <= asking.Memory ||
		m.Needed > asking.Memory+50_000 {
		t.Errorf("too much memory: %+v", err)
	}
	asking.Memory = 0
	long := asking
	long.Question = strings.Repeat("who planted the tree ", 20)
	if _, err := g.Answer(t.Context(), long); err == nil || !strings.Contains(err.Error(), "ask a shorter one") {
		t.Errorf("a long question: %v", err)
	}
	other := asking
	other.Question = "ποιος φύτεψε το δέντρο;"
	if _, err := g.Answer(t.Context(), other); err == nil || !strings.Contains(err.Error(), "other scripts") {
		t.Errorf("a question in another script: %v", err)
	}
	if _, err := g.Answer(t.Context(), Asking{Question: "a", MaxTokens: 3}); err == nil {
		t.Error("no passages: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	asking.Each = func(string) { cancel() }
	if _, err := g.Answer(ctx, asking); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in the middle: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Answer(t.Context(), asking); !errors.Is(err, batcher.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := r.OpenGenerator(&models.Bundle{}, Running{}); err == nil {
		t.Error("an expert was opened as a generator")
	}
}
