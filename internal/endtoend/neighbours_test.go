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
	Text string `json:"text"`
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
