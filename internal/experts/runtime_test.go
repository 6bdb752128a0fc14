package experts

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/internal/testing/tinyexperts"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"
)

// TestFullPrecision: an expert in 8 bits is asked through its graph in full precision, where that is there and
// gives vectors like its own.
func TestFullPrecision(t *testing.T) {
	config := configs.Config{Cache: t.TempDir(), Bundles: t.TempDir(), Runtime: testenv.Runtime(t)}
	config.Encoder.Provider = encoder.CPU
	imported := func(name string, int8 bool) *models.Bundle {
		t.Helper()
		b, err := convert.Import(t.Context(), tinyexperts.Golden(t, "base"), filepath.Join(config.Bundles, name),
			convert.Options{Name: name, Int8: int8})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	opened := func() (*Expert, error) {
		x, err := Open(config, slog.New(slog.DiscardHandler), []string{"mine"})
		if err != nil {
			return nil, err
		}
		e := x.Searched[0]
		return e, x.Close()
	}
	eight := imported("mine", true)
	config.Encoder.Precision = "fp32"
	var none *NoFullError
	if _, err := opened(); !errors.As(err, &none) || !strings.HasSuffix(none.Folder, "mine-fp32") {
		t.Errorf("without the other graph: %v", err)
	}
	full := imported(shipped.InFull("mine"), false)
	e, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	if e.Bundle.Dir != full.Dir || e.Fingerprint() != encoder.Normalised(eight.Fingerprint(models.Passage)) {
		t.Errorf("runs %s with fingerprint %s", e.Bundle.Dir, e.Fingerprint())
	}
	config.Encoder.Precision = "auto"
	e, err = opened()
	if err != nil || e.Bundle.Dir != eight.Dir {
		t.Errorf("auto on a processor: %+v, %v", e, err)
	}

	// Another graph, under a manifest that says that its weights are the same.
	config.Encoder.Precision = "fp32"
	pretend(t, full)
	var unlike *UnlikeError
	if _, err := opened(); !errors.As(err, &unlike) || unlike.Cosine >= models.LeastAlike {
		t.Errorf("other vectors: %v", err)
	}
}

// pretend replaces a bundle by one of other weights, the signs of half of which are changed, whose manifest says that
// they are the same.
func pretend(t *testing.T, b *models.Bundle) {
	t.Helper()
	checkpoint := t.TempDir()
	if err := os.CopyFS(checkpoint, os.DirFS(tinyexperts.Golden(t, "base"))); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(checkpoint, "model.safetensors")
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 2 / 8 * 8; i+8 <= len(data); i += 8 {
		data[i+3] ^= 0x80
	}
	if err := os.WriteFile(weights, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.Dir); err != nil {
		t.Fatal(err)
	}
	other, err := convert.Import(t.Context(), checkpoint, b.Dir, convert.Options{Name: b.Manifest.Name})
	if err != nil {
		t.Fatal(err)
	}
	other.Manifest.Lineage.SourceSHA256 = b.Manifest.Lineage.SourceSHA256
	text, err := other.Manifest.Encode()
	if err == nil {
		err = os.WriteFile(other.Path(models.ManifestFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
