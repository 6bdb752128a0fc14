package convert_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/tiny"
)

// TestRepresentativesAreTheFiles: NumPy wrote 16-bit numbers; what is read is
// their value, in the delta and in what is merged from it.
func TestRepresentativesAreTheFiles(t *testing.T) {
	delta, err := models.Load(goldenTied)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*models.Bundle{delta, merge(t, goldenTied, convert.Options{})} {
		r, err := b.Representatives()
		if err != nil {
			t.Fatal(err)
		}
		if r.Len() != 192 || r.Dimension != 32 || len(r.Row(191)) != 32 || r.BaseSHA256 != b.Manifest.Base.WeightsSHA256 {
			t.Fatalf("%d rows of %d, of %s", r.Len(), r.Dimension, r.BaseSHA256)
		}
		_, tensors := readTensors(t, b.Path("representatives.safetensors"))
		for _, at := range []int{0, 5, 192*32 - 1} {
			bits := uint16(tensors[0].Raw[2*at]) | uint16(tensors[0].Raw[2*at+1])<<8
			want := math.Ldexp(1+float64(bits&1023)/1024, int(bits>>10&31)-15)
			if bits>>15 == 1 {
				want = -want
			}
			if float64(r.Vectors[at]) != want || r.Row(at / 32)[at%32] != r.Vectors[at] {
				t.Errorf("element %d is %v, not %v", at, r.Vectors[at], want)
			}
		}
	}
	if r, err := write(t, tiny.Expert{}).Representatives(); r != nil || err != nil {
		t.Errorf("of a bundle without: %v, %v", r, err)
	}
}

func TestRepresentativesErrors(t *testing.T) {
	const file = "representatives.safetensors"
	for want, change := range map[string]func(metadata map[string]string, all []convert.Tensor) []convert.Tensor{
		`its format is "x"`: func(m map[string]string, all []convert.Tensor) []convert.Tensor {
			m["format"] = "x"
			return all
		},
		`of a base with SHA-256 "ab"`: func(m map[string]string, all []convert.Tensor) []convert.Tensor {
			m["base_sha256"] = "ab"
			return all
		},
		`"questions" alone is expected`: func(_ map[string]string, all []convert.Tensor) []convert.Tensor {
			return append(all, convert.Tensor{Name: "more", Type: "F16", Shape: []int{0}})
		},
		`has shape [384 16]; [R, 32]`: func(_ map[string]string, all []convert.Tensor) []convert.Tensor {
			all[0].Shape = []int{384, 16}
			return all
		},
		"one row or more": func(_ map[string]string, all []convert.Tensor) []convert.Tensor {
			all[0].Shape = []int{0, 32}
			all[0].Raw = nil
			return all
		},
		`row 1 of "questions" has length 0.0000`: func(_ map[string]string, all []convert.Tensor) []convert.Tensor {
			clear(all[0].Raw[64:128])
			return all
		},
	} {
		w := readDelta(t, goldenTied)
		dir := w.write(t, goldenTied)
		metadata, all := readTensors(t, filepath.Join(dir, file))
		all = change(metadata, all)
		w.manifest.Files[file] = writeTensors(t, filepath.Join(dir, file), metadata, all)
		writeManifest(t, dir, w.manifest)
		if _, err := convert.OpenDelta(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
		b, err := models.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Representatives(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, have %v", want, err)
		}
	}
}
