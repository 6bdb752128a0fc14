package endtoend

import (
	"context"
	"math"
	"testing"

	"conclave/encoder"
	"conclave/internal/golden"
	"conclave/internal/testenv"
	"conclave/models"
)

type embedded struct {
	Text      string    `json:"text"`
	Embedding []float64 `json:"embedding"`
}

// TestBaseEncoderAgreesWithPyTorch compares the imported base encoder, as
// served, with PyTorch's output for the published weights.
func TestBaseEncoderAgreesWithPyTorch(t *testing.T) {
	lines := golden.Lines[embedded](t, "golden/minilm.jsonl.gz")
	texts := make([]encoder.Text, len(lines))
	for i, line := range lines {
		texts[i] = encoder.Text{Text: line.Text}
	}
	for _, precision := range []string{models.PrecisionFP32, models.PrecisionInt8} {
		t.Run(precision, func(t *testing.T) {
			e := openBase(t, precision)
			vectors, err := e.EncodePassages(context.Background(), texts)
			if err != nil {
				t.Fatal(err)
			}
			sum, lowest := 0.0, 1.0
			for i, v := range vectors {
				cosine := cosineOf(t, v, lines[i].Embedding)
				sum += cosine
				lowest = min(lowest, cosine)
				if precision == models.PrecisionFP32 {
					for j, x := range v {
						if math.Abs(float64(x)-lines[i].Embedding[j]) > 1e-4 {
							t.Fatalf("text %d, component %d: %v, PyTorch has %v", i, j, x, lines[i].Embedding[j])
						}
					}
				}
			}
			mean := sum / float64(len(vectors))
			t.Logf("%d texts: cosine %.5f on average, %.5f at least", len(vectors), mean, lowest)
			if mean < 0.99 || lowest < 0.97 {
				t.Errorf("cosine to PyTorch: %.5f on average, %.5f at least; 0.99 and 0.97 are asked for", mean, lowest)
			}
		})
	}
}

// TestNeighboursDoNotMatter encodes texts alone and together: what else is in
// a batch may change a vector by rounding only.
func TestNeighboursDoNotMatter(t *testing.T) {
	lines := golden.Lines[embedded](t, "golden/minilm.jsonl.gz")
	lines = lines[:min(len(lines), 48)]
	texts := make([]encoder.Text, len(lines))
	for i, line := range lines {
		texts[i] = encoder.Text{Text: line.Text}
	}
	for _, precision := range []string{models.PrecisionFP32, models.PrecisionInt8} {
		t.Run(precision, func(t *testing.T) {
			e := openBase(t, precision)
			together, err := e.EncodePassages(context.Background(), texts)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				alone, err := e.EncodePassages(context.Background(), []encoder.Text{text})
				if err != nil {
					t.Fatal(err)
				}
				for j, x := range alone[0] {
					if d := math.Abs(float64(x - together[i][j])); d > 1e-5 {
						t.Fatalf("text %d: component %d differs by %.1e between alone and in a batch", i, j, d)
					}
				}
			}
		})
	}
}

func openBase(t *testing.T, precision string) *encoder.Encoder {
	t.Helper()
	bundle, err := models.Load(testenv.Base(t, precision))
	if err != nil {
		t.Fatal(err)
	}
	if bundle.Manifest.Precision != precision {
		t.Fatalf("%s is in %s", bundle.Dir, bundle.Manifest.Precision)
	}
	library := runtime(t)
	e, err := library.Open(bundle, encoder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func cosineOf(t *testing.T, a []float32, b []float64) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d components, PyTorch has %d", len(a), len(b))
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * b[i]
		aa += float64(a[i]) * float64(a[i])
		bb += b[i] * b[i]
	}
	return dot / math.Sqrt(aa*bb)
}
