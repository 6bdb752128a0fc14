package convert

import (
	"bytes"
	"context"
	"math"
	"os"
	"testing"

	"example.org/conclave/models/convert/safetensors"
)

// TestMergedWeightsAgreeWithNumPy compares the weights that are about to be
// written with those of training/golden, which training/golden/make.py
// computed in float64.
func TestMergedWeightsAgreeWithNumPy(t *testing.T) {
	for delta, files := range map[string][]string{"tied": {"tied.shared"}, "two": {"two.question", "two.passage"}} {
		d, err := OpenDelta(os.DirFS("../../training/golden/" + delta))
		if err != nil {
			t.Fatal(err)
		}
		base, err := openEncoders(context.Background(), "../../training/golden/base", "")
		if err != nil {
			t.Fatal(err)
		}
		defer base.close()
		graphs, err := d.encoderGraphs(base)
		if err != nil {
			t.Fatal(err)
		}
		if len(graphs) != len(files) {
			t.Fatalf("%s: %d graphs", delta, len(graphs))
		}
		for i, g := range graphs {
			want, err := safetensors.Open("../../training/golden/" + files[i] + ".safetensors")
			if err != nil {
				t.Fatal(err)
			}
			var worst, moved float64
			for _, named := range g.tower.config.Names(false) {
				expected, err := want.Floats(named.Name, named.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				got, err := g.Tensor(named.Name, named.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				plain, err := g.tower.Tensor(named.Name, named.Shape...)
				if err != nil {
					t.Fatal(err)
				}
				for j := range expected {
					worst = max(worst, math.Abs(float64(got[j])-float64(expected[j])))
					moved = max(moved, math.Abs(float64(got[j])-float64(plain[j])))
				}
			}
			_ = want.Close()
			t.Logf("%s: weights moved by %.3f at most, %.2g from NumPy's", files[i], moved, worst)
			if !(worst <= 1e-6) || moved < 1e-3 {
				t.Errorf("%s: a weight is %g from NumPy's; the delta moves them by %g", files[i], worst, moved)
			}
		}
	}
}

// FuzzReadUpdate: deltas come from strangers.
func FuzzReadUpdate(f *testing.F) {
	half := func(name string, shape ...int) Tensor {
		n := 2
		for _, d := range shape {
			n *= d
		}
		return Tensor{Name: name, Type: "F16", Shape: shape, Raw: make([]byte, n)}
	}
	for _, tower := range []string{"shared", "question"} {
		var b bytes.Buffer
		if err := WriteTensors(&b, map[string]string{"format": "conclave-delta-1", "base_sha256": "ab"}, []Tensor{
			half(tower+".w.up", 2, 1), half(tower+".w.down", 1, 3), half(tower+".b.diff", 2), half(tower+".n.new", 2, 1),
		}); err != nil {
			f.Fatal(err)
		}
		if _, err := readUpdate(b.Bytes(), "ab"); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), "ab")
		f.Add(b.Bytes()[:b.Len()/2], "ab")
	}
	f.Fuzz(func(t *testing.T, data []byte, base string) {
		u, err := readUpdate(data, base)
		if err != nil {
			return
		}
		for tower, changes := range u {
			for name, c := range changes {
				switch n := len(c.shape); {
				case c.fresh != nil && (c.up != nil || c.diff != nil):
					t.Errorf("%s.%s: a new tensor and a change of it", tower, name)
				case c.fresh == nil && c.diff == nil && (n != 2 || len(c.up) != c.shape[0]*c.rank ||
					len(c.down) != c.rank*c.shape[1]):
					t.Errorf(
						"%s.%s: factors of %d and %d numbers, rank %d, for %v",
						tower,
						name,
						len(c.up),
						len(c.down),
						c.rank,
						c.shape,
					)
				case c.diff != nil && (c.up != nil || c.down != nil):
					t.Errorf("%s.%s: factors and a difference", tower, name)
				}
			}
		}
	})
}
