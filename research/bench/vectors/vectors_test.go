package vectors

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/ann"
)

func TestReadVectorsRefuses(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "v.f16")
	if err := os.WriteFile(path, make([]byte, 14), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, read := range map[string]func() ([]float32, error){
		"no whole number of rows": func() ([]float32, error) { return readVectors(path, 3) },
		"the dimension is 0":      func() ([]float32, error) { return readVectors(path, 0) },
		"should end in":           func() ([]float32, error) { return readVectors(filepath.Join(folder, "v.bin"), 3) },
		"no such file":            func() ([]float32, error) { return readVectors(filepath.Join(folder, "x.f32"), 3) },
	} {
		if _, err := read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if v, err := readVectors(path, 7); err != nil || len(v) != 7 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestRun measures a small generated set with every kind: the names that
// readers of the JSON rely on, recalls that make sense, and the same answers
// from given true neighbours as from computed ones.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	vectors, queries := filepath.Join(folder, "v.f16"), filepath.Join(folder, "q.f16")
	const n, dim, asked = 3000, 24, 40
	for path, part := range map[string][2]int{vectors: {n, 0}, queries: {asked, n}} {
		if err := Generate(path, part[0], dim, 5, part[1]); err != nil {
			t.Fatal(err)
		}
	}
	v, err := readVectors(vectors, dim)
	if err != nil || len(v) != n*dim {
		t.Fatalf("%d numbers: %v", len(v), err)
	}
	square := 0.0
	for _, x := range v[:dim] {
		square += float64(x) * float64(x)
	}
	if math.Abs(square-1) > 0.01 {
		t.Errorf("a generated vector has the squared length %v", square)
	}
	o := Trial{Vectors: vectors, Queries: queries, Dim: dim, Ef: []int{100, 400}, Passes: 1}
	reports := map[string]Figures{}
	for _, kind := range ann.Kinds() {
		o.Kind = kind.Name
		o.Folder = filepath.Join(folder, kind.Name)
		if err := os.Mkdir(o.Folder, 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), o)
		if kind.Tokens || kind.Pairs {
			if err == nil || !strings.Contains(err.Error(), "lists of vectors") {
				t.Errorf("%s: %v, want an error with \"lists of vectors\"", kind.Name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Rows != n || r.Queries != asked || len(r.Points) == 0 || r.Points[0].QPS <= 0 || r.BytesPerVector <= 0 ||
			r.DiskPerVector < 2*dim {
			t.Errorf("%s: %+v", kind.Name, r)
		}
		reports[kind.Name] = r
	}
	if p := reports[ann.Flat].Points[0]; p.Recall10 != 1 || p.Recall100 != 1 || p.Scored != n {
		t.Errorf("exact search: %+v", p)
	}
	if e := reports[ann.Flat].Exact; e == nil || e.QPS <= 0 || e.SharedQPS <= 0 || e.MemoryPerSecond <= 0 {
		t.Errorf("exact search: %+v", e)
	}
	if p := reports[ann.HNSW].Points[1]; p.Recall100 < 0.97 {
		t.Errorf("hnsw: %+v", p)
	}
	raw, err := json.Marshal(reports[ann.HNSW])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"build_s":`, `"bytes_per_vector":`, `"points":[{"ef":100,"qps":`, `"recall10":`, `"recall100":`} {
		if !strings.Contains(string(raw), name) {
			t.Errorf("%s is missing in %s", name, raw)
		}
	}
	// Wrong true neighbours must show; right ones must not differ.
	o.Kind = ann.Flat
	o.Folder = ""
	o.Truth = filepath.Join(folder, "truth")
	wrong := make([]byte, 4*K*asked)
	for i := range K * asked {
		binary.LittleEndian.PutUint32(wrong[4*i:], uint32(1<<20+i))
	}
	for want, content := range map[string][]byte{"": wrong, "4 bytes each": wrong[:100]} {
		if err := os.WriteFile(o.Truth, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), o)
		if want == "" && (err != nil || r.Points[0].Recall100 != 0) {
			t.Errorf("with wrong true neighbours: %+v, %v", r, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// TestRunFilters: every share of every kind of filter is measured, and what is
// said to be exact finds all.
func TestRunFilters(t *testing.T) {
	folder := t.TempDir()
	vectors, queries := filepath.Join(folder, "v.f16"), filepath.Join(folder, "q.f16")
	const n, dim, asked = 4000, 16, 10
	for path, part := range map[string][2]int{vectors: {n, 0}, queries: {asked, n}} {
		if err := Generate(path, part[0], dim, 6, part[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := Generate(filepath.Join(folder, "v.f32"), n, dim, 6, 0); err == nil {
		t.Error("halves were written to a file whose name says otherwise")
	}
	shares := []float64{0.9, 0.01}
	points, err := RunFilters(
		context.Background(),
		Trial{Vectors: vectors, Queries: queries, Dim: dim, Kind: ann.HNSW, Ef: []int{120}},
		shares,
	)
	if err != nil || len(points) != 1+4*len(shares) {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for _, p := range points {
		if want := int(p.Selectivity * n); p.Allowed != want || p.QPS <= 0 || p.WalkQPS <= 0 || p.ScanQPS <= 0 {
			t.Errorf("%+v", p)
		}
		if p.Selectivity < 0.1 && (p.Exact != 1 || p.Recall10 != 1 || p.Recall100 != 1 || p.GivenUp != 1) {
			t.Errorf("a narrow filter: %+v", p)
		}
		if p.Recall10 < 0.98 {
			t.Errorf("%+v", p)
		}
	}
}
