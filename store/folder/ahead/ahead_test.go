package ahead

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// hashEncoder makes vectors from hashes of the texts, and counts them.
type hashEncoder struct {
	name    string
	version int
	late    bool // a vector for each of a number of tokens that differs
	parts   func(string) []rank.Span
	owner   string
	encoded atomic.Int64
	before  func(encoded int64) error
}

const dimension = 4

func (e *hashEncoder) Name() string   { return e.name }
func (e *hashEncoder) Dimension() int { return dimension }
func (e *hashEncoder) Late() bool     { return e.late }

func (e *hashEncoder) Parts() func(string) []rank.Span { return e.parts }

func (e *hashEncoder) Owner() string { return e.owner }

func (e *hashEncoder) Fingerprint() string {
	return fmt.Sprint("hash ", cmp.Or(e.owner, e.name), " ", e.version)
}

func (e *hashEncoder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	if e.before != nil {
		if err := e.before(e.encoded.Load()); err != nil {
			return nil, err
		}
	}
	e.encoded.Add(int64(len(passages)))
	out := make([][]float32, len(passages))
	for i, p := range passages {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, e.version, p.Title, p.Text)
		numbers := dimension
		if e.late {
			numbers *= 1 + int(h.Sum64()%3)
		}
		for range numbers {
			_, _ = h.Write([]byte{1})
			out[i] = append(out[i], float32(h.Sum64()%1000)/500-1)
		}
		if e.late { // tokens have the length 1, or are zeros
			for n, token := range slices.Collect(slices.Chunk(out[i], dimension)) {
				toUnit(token)
				if (n+len(p.Text))%3 == 0 {
					clear(token)
				}
			}
		}
	}
	return out, ctx.Err()
}

// toUnit scales a vector to the length 1.
func toUnit(vector []float32) {
	square := 0.0
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(square))
	}
}

// stored returns the file that an index keeps of vectors, and the same of each two joined to one list if they are late.
func stored(t *testing.T, late bool, vectors [][]float32) []byte {
	t.Helper()
	kind := ann.Flat
	if late {
		kind = ann.Late
		vectors = slices.Clone(vectors)
		for i := range len(vectors) / 2 {
			vectors = append(vectors, slices.Concat(vectors[2*i], vectors[2*i+1]))
		}
	}
	path := filepath.Join(t.TempDir(), "vectors")
	w, err := ann.Create(disk.OS{}, kind, path, dimension)
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

// TestPrivate: what is kept of passages is for their owner alone.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.work")
	openAhead(t, path, &hashEncoder{name: "a"})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func numbered(n int) []corpus.Passage {
	out := make([]corpus.Passage, n)
	for i := range out {
		out[i] = corpus.Passage{ID: fmt.Sprint("p", i), Text: fmt.Sprint("text number ", i)}
	}
	return out
}

func openAhead(t *testing.T, path string, e *hashEncoder) *Ahead {
	t.Helper()
	a, err := OpenAhead(path, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// TestAheadGoesOn encodes each passage once, over several lives of the file,
// and gives vectors of which an index keeps the same bytes as of the encoder's own.
func TestAheadGoesOn(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) { aheadGoesOn(t, late) })
	}
}

func aheadGoesOn(t *testing.T, late bool) {
	path := filepath.Join(t.TempDir(), "1.work")
	passages := numbered(40)
	e := &hashEncoder{name: "a", late: late}
	want, err := (&hashEncoder{name: "a", late: late}).EncodePassages(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	for life, n := range []int{10, 10, 25, 40} {
		a := openAhead(t, path, e)
		if a.Late() != late {
			t.Fatalf("late is %v", a.Late())
		}
		got, err := a.EncodePassages(t.Context(), passages[:n])
		if err != nil || !bytes.Equal(stored(t, late, got), stored(t, late, want[:n])) {
			t.Fatalf("life %d: %v\n%v, %v", life, got, want[:n], err)
		}
		if encoded := e.encoded.Load(); encoded != int64(n) {
			t.Errorf("life %d: %d passages were encoded, want %d", life, encoded, n)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		// Afterwards it is the plain encoder.
		if got, err := a.EncodePassages(t.Context(), passages[:2]); err != nil || !reflect.DeepEqual(got, want[:2]) {
			t.Fatalf("life %d, closed: %v, %v", life, got, err)
		}
		e.encoded.Add(-2)
	}
	other := &hashEncoder{name: "a", version: 2, late: late}
	if _, err := openAhead(t, path, other).EncodePassages(t.Context(), passages[:5]); err != nil ||
		other.encoded.Load() != 5 {
		t.Errorf("another encoder: %d encoded, %v", other.encoded.Load(), err)
	}
}

// TestAheadDamaged cuts the file everywhere and flips every byte: what is read
// is right, or is encoded again.
func TestAheadDamaged(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) { aheadDamaged(t, late) })
	}
}

func aheadDamaged(t *testing.T, late bool) {
	path := filepath.Join(t.TempDir(), "1.work")
	passages := numbered(3)
	made, err := openAhead(t, path, &hashEncoder{name: "a", late: late}).EncodePassages(t.Context(), passages)
	if err != nil {
		t.Fatal(err)
	}
	want := stored(t, late, made)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 { // what was encoded again is kept again
			a := openAhead(t, path, &hashEncoder{name: "a", late: late})
			got, err := a.EncodePassages(t.Context(), passages)
			if err != nil || !bytes.Equal(stored(t, late, got), want) {
				t.Fatalf("%s: %v, %v", what, got, err)
			}
			_ = a.Close()
		}
		if now, err := os.ReadFile(path); err != nil || len(now) != len(whole) {
			t.Fatalf("%s: %d bytes afterwards, want %d, %v", what, len(now), len(whole), err)
		}
	}
	for i := range whole {
		try(fmt.Sprintf("cut at %d", i), whole[:i])
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 0x10
		try(fmt.Sprintf("byte %d flipped", i), flipped)
	}
}

// TestAheadFails: what the encoder cannot do is an error, and nothing is kept.
func TestAheadFails(t *testing.T) {
	broken := errors.New("out of memory")
	e := &hashEncoder{name: "a", before: func(int64) error { return broken }}
	a := openAhead(t, filepath.Join(t.TempDir(), "1.work"), e)
	if _, err := a.EncodePassages(t.Context(), numbered(2)); !errors.Is(err, broken) || a.size() != 0 {
		t.Errorf("%v, %d kept", err, a.size())
	}
}
