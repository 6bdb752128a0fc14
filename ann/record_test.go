package ann

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
)

// TestRecords: an index of vectors that were kept as records is the same file as one of the vectors themselves, also
// where lists of tokens are joined. No record is longer than what the index keeps, but for a bit a token.
func TestRecords(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	const dim = 12
	token := func() []float32 {
		v := make([]float32, dim)
		square := float32(0)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			square += v[i] * v[i]
		}
		for i := range v {
			v[i] /= max(square, 1)
		}
		return v
	}
	tokens := func() (list []float32) {
		for range 1 + rng.IntN(40) {
			if rng.IntN(5) == 0 {
				list = append(list, make([]float32, dim)...)
			} else {
				list = append(list, token()...)
			}
		}
		return list
	}
	weights := func() (list []float32) {
		for id := rng.IntN(50); id < 1000; id += 1 + rng.IntN(400) {
			list = append(list, float32(id), float32(rng.ExpFloat64())+1e-6)
		}
		return list
	}
	for kind, of := range map[string]struct {
		dim  int
		make func() []float32
	}{Flat: {dim, token}, HNSW: {dim, token}, Late: {dim, tokens}, Sparse: {2, weights}} {
		var made, back [][]float32
		for range 200 {
			v := of.make()
			record, numbers, err := AppendRecord([]byte("before"), kind, v, of.dim)
			if err != nil {
				t.Fatal(err)
			}
			w, err := DecodeRecord(record[len("before"):], kind, numbers, of.dim)
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := RecordBytes(kind, numbers, of.dim); !ok || n != len(record)-len("before") {
				t.Fatalf("%s: %d bytes, %v, want %d", kind, n, ok, len(record)-len("before"))
			}
			if _, err := DecodeRecord(record, kind, numbers, of.dim); err == nil {
				t.Fatalf("%s: a record of another length was taken", kind)
			}
			made, back = append(made, v), append(back, w)
		}
		if kind == Late {
			for i := range 100 {
				made = append(made, slices.Concat(made[i], made[i+1], made[i+2]))
				back = append(back, slices.Concat(back[i], back[i+1], back[i+2]))
			}
		}
		if !bytes.Equal(vectorsFile(t, kind, of.dim, made), vectorsFile(t, kind, of.dim, back)) {
			t.Errorf("%s: the files differ", kind)
		}
	}
	for kind, v := range map[string][]float32{
		Flat: {1e9, 0, 0, 0}, Late: {3, 0, 0, 0}, Sparse: {5, 1, 4, 1}, "none": {1, 0, 0, 0},
	} {
		if _, _, err := AppendRecord(nil, kind, v, map[bool]int{true: 2, false: 4}[kind == Sparse]); err == nil {
			t.Errorf("%s: %v was taken", kind, v)
		}
	}
}

// vectorsFile returns the content of the file of vectors of an index.
func vectorsFile(t *testing.T, kind string, dim int, vectors [][]float32) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vectors")
	w, err := Create(disk.OS{}, kind, path, dim)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
