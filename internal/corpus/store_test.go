package corpus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// randomPassages returns n valid passages with distinct ids, some with titles, tags and metadata.
func randomPassages(rng *rand.Rand, n int) []Passage {
	out := make([]Passage, n)
	for i := range out {
		p := Passage{ID: fmt.Sprintf("p/%d", i), Text: strings.Repeat("wörter ", 1+rng.IntN(30))}
		if rng.IntN(2) == 0 {
			p.Title = fmt.Sprintf("title %d", rng.IntN(10))
		}
		for j := range rng.IntN(3) {
			p.Tags = append(p.Tags, fmt.Sprintf("tag%d", j))
		}
		if rng.IntN(3) == 0 {
			p.Metadata = map[string]any{"year": json.Number("1999"), "ok": i%2 == 0, "by": "someone"}
		}
		out[i] = p
	}
	return out
}

// byID compares passages by their ids, for slices.SortFunc.
func byID(a, b Passage) int { return strings.Compare(a.ID, b.ID) }

// writeStore writes a store of these passages and returns its path.
func writeStore(t testing.TB, passages []Passage) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passages")
	w, err := CreateStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range passages {
		if err := w.Append(p); err != nil {
			t.Fatalf("passage %d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, pageEntries, pageEntries + 1, 5000} {
		want := randomPassages(rng, n)
		if n%2 == 0 { // one in order, one shuffled
			rng.Shuffle(n, func(i, j int) { want[i], want[j] = want[j], want[i] })
		} else {
			slices.SortFunc(want, byID)
		}
		s, err := OpenStore(disk.OS{}, writeStore(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != n {
			t.Fatalf("%d passages, want %d", s.Len(), n)
		}
		slices.SortFunc(want, byID)
		for i, p := range want {
			got, err := s.Passage(rank.Ordinal(i))
			if err != nil || !reflect.DeepEqual(got, p) {
				t.Fatalf("passage %d of %d: got %+v, %v, want %+v", i, n, got, err, p)
			}
			if got.Version() != p.Version() {
				t.Fatalf("passage %d: version %s, want %s", i, got.Version(), p.Version())
			}
			if ordinal, ok, err := s.Ordinal(p.ID); err != nil || !ok || int(ordinal) != i {
				t.Fatalf("id %s of %d: ordinal %d, %v, %v", p.ID, n, ordinal, ok, err)
			}
		}
		for _, absent := range []string{"", "p/", "p/-1", fmt.Sprintf("p/%d", n)} {
			if ordinal, ok, err := s.Ordinal(absent); ok || err != nil {
				t.Fatalf("the absent id %q has ordinal %d, %v", absent, ordinal, err)
			}
		}
		if _, err := s.Passage(rank.Ordinal(n)); err == nil {
			t.Fatal("a passage behind the last was read")
		}
		if err := s.Verify(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStoreWriterRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passages")
	w, err := CreateStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateStore(disk.OS{}, path); !errors.Is(err, os.ErrExist) {
		t.Fatalf("a second writer on the file: %v", err)
	}
	for i := range 3000 {
		if err := w.Append(Passage{ID: fmt.Sprint(i), Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	var double *DuplicateError
	for _, i := range []int{0, 1500, 2999} {
		if err := w.Append(Passage{ID: fmt.Sprint(i), Text: "other"}); !errors.As(err, &double) || double.Earlier != i {
			t.Fatalf("id %d again: %v", i, err)
		}
	}
	var field *FieldError
	for _, p := range []Passage{
		{}, {ID: "a"}, {Text: "x"}, {ID: "a", Text: "\x00"},
		{ID: "a", Text: "x", Metadata: map[string]any{"k": []int{1}}},
		{ID: "a", Text: "x", Metadata: map[string]any{"k": json.Number("1}")}},
		{ID: "a", Text: "x", Metadata: map[string]any{"k": json.Number("")}},
		{ID: "a", Text: strings.Repeat("x", MaxTextBytes+1)},
	} {
		if err := w.Append(p); !errors.As(err, &field) {
			t.Fatalf("%.80v: %v", p, err)
		}
	}
	if err := w.Append(Passage{ID: "last", Text: "x"}); err != nil || w.Len() != 3001 {
		t.Fatalf("after the refusals: %d passages, %v", w.Len(), err)
	}
	if _, err := OpenStore(disk.OS{}, path); err == nil {
		t.Fatal("an unfinished store was opened")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Verify(t.Context(), nil); err != nil || s.Len() != 3001 {
		t.Fatalf("%d passages, %v", s.Len(), err)
	}
}

func TestAbortRemoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "passages")
	w, err := CreateStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the file is still there: %v", err)
	}
}

// TestEqualKeys puts ids with equal keys over several pages of the table.
func TestEqualKeys(t *testing.T) {
	// No hash is attacked here: the table is given equal keys by hand, and
	// every page but the last holds the same one.
	const n = 3*pageEntries + 7
	passages := make([]Passage, n)
	for i := range passages {
		passages[i] = Passage{ID: fmt.Sprint(i), Text: "x"}
	}
	path := filepath.Join(t.TempDir(), "passages")
	w, err := CreateStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range passages {
		if err := w.Append(p); err != nil {
			t.Fatal(err)
		}
	}
	same := hashKey("77")
	for i := range w.keys.Values() {
		w.keys.Values()[i] = same
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ordinal, ok, err := s.Ordinal("77")
	if !ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
	if id, err := s.ID(ordinal); err != nil || id != "77" {
		t.Fatalf("ordinal %d has the id %q, %v", ordinal, id, err)
	}
}

// TestEveryFlippedBit: no bit of a store can flip without Open or Verify
// saying so, and no read returns another passage than the one written.
func TestEveryFlippedBit(t *testing.T) {
	want := randomPassages(rand.New(rand.NewPCG(7, 8)), 5)
	path := writeStore(t, want)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		data := slices.Clone(whole)
		data[at] ^= 1 << (at % 8)
		s, err := newStore(path, &disk.Mapping{Data: data})
		if err != nil {
			continue
		}
		if err := s.Verify(t.Context(), nil); err == nil {
			t.Fatalf("byte %d: the flipped bit was not found", at)
		}
		for i, p := range want {
			if got, err := s.Passage(rank.Ordinal(i)); err == nil && !reflect.DeepEqual(got, p) {
				t.Fatalf("byte %d: passage %d became %+v", at, i, got)
			}
			if ordinal, ok, err := s.Ordinal(p.ID); err == nil && (!ok || int(ordinal) != i) {
				t.Fatalf("byte %d: id %s became %d, %v", at, p.ID, ordinal, ok)
			}
		}
	}
	for cut := range whole {
		if _, err := newStore(path, &disk.Mapping{Data: whole[:cut]}); err == nil {
			t.Fatalf("the store cut to %d of %d bytes was opened", cut, len(whole))
		}
	}
}

// FuzzStore writes over parts of a real store, makes its header's checksum
// right again, and uses it: errors, never a panic.
func FuzzStore(f *testing.F) {
	whole, err := os.ReadFile(writeStore(f, randomPassages(rand.New(rand.NewPCG(9, 10)), 40)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(16), []byte{1, 0, 0, 0}, uint32(0))
	f.Add(uint32(64), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, uint32(10))
	f.Add(uint32(len(whole)-8), []byte{9}, uint32(0))
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, cut uint32) {
		data := slices.Clone(whole)
		copy(data[int(at)%len(data):], patch)
		data = data[:len(data)-int(cut)%len(data)]
		if len(data) >= headerBytes {
			binary.LittleEndian.PutUint32(data[headerBytes-4:], crc32.Checksum(data[:headerBytes-4], castagnoli))
		}
		s, err := newStore("fuzzed", &disk.Mapping{Data: data})
		if err != nil {
			return
		}
		_ = s.Verify(t.Context(), nil)
		for i := range min(s.Len(), 100) {
			p, err := s.Passage(rank.Ordinal(i))
			if err == nil {
				_, _, _ = s.Ordinal(p.ID)
			}
			_, _ = s.ID(rank.Ordinal(i))
		}
	})
}
