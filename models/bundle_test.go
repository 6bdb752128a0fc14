package models_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

func write(tb testing.TB, o tiny.Expert) *models.Bundle {
	tb.Helper()
	b, err := tiny.Write(filepath.Join(tb.TempDir(), "bundle"), o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func full() tiny.Expert {
	return tiny.Expert{
		TwoTowers:       true,
		EnsembleMembers: 3,
		Calibration: &models.Calibration{
			Temperature:   0.05,
			Depth:         20,
			ECEBefore:     0.3,
			ECEAfter:      0.05,
			Questions:     "dev",
			QuestionCount: 9,
		},
	}
}

func TestLoadNamesTheChangedFile(t *testing.T) {
	b := write(t, full())
	for _, name := range []string{"expert.yaml", "calibration.yaml", "question.onnx", "passage.onnx", "ensemble.onnx", "vocab.txt", "CARD.md"} {
		path := b.Path(name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, len(good) / 2, len(good) - 1} {
			bad := append([]byte{}, good...)
			bad[at] ^= 1
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := models.Load(b.Dir); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s with byte %d changed: %v", name, at, err)
			}
		}
		if err := os.WriteFile(path, good[:len(good)-3], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := models.Load(b.Dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s cut short: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		_, err = models.Load(b.Dir)
		if name == "calibration.yaml" {
			if err != nil {
				t.Errorf("without a calibration: %v", err)
			}
		} else if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s missing: %v", name, err)
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := models.Load(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got.Calibration == nil || got.Calibration.Depth != 20 ||
		got.Calibration.Encoder != got.Fingerprint(models.Question) {
		t.Errorf("calibration %+v", got.Calibration)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
}

func TestCheckFindsAManifestThatPromisesTooMuch(t *testing.T) {
	for want, change := range map[string]func(*models.Manifest){
		"[batch, 32]":  func(m *models.Manifest) { m.Vectors.Dimension = 64 },
		"vectors":      func(m *models.Manifest) { m.Vectors.Question.Embedding = "vectors" },
		"inputs":       func(m *models.Manifest) { m.Vectors.Passage.TokenTypeIDs = "" },
		"3, 32":        func(m *models.Manifest) { m.Vectors.Ensemble.Members = 4 },
		"not an ONNX":  func(m *models.Manifest) { m.Vectors.Question.File = "vocab.txt" },
		"no such file": func(m *models.Manifest) { m.Vectors.Question.File = "absent" },
	} {
		b := write(t, full())
		change(&b.Manifest)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}

func TestCalibrationOfAnotherEncoderIsRefused(t *testing.T) {
	a, b := write(t, full()), write(t, tiny.Expert{Seed: 9})
	data, err := os.ReadFile(a.Path(models.CalibrationFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path(models.CalibrationFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := models.Load(b.Dir); err == nil || !strings.Contains(err.Error(), "another encoder") {
		t.Errorf("%v", err)
	}
}

func TestCalibrationValues(t *testing.T) {
	b := write(t, tiny.Expert{})
	for want, c := range map[string]models.Calibration{
		"temperature": {Temperature: 0, Depth: 20},
		"depth":       {Temperature: 1, Depth: 1},
		"ece_before":  {Temperature: 1, Depth: 20, ECEBefore: 1.5},
		"ece_after":   {Temperature: 1, Depth: 20, ECEAfter: -1},
	} {
		if err := b.WriteCalibration(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
	if _, err := models.ParseCalibration([]byte("temperatur: 1\n")); err == nil {
		t.Error("an unknown key was read")
	}
}

func TestFingerprint(t *testing.T) {
	base := write(t, tiny.Expert{})
	same := write(t, tiny.Expert{Name: "renamed", EnsembleMembers: 2, Calibration: full().Calibration})
	for _, side := range []models.Side{models.Question, models.Passage} {
		if base.Fingerprint(side) != same.Fingerprint(side) {
			t.Errorf("side %d: name, ensemble or calibration changed the fingerprint", side)
		}
	}
	if base.Fingerprint(models.Question) == base.Fingerprint(models.Passage) {
		t.Error("the sides have other length limits and the same fingerprint")
	}
	for name, o := range map[string]tiny.Expert{
		"weights": {Seed: 1}, "pooling": {Pooling: models.PoolingCLS}, "unit length": {RawLength: true},
		"template":   {Template: models.TemplateText},
		"vocabulary": {Vocabulary: append(tiny.Vocabulary(), "zebra")}, "limit": {MaxTokens: models.MaxTokens{Passage: 128}}, "int8": {Int8: true},
	} {
		if write(t, o).Fingerprint(models.Passage) == base.Fingerprint(models.Passage) {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
	if write(t, tiny.Expert{Template: models.TemplateText}).Fingerprint(models.Question) !=
		base.Fingerprint(
			models.Question,
		) {
		t.Error("the passages' template changed the questions' fingerprint")
	}
	for name, change := range map[string]func(*models.Manifest){
		"case":      func(m *models.Manifest) { m.LowerCase = false },
		"tokenizer": func(m *models.Manifest) { m.Files[m.Tokenizer] = hash },
		"output":    func(m *models.Manifest) { m.Vectors.Question.Embedding = "other" },
	} {
		changed := *base
		changed.Manifest = base.Manifest.Clone()
		change(&changed.Manifest)
		if changed.Fingerprint(models.Question) == base.Fingerprint(models.Question) {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a"} {
		if _, err := tiny.Write(filepath.Join(dir, name), tiny.Expert{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"broken/expert.yaml": "format: 9\n", "other/readme": "", "file": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := models.List(dir)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if all[0].Name != "a" || all[1].Name != "b" || all[0].Fingerprint == "" || all[0].Error != "" ||
		all[2].Name != "broken" ||
		all[2].Error == "" ||
		all[2].Fingerprint != "" {
		t.Errorf("%+v", all)
	}
	if _, err := models.List(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder: %v", err)
	}
}
