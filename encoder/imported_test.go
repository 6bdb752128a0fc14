package encoder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/tiny"
)

// TestCheckImported: the published base is taken as it was trained, and refused with another
// pooling, prefix or tokenizer, by which is named what is wrong.
func TestCheckImported(t *testing.T) {
	checkpoint := testenv.Checkpoint(t)
	r := library(t)
	// A vocabulary whose pieces have moved, and one that is read without lower-casing.
	other := func(change func(name, text string) string) string {
		dir := t.TempDir()
		for _, name := range []string{"config.json", "vocab.txt", "tokenizer_config.json", "modules.json", "1_Pooling/config.json", "model.safetensors"} {
			data, err := os.ReadFile(filepath.Join(checkpoint, name))
			if err != nil {
				t.Fatal(err)
			}
			if name != "model.safetensors" {
				data = []byte(change(name, string(data)))
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
				os.WriteFile(filepath.Join(dir, name), data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	moved := other(func(name, text string) string {
		if name != "vocab.txt" {
			return text
		}
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		words := append(append([]string{}, lines[1007:]...), lines[1000:1007]...)
		return strings.Join(append(lines[:1000:1000], words...), "\n") + "\n"
	})
	cased := other(func(name, text string) string {
		return strings.Replace(text, `"do_lower_case": true`, `"do_lower_case": false`, 1)
	})
	weather, none := "The weather report of tomorrow in the mountains of Peru, with snow and rain and a strong wind: ", ""
	for name, c := range map[string]struct {
		from    string
		o       convert.Options
		suspect string
	}{
		"as trained":      {checkpoint, convert.Options{Int8: true}, ""},
		"another pooling": {checkpoint, convert.Options{Pooling: models.PoolingCLS}, models.SettingPooling},
		"a strange prefix": {checkpoint, convert.Options{QuestionPrefix: &weather, PassagePrefix: &none},
			models.SettingPrefix},
		"another vocabulary": {moved, convert.Options{}, SettingTokenizer},
		"not lower-cased":    {cased, convert.Options{}, SettingTokenizer},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := convert.Import(t.Context(), c.from, filepath.Join(t.TempDir(), "b"), c.o)
			if err != nil {
				t.Fatal(err)
			}
			another := func(pooling string) (*models.Bundle, error) {
				o := c.o
				o.Pooling = pooling
				return convert.Import(t.Context(), c.from, filepath.Join(t.TempDir(), "b"), o)
			}
			if c.suspect != "" && c.suspect != models.SettingPooling {
				another = nil // which saves time
			}
			err = r.CheckImported(t.Context(), b, another)
			var doubt *DoubtError
			switch {
			case c.suspect == "" && err != nil:
				t.Error(err)
			case c.suspect != "" && (!errors.As(err, &doubt) || !strings.Contains(doubt.Setting, c.suspect)):
				t.Errorf("want a doubt of the %s, have %v", c.suspect, err)
			case c.suspect == models.SettingPooling && doubt.Better != models.PoolingMean:
				t.Errorf("better would be %q", doubt.Better)
			}
		})
	}
}

// TestCheckImportedRandom: random weights tell nothing from anything, and what makes no vectors
// of texts is not looked at.
func TestCheckImportedRandom(t *testing.T) {
	r := library(t)
	var doubt *DoubtError
	if err := r.CheckImported(t.Context(), bundle(t, tiny.Expert{}), nil); !errors.As(err, &doubt) {
		t.Errorf("random weights: %v", err)
	}
	if err := r.CheckImported(t.Context(), bundle(t, tiny.Expert{Reader: true}), nil); err != nil {
		t.Errorf("a reader: %v", err)
	}
}
