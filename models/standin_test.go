package models_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// TestStandIn: only a graph of the same weights and settings stands in for another one.
func TestStandIn(t *testing.T) {
	imported := func(folder string, o convert.Options) *models.Bundle {
		t.Helper()
		b, err := convert.Import(t.Context(), "../training/golden/"+folder, filepath.Join(t.TempDir(), "b"), o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	of := imported("base", convert.Options{Name: "a", Int8: true})
	full := imported("base", convert.Options{Name: "a-fp32"})
	in, err := full.StandIn(of)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []models.Side{models.Question, models.Passage} {
		if full.Fingerprint(side) == of.Fingerprint(side) || in.Fingerprint(side) != of.Fingerprint(side) {
			t.Errorf("side %d: %s stands in for %s", side, in.Fingerprint(side), of.Fingerprint(side))
		}
	}
	if in.StandsFor() != of || full.StandsFor() != nil || in.Dir != full.Dir ||
		in.Manifest.Precision != models.PrecisionFP32 {
		t.Errorf("%+v", in)
	}
	delta := imported("tied", convert.Options{Base: "../training/golden/base"})
	if _, err := delta.StandIn(of); err == nil || !strings.Contains(err.Error(), "different weights") {
		t.Errorf("other weights: %v", err)
	}
	other := imported("base", convert.Options{Name: "a-fp32", Pooling: models.PoolingCLS})
	if _, err := other.StandIn(of); err == nil || !strings.Contains(err.Error(), "different settings") {
		t.Errorf("other pooling: %v", err)
	}
	unknown := *full
	unknown.Manifest.Lineage = models.Lineage{}
	if _, err := unknown.StandIn(&unknown); err == nil {
		t.Error("weights of unknown origin were accepted")
	}
}
