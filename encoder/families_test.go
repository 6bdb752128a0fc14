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

// familiesGolden is what transformers computes with the checkpoints of testdata/families
// (make.py).
type familiesGolden struct {
	Texts    []string    `json:"texts"`
	Passages [][2]string `json:"passages"` // title and text
	Families map[string]struct {
		Vectors []struct {
			IDs    []int32   `json:"ids"`
			Vector []float32 `json:"vector"`
		} `json:"vectors"`
		Scores []struct { // of each question, of each passage
			IDs   []int32 `json:"ids"`
			Score float64 `json:"score"`
		} `json:"scores"`
	} `json:"families"`
}

func readFamilies(tb testing.TB) (g familiesGolden) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "families", "golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// checkpoint returns a copy of a checkpoint of testdata/families with its map of characters.
func checkpoint(tb testing.TB, name string) string {
	tb.Helper()
	folder := filepath.Join(tb.TempDir(), name)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata", "families", name))); err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(folder, "tokenizer.json")
	text, err := os.ReadFile(path)
	if err == nil && strings.Contains(string(text), "CHARSMAP") {
		_, after, _ := strings.Cut(string(unzippedFile(tb, filepath.Join("testdata", "fid", "tokenizer.first.json.gz"))),
			`"precompiled_charsmap":"`)
		charsmap, _, _ := strings.Cut(after, `"`)
		err = os.WriteFile(path, []byte(strings.Replace(string(text), "CHARSMAP", charsmap, 1)), 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return folder
}

// familiesImported returns the families of the checkpoints that are compared.
func familiesImported() []string {
	return []string{"bert", "distilbert", "mpnet", "roberta", "xlm-roberta"}
}

const familyTokens = 60 // LONGEST of make.py

// TestRerankersAgreeWithTransformers: the ids of pairs, and what PyTorch computes of them.
func TestRerankersAgreeWithTransformers(t *testing.T) {
	r := library(t)
	golden := readFamilies(t)
	for _, name := range familiesImported() {
		want := golden.Families[name]
		t.Run(name, func(t *testing.T) {
			b, err := convert.Import(t.Context(), checkpoint(t, name+"-reranker"), filepath.Join(t.TempDir(), "made"),
				convert.Options{MaxTokens: models.MaxTokens{Passage: familyTokens}})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			x, err := r.OpenReranker(b, Running{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Close() }()
			var passages []Text
			for _, p := range golden.Passages {
				passages = append(passages, Text{p[0], p[1]})
			}
			worst := 0.0
			lowest, highest := math.Inf(1), math.Inf(-1)
			for i := 0; i*len(passages) < len(want.Scores); i++ {
				said, err := x.Score(t.Context(), golden.Texts[i], passages)
				if err != nil {
					t.Fatal(err)
				}
				for j, s := range said {
					w := want.Scores[i*len(passages)+j]
					ids, cut, err := x.pairTokens(golden.Texts[i], passages[j])
					if err != nil || !slices.Equal(ids, w.IDs) {
						t.Errorf("question %d, passage %d: the ids %v, not %v (%v)", i, j, ids, w.IDs, err)
					}
					if s.Cut != cut || cut && len(ids) != familyTokens {
						t.Errorf("question %d, passage %d: cut %t of %d", i, j, s.Cut, len(ids))
					}
					worst = max(worst, math.Abs(s.Score-w.Score))
					lowest, highest = min(lowest, w.Score), max(highest, w.Score)
				}
			}
			if !(worst <= 1e-4) || !(highest-lowest > 0.1) {
				t.Errorf("scores from %g to %g: %g apart", lowest, highest, worst)
			}
			t.Logf("scores from %.3g to %.3g: %.2g apart", lowest, highest, worst)
		})
	}
}

// TestEncodersAgreeWithTransformers: the vectors that PyTorch computes.
func TestEncodersAgreeWithTransformers(t *testing.T) {
	r := library(t)
	golden := readFamilies(t)
	for _, name := range familiesImported() {
		want := golden.Families[name]
		t.Run(name, func(t *testing.T) {
			b, err := convert.Import(t.Context(), checkpoint(t, name), filepath.Join(t.TempDir(), "made"), convert.Options{
				MaxTokens: models.MaxTokens{Question: familyTokens, Passage: familyTokens}, Pooling: models.PoolingMean,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			x, err := r.Open(b, Running{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = x.Close() }()
			worst := 0.0
			for i, text := range golden.Texts {
				w := want.Vectors[i]
				if got := x.tokenizer.tokensOf(text, familyTokens); !slices.Equal(got.ids, w.IDs) {
					t.Errorf("%q: the ids %v, not %v", text, got.ids, w.IDs)
				}
				vector, err := x.EncodeQuestion(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				for j := range vector {
					worst = max(worst, math.Abs(float64(vector[j]-w.Vector[j])))
				}
			}
			if !(worst <= 1e-4) {
				t.Errorf("%g apart", worst)
			}
			t.Logf("%.2g apart", worst)
		})
	}
}
