package encoder

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// sparseGolden is what transformers computes with the checkpoints of testdata/sparse (make.py).
type sparseGolden struct {
	Texts   []string               `json:"texts"`
	Vectors map[string][][]float32 `json:"vectors"` // of each text the weights of all word pieces
}

func readSparse(tb testing.TB) (g sparseGolden) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "sparse", "golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// whole returns pairs as a vector of all word pieces.
func whole(t *testing.T, pairs []float32, dimension int) []float32 {
	t.Helper()
	out := make([]float32, dimension)
	last := float32(-1)
	for p := range slices.Chunk(pairs, models.PairNumbers) {
		if p[0] <= last || p[1] <= 0 {
			t.Fatalf("the pair %v behind the id %v", p, last)
		}
		last = p[0]
		out[int(p[0])] = p[1]
	}
	return out
}

// TestSparseEncodersAgreeWithTransformers: the weights that PyTorch computes, alone and beside longer texts.
func TestSparseEncodersAgreeWithTransformers(t *testing.T) {
	r := library(t)
	golden := readSparse(t)
	for name, want := range golden.Vectors {
		t.Run(name, func(t *testing.T) {
			b, err := convert.Import(t.Context(), filepath.Join("testdata", "sparse", name), filepath.Join(t.TempDir(), "made"),
				convert.Options{MaxTokens: models.MaxTokens{Question: familyTokens, Passage: familyTokens}})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			if m := b.Manifest; m.Kind != models.KindSparse || m.Dimension() != 2 || m.Vectors.Dimension != len(want[0]) {
				t.Errorf("%s of %d numbers, %d word pieces", m.Kind, m.Dimension(), m.Vectors.Dimension)
			}
			x := open(t, r, b, Running{Threads: 1})
			if !x.Sparse() || x.Late() || x.Dimension() != 2 {
				t.Errorf("sparse %t, late %t, %d numbers", x.Sparse(), x.Late(), x.Dimension())
			}
			var texts []Text
			for _, text := range golden.Texts {
				texts = append(texts, Text{Text: text})
			}
			together := passages(t, x, texts...)
			worst := 0.0
			for i, text := range golden.Texts {
				alone := question(t, x, text)
				for _, pairs := range [][]float32{alone, together[i]} {
					for j, w := range whole(t, pairs, len(want[i])) {
						worst = max(worst, math.Abs(float64(w-want[i][j])))
					}
				}
			}
			if !(worst <= 1e-4) {
				t.Errorf("%g apart", worst)
			}
			t.Logf("%.2g apart", worst)
		})
	}
}

// TestQuestionWeights: questions by a table take each of their word pieces once, by hand, and no run of the model.
func TestQuestionWeights(t *testing.T) {
	r := library(t)
	table := filepath.Join(t.TempDir(), "idf.json")
	write(t, table, `{"tree": 2.5, "the": 0.25, "pear": 0, "nobody": 7, "[CLS]": 9}`)
	made := filepath.Join(t.TempDir(), "made")
	o := convert.Options{QuestionWeights: table}
	b, err := convert.Import(t.Context(), filepath.Join("testdata", "sparse", "bert"), made, o)
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, r, b, Running{Threads: 1})
	ids := func(words ...string) (all []int32) {
		for _, w := range words {
			tokens := x.tokenizer.tokensOf(w, 8)
			if len(tokens.ids) != 3 {
				t.Fatalf("%q is no word piece: %v", w, tokens.ids)
			}
			all = append(all, tokens.ids[1])
		}
		return all
	}
	known := ids("tree", "the")
	want := map[float32]float32{float32(known[0]): 2.5, float32(known[1]): .25}
	got := question(t, x, "the tree, the pear tree")
	if len(got) != 4 || !(got[0] < got[2]) || want[got[0]] != got[1] || want[got[2]] != got[3] {
		t.Errorf("%v, want %v", got, want)
	}
	if n := x.Stats().QuestionRuns; n != 0 {
		t.Errorf("%d runs of the model", n)
	}
	plain, err := convert.Import(t.Context(), filepath.Join("testdata", "sparse", "bert"), filepath.Join(t.TempDir(), "m"),
		convert.Options{})
	if err != nil || plain.Fingerprint(models.Passage) != b.Fingerprint(models.Passage) ||
		plain.Fingerprint(models.Question) == b.Fingerprint(models.Question) {
		t.Errorf("the table is in the fingerprint of passages, or not in that of questions: %v", err)
	}
	for text, says := range map[string]string{
		`[]`: "JSON object", `{"zzqq": 1}`: "vocabulary", `{"tree": -1}`: "negative",
	} {
		write(t, table, text)
		_, err := convert.Import(t.Context(), filepath.Join("testdata", "sparse", "bert"), filepath.Join(t.TempDir(), "m"), o)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, o := range []convert.Options{{Int8: true}, {Pooling: models.PoolingMean}, {PassageDir: "x"}} {
		if _, err := convert.Import(t.Context(), filepath.Join("testdata", "sparse", "bert"), filepath.Join(t.TempDir(), "m"),
			o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestPairs: what is above 0, in the order of ids, and the products of two lists.
func TestPairs(t *testing.T) {
	a, b := pairsOf([]float32{0, 2, 0, 0, 3}), pairsOf([]float32{5, 7, 0, 1, .5})
	if !slices.Equal(a, []float32{1, 2, 4, 3}) || pairsProduct(a, b) != 2*7+3*.5 || pairsProduct(a, nil) != 0 ||
		len(pairsOf(make([]float32, 3))) != 0 {
		t.Errorf("%v, %v", a, b)
	}
}
