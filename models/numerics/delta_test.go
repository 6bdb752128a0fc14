package numerics

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// merged merges a delta with its base and opens what comes of it.
func merged(tb testing.TB, delta *convert.Delta, base string, int8 bool) *models.Bundle {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "merged")
	if _, err := delta.Merge(context.Background(), out, convert.Options{Base: base, Int8: int8}); err != nil {
		tb.Fatal(err)
	}
	b, err := models.Load(out)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestMergedVectorsAgreeWithNumPy: what training/golden/make.py computed in
// float64 from the files as written.
func TestMergedVectorsAgreeWithNumPy(t *testing.T) {
	start(t)
	for _, name := range []string{"tied", "two"} {
		folder := filepath.Join("..", "..", "training", "golden")
		d, err := convert.OpenDelta(os.DirFS(filepath.Join(folder, name)))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(folder, name+".vectors.json"))
		if err != nil {
			t.Fatal(err)
		}
		var rows []struct {
			Title, Text       string
			Question, Passage []float32
		}
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatal(err)
		}
		b := merged(t, d, filepath.Join(folder, "base"), false)
		short := merged(t, d, filepath.Join(folder, "base"), true)
		words, err := wordpiece.Open(b.Path(b.Manifest.Tokenizer), b.Manifest.LowerCase)
		if err != nil {
			t.Fatal(err)
		}
		var worst float64
		least := 1.0
		compare := func(side models.Side, of string, limit int, want []float32) {
			ids, err := words.Encode(of, limit)
			if err != nil {
				t.Fatal(err)
			}
			var x text
			for _, id := range ids {
				x.ids = append(x.ids, int(id))
			}
			worst = max(worst, apart(open(t, b, side).encode(t, []text{x}, 0, 0)[0], want))
			least = min(least, cosine(open(t, short, side).encode(t, []text{x}, 0, 0)[0], want))
		}
		for _, row := range rows {
			compare(models.Question, row.Text, b.Manifest.Vectors.MaxTokens.Question, row.Question)
			passage := row.Text
			if row.Title != "" {
				passage = row.Title + ". " + row.Text
			}
			compare(models.Passage, passage, b.Manifest.Vectors.MaxTokens.Passage, row.Passage)
		}
		t.Logf("%s: largest difference of a component %.2g, in int8 the least cosine %.4f", name, worst, least)
		if !(worst <= 1e-6) {
			t.Errorf("%s: a component is %g from NumPy's", name, worst)
		}
		if !(least >= 0.98) {
			t.Errorf("%s: cosine %.4f in int8", name, least)
		}
	}
}
