package endtoend

import (
	"context"
	"log/slog"
	"math"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/testing/golden"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
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
	config := configured(t)
	config.Experts = []configs.Expert{{Name: shipped.Base, Bundle: testenv.Base(t, precision)}}
	loaded, err := experts.Open(config, slog.New(slog.DiscardHandler), []string{shipped.Base})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := loaded.Close(); err != nil {
			t.Error(err)
		}
	})
	base := loaded.All()[0]
	if base.Bundle.Manifest.Precision != precision {
		t.Fatalf("%s is in %s", base.Bundle.Dir, base.Bundle.Manifest.Precision)
	}
	return base.Encoder.(*encoder.Encoder)
}
