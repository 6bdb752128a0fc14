package ann

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"conclave/rank"
)

const damagedDim = 5

// pristine is the files of a small index: vectors and, if any, graph.
func pristine(tb testing.TB, kind string) [2][]byte {
	tb.Helper()
	rows := clustered(30, 90, damagedDim, 0.5)
	copy(rows[3*damagedDim:4*damagedDim], rows[7*damagedDim:]) // equal vectors
	vectors := writeVectors(tb, damagedDim, rows)
	graph := filepath.Join(tb.TempDir(), "graph")
	if err := Build(context.Background(), kind, vectors, graph, BuildOptions{M: 4, EfConstruction: 10, Threads: 1}); err != nil {
		tb.Fatal(err)
	}
	var files [2][]byte
	for i, path := range []string{vectors, graph} {
		content, err := os.ReadFile(path)
		if err != nil && (i == 0 || kind != Flat) {
			tb.Fatal(err)
		}
		files[i] = content
	}
	return files
}

// use opens an index of the given contents, searches it in every way, and
// checks it. It reports whether nothing complained.
func use(tb testing.TB, folder, kind string, files [2][]byte) bool {
	tb.Helper()
	paths := [2]string{filepath.Join(folder, "vectors"), filepath.Join(folder, "graph")}
	for i, path := range paths {
		if err := os.WriteFile(path, files[i], 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	x, err := Open(kind, paths[0], paths[1])
	if err != nil {
		return false
	}
	defer func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	}()
	sound := true
	odd, most := NewFilter(x.Len()), NewFilter(x.Len())
	for i := 1; i < x.Len(); i++ {
		most.Add(rank.Ordinal(i))
		if i%2 == 1 {
			odd.Add(rank.Ordinal(i))
		}
	}
	query := make([]float32, x.Dimension())
	query[0] = 1
	for _, o := range []SearchOptions{{K: 1, Ef: 1}, {K: 3, Ef: 4}, {K: 2, Ef: 3, Filter: odd}, {K: 2, Ef: 1, Filter: odd, Walk: true}, {K: 2, Ef: 4, Filter: most, Walk: true}, {K: 5, Exact: true}} {
		hits, _, err := x.Search(context.Background(), query, o)
		if err != nil {
			sound = false
		}
		for _, h := range hits {
			if int(h.Ordinal) >= x.Len() {
				tb.Fatalf("a damaged %s index of %d vectors found ordinal %d", kind, x.Len(), h.Ordinal)
			}
		}
	}
	return x.Check() == nil && sound
}

// TestEveryDamageIsFound flips bits and cuts ends, everywhere. Opening or
// checking must complain, and nothing may panic.
func TestEveryDamageIsFound(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(31, 0))
	for _, kind := range Kinds() {
		files := pristine(t, kind.Name)
		if !use(t, folder, kind.Name, files) {
			t.Fatalf("%s: the pristine files are refused", kind.Name)
		}
		for i, content := range files {
			for at := 0; at < len(content); at += 1 + rng.IntN(20) {
				damaged := files
				damaged[i] = slices.Clone(content)
				damaged[i][at] ^= 1 << rng.IntN(8)
				if use(t, folder, kind.Name, damaged) {
					t.Errorf("%s: a bit flipped at %d of file %d was not found", kind.Name, at, i)
				}
			}
			for at := 0; at < len(content); at += 1 + rng.IntN(200) {
				damaged := files
				damaged[i] = content[:at]
				if use(t, folder, kind.Name, damaged) {
					t.Errorf("%s: file %d cut off at %d was not found", kind.Name, i, at)
				}
			}
			if kind.Graph || i == 0 {
				damaged := files
				damaged[i] = append(slices.Clone(content), 0)
				if use(t, folder, kind.Name, damaged) {
					t.Errorf("%s: a byte added to file %d was not found", kind.Name, i)
				}
			}
		}
	}
}

// resum puts right every checksum of a file, as somebody who means harm
// would. The places are those that package mapped documents.
func resum(content []byte) {
	const page, sumAt, countAt, sectionsAt = 4096, 4088, 48, 312
	if len(content) < page {
		return
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	get := func(at int) uint64 { return binary.LittleEndian.Uint64(content[at:]) }
	for i := range int(min(get(countAt), 32)) {
		offset, length := get(sectionsAt+24*i), get(sectionsAt+24*i+8)
		if size := uint64(len(content)); offset <= size && length <= size-offset {
			binary.LittleEndian.PutUint64(content[sectionsAt+24*i+16:], uint64(crc32.Checksum(content[offset:offset+length], table)))
		}
	}
	binary.LittleEndian.PutUint64(content[sumAt:], uint64(crc32.Checksum(content[:sumAt], table)))
}

// FuzzOpen changes files at will, with or without right checksums.
func FuzzOpen(f *testing.F) {
	pristines := map[string][2][]byte{}
	for _, kind := range Kinds() {
		pristines[kind.Name] = pristine(f, kind.Name)
		for i := range uint8(2) {
			f.Add(kind.Name, i, []byte{}, uint32(1<<31), false)
			// a parameter, a section's length, and the first of a section
			f.Add(kind.Name, i, []byte{0, 56, 255, 0, 64, 3}, uint32(1<<31), true)
			f.Add(kind.Name, i, []byte{1, 64, 1}, uint32(1<<31), true)
			f.Add(kind.Name, i, []byte{16, 0, 200, 32, 0, 90, 64, 5, 77}, uint32(1<<31), true)
			f.Add(kind.Name, i, []byte{}, uint32(5000), true)
		}
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, kind string, which uint8, edits []byte, cut uint32, harm bool) {
		files, ok := pristines[kind]
		if !ok {
			return
		}
		which %= 2
		before := files[which]
		content := slices.Clone(before[:min(int(cut), len(before))])
		for ; len(edits) >= 3; edits = edits[3:] { // place and value
			if at := int(edits[0])<<8 | int(edits[1]); at < len(content) {
				content[at] = edits[2]
			}
		}
		if harm {
			resum(content)
		}
		files[which] = content
		folder, err := os.MkdirTemp(folder, "")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		sound := use(t, folder, kind, files)
		relevant := which == 0 || kind != Flat
		if changed := !bytes.Equal(content, before); relevant && changed && sound && !harm {
			t.Errorf("a change of the %s index's file %d was not found", kind, which)
		} else if relevant && !changed && !sound {
			t.Errorf("the unchanged %s index was refused", kind)
		}
	})
}
