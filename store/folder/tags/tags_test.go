package tags

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
)

// randomTags draws the tags of passages: rare and common ones, one that goes in
// long runs, one that all have, one each has for itself.
func randomTags(rng *rand.Rand, n int) [][]string {
	out := make([][]string, n)
	inRun := false
	for i := range out {
		if rng.IntN(5) == 0 {
			continue // none at all
		}
		out[i] = append(out[i], "all", fmt.Sprintf("own-%d", i))
		for tag, share := range map[string]float64{"rare": 0.002, "some": 0.05, "half": 0.5, "most": 0.95, "ünïcode ü": 0.1, "half ": 0.3} {
			if rng.Float64() < share {
				out[i] = append(out[i], tag)
			}
		}
		if rng.IntN(100) == 0 {
			inRun = !inRun
		}
		if inRun {
			out[i] = append(out[i], "run", "run") // twice counts once
		}
		rng.Shuffle(len(out[i]), func(a, b int) { out[i][a], out[i][b] = out[i][b], out[i][a] })
	}
	return out
}

func builder(t testing.TB, passages [][]string) *Builder {
	t.Helper()
	b := NewBuilder()
	for _, tags := range passages {
		if err := b.Add(tags); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func written(t testing.TB, passages [][]string) (*Index, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tags")
	if err := builder(t, passages).Write(disk.OS{}, path); err != nil {
		t.Fatal(err)
	}
	x, err := Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x, path
}

// wanted does what Select does, by looking at every passage.
func wanted(passages [][]string, all, any []string) (words []uint64, count int) {
	words = make([]uint64, (len(passages)+63)/64)
	for i, have := range passages {
		ok := len(any) == 0 || slices.ContainsFunc(any, func(tag string) bool { return slices.Contains(have, tag) })
		for _, tag := range all {
			ok = ok && slices.Contains(have, tag)
		}
		if ok {
			words[i/64] |= 1 << (i % 64)
			count++
		}
	}
	return words, count
}

func randomFilter(rng *rand.Rand) (all, any []string) {
	known := []string{
		"all",
		"rare",
		"some",
		"half",
		"most",
		"run",
		"own-3",
		"nobody",
		"half ",
		"ünïcode ü",
		"",
		"Half",
		"zzz",
	}
	draw := func() (out []string) {
		for range rng.IntN(4) {
			out = append(out, known[rng.IntN(len(known))])
		}
		return out
	}
	return draw(), draw()
}

func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, 8, 63, 64, 65, 1000, 5000} {
		passages := randomTags(rng, n)
		x, _ := written(t, passages)
		inMemory, err := builder(t, passages).Index()
		if err != nil {
			t.Fatal(err)
		}
		if x.Passages() != n || !x.Equal(inMemory) {
			t.Fatalf("%d passages: %d", n, x.Passages())
		}
		if err := x.Check(); err != nil {
			t.Fatal(err)
		}
		different := map[string]int{}
		for _, have := range passages {
			for _, tag := range slices.Compact(slices.Sorted(slices.Values(have))) {
				different[tag]++
			}
		}
		if int(x.tags) != len(different) {
			t.Fatalf("%d tags, %d are different", x.tags, len(different))
		}
		for tag, want := range different {
			if _, got, err := x.Select([]string{tag}, nil); err != nil || got != want {
				t.Fatalf("%q is had by %d, %v, want %d", tag, got, err, want)
			}
		}
		for range 60 {
			all, any := randomFilter(rng)
			words, count, err := x.Select(all, any)
			if err != nil {
				t.Fatal(err)
			}
			if want, n := wanted(passages, all, any); !slices.Equal(words, want) || count != n {
				t.Fatalf("%d passages, all %q, any %q: %d selected, want %d", len(passages), all, any, count, n)
			}
		}
	}
}

// TestKindsAreShort: each way of keeping postings is used where it is the
// shortest, and the file is as small as that.
func TestKindsAreShort(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		has  func(i int) bool
		kind uint32
		most int // bytes of the postings
	}{
		"few":       {func(i int) bool { return i%500 == 3 }, gapsKind, 2 * 20},
		"one run":   {func(i int) bool { return i >= 2000 && i < 9000 }, runsKind, 4},
		"all":       {func(int) bool { return true }, runsKind, 3},
		"every 2nd": {func(i int) bool { return i%2 == 0 }, bitsKind, n / 8},
		"scattered": {func(i int) bool { return i*i%7 < 3 }, bitsKind, n / 8},
	} {
		b := NewBuilder()
		for i := range n {
			var tags []string
			if c.has(i) {
				tags = []string{"x"}
			}
			if err := b.Add(tags); err != nil {
				t.Fatal(err)
			}
		}
		if kind, encoded := b.lists["x"].encode(n); kind != c.kind || len(encoded) > c.most {
			t.Errorf("%s: kind %d in %d bytes, want kind %d in %d", name, kind, len(encoded), c.kind, c.most)
		}
	}
}

// TestDamage: a flipped bit anywhere is an error of Check, and of every Select
// that it touches; no Select gives other passages. So is a file that was cut.
func TestDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	passages := randomTags(rng, 3000)
	_, path := written(t, passages)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again := func(data []byte) (*Index, error) {
		return newIndex("damaged", data)
	}
	errors := 0
	for round := range 300 {
		data := bytes.Clone(whole)
		at := rng.IntN(len(data))
		if round < headerBytes {
			at = round
		}
		data[at] ^= 1 << rng.IntN(8)
		x, err := again(data)
		if err != nil {
			errors++
			continue
		}
		if err := x.Check(); err == nil {
			t.Fatalf("byte %d of %d was flipped and Check did not see it", at, len(data))
		} else if !strings.Contains(err.Error(), "damaged") {
			t.Fatal(err)
		}
		x, err = again(data)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			all, any := randomFilter(rng)
			words, _, err := x.Select(all, any)
			if err != nil {
				errors++
				continue
			}
			if want, _ := wanted(passages, all, any); !slices.Equal(words, want) {
				t.Fatalf("with byte %d of %d flipped, all %q any %q gave other passages", at, len(data), all, any)
			}
		}
	}
	if errors < 300 {
		t.Errorf("only %d errors", errors)
	}
	for _, n := range []int{0, 1, headerBytes - 1, headerBytes, len(whole) / 2, len(whole) - 1} {
		cut := filepath.Join(t.TempDir(), "cut")
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(disk.OS{}, cut); err == nil || !strings.Contains(err.Error(), cut) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := Open(disk.OS{}, t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
	if err := NewBuilder().Write(disk.OS{}, path); err == nil {
		t.Error("a file was written over")
	}
}

// sign makes the checksums of a file right, so that what is wrong lies deeper.
func sign(data []byte) []byte {
	le := binary.LittleEndian
	if len(data) < headerBytes {
		return data
	}
	data = bytes.Clone(data)
	copy(data, magic)
	le.PutUint32(data[8:], format)
	le.PutUint32(data[16:], le.Uint32(data[16:])%64)
	h := header{tags: le.Uint32(data[16:])}
	body := uint64(len(data) - headerBytes)
	records := recordBytes * (uint64(h.tags) + 1)
	if body < records {
		return data
	}
	h.passages = le.Uint32(data[12:]) % (1 << 16)
	h.texts = min(le.Uint64(data[24:])%(body-records+1), body-records)
	h.postings = body - records - h.texts
	var sums []byte
	for chunk := range slices.Chunk(data[headerBytes:], chunkBytes) {
		sums = le.AppendUint64(sums, xxh3.Hash(chunk))
	}
	h.sums = xxh3.Hash(sums)
	return slices.Concat(h.encode(), data[headerBytes:], sums)
}

// FuzzIndex reads any bytes, as they are and with checksums that fit: an error
// or bits that are no more than the passages.
func FuzzIndex(f *testing.F) {
	for _, n := range []int{0, 5, 200} {
		f.Add(builder(f, randomTags(rand.New(rand.NewPCG(3, uint64(n))), n)).encode(), "half", "some")
	}
	f.Fuzz(func(t *testing.T, data []byte, one, other string) {
		for _, data := range [][]byte{data, sign(data)} {
			x, err := newIndex("fuzzed", data)
			if err != nil {
				continue
			}
			checked := x.Check()
			for _, tag := range []string{one, other} {
				if r, ok, err := x.find(tag); err == nil && ok && r.count > x.passages && checked == nil {
					t.Fatalf("%d of %d passages have a tag", r.count, x.passages)
				}
			}
			words, count, err := x.Select([]string{one}, []string{one, other})
			if err != nil {
				continue
			}
			n := 0
			for o := range 64 * len(words) {
				if words[o/64]>>(o%64)&1 != 0 {
					if n++; o >= x.Passages() {
						t.Fatalf("passage %d of %d was selected", o, x.Passages())
					}
				}
			}
			if n != count {
				t.Fatalf("%d bits, %d were counted", n, count)
			}
		}
	})
}
