package ann

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

const damagedDim = 5

// damagedTokens is the dimension of the token vectors of damaged lists.
const damagedTokens = 4

// parted is an index of kind HNSW of the vectors of passages' parts.
const parted = "parts of passages"

// vectorKinds returns the kinds of index whose vectors any numbers are: sparse.go has tests of its own.
func vectorKinds() []Kind { return slices.DeleteFunc(Kinds(), func(k Kind) bool { return k.Pairs }) }

// damagedKinds returns these, and parted.
func damagedKinds() (names []string) {
	for _, k := range vectorKinds() {
		names = append(names, k.Name)
	}
	return append(names, parted)
}

// pristine returns the files of a small index: vectors, graph and parts; nil where the
// kind has none.
func pristine(tb testing.TB, kind string) (files [3][]byte) {
	tb.Helper()
	paths := [3]string{}
	if kind == parted {
		paths[2] = writeParts(tb, partsOf(33, 90, 5))
		kind = HNSW
	}
	k, err := KindNamed(kind)
	if err != nil {
		tb.Fatal(err)
	}
	rows := clustered(30, 90, damagedDim, 0.5)
	copy(rows[3*damagedDim:4*damagedDim], rows[7*damagedDim:]) // equal vectors
	dim := damagedDim
	lists := slices.Collect(slices.Chunk(rows, damagedDim))
	if k.Tokens {
		lists = tokenLists(32, 24, damagedTokens, 40)
		dim = damagedTokens
		lists[3] = lists[7]
	}
	paths[0] = writeLists(tb, kind, dim, lists)
	if k.Graph {
		paths[1] = filepath.Join(tb.TempDir(), "graph")
	}
	if err := Build(context.Background(), disk.OS{}, kind, paths[0], paths[1],
		BuildOptions{M: 4, EfConstruction: 10, Threads: 1}); err != nil {
		tb.Fatal(err)
	}
	for i, path := range paths {
		if path == "" {
			continue
		}
		files[i], err = os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

// used is what came of using an index.
type used struct {
	answers [][]rank.Hit // of searches that gave one, in order; nil where there was an error
	sound   bool         // nothing complained
}

// use opens an index of the given contents, searches it in every way, and
// checks it.
func use(tb testing.TB, folder, kind string, files [3][]byte) (u used) {
	tb.Helper()
	paths := [3]string{filepath.Join(folder, "vectors"), filepath.Join(folder, "graph"), filepath.Join(folder, "parts")}
	for i, path := range paths {
		_ = os.Remove(path) // file systems such as ext4 sync one that is cut to nothing and written again
		if err := os.WriteFile(path, files[i], 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	open := func() (Index, error) { return Open(disk.OS{}, kind, paths[0], paths[1]) }
	if kind == parted {
		open = func() (Index, error) { return OpenGrouped(disk.OS{}, HNSW, paths[0], paths[1], paths[2]) }
	}
	x, err := open()
	if err != nil {
		return u
	}
	defer func() {
		if err := x.Close(); err != nil {
			tb.Error(err)
		}
	}()
	u.sound = true
	odd, most := NewFilter(x.Len()), NewFilter(x.Len())
	for i := 1; i < x.Len(); i++ {
		most.Add(rank.Ordinal(i))
		if i%2 == 1 {
			odd.Add(rank.Ordinal(i))
		}
	}
	query := make([]float32, x.Dimension())
	query[0] = 1
	var scored []rank.Hit // Scores has no error: what is not a number is none
	for i := range x.Len() {
		score := make([]float32, 1)
		x.Scores(query, []rank.Ordinal{rank.Ordinal(i)}, score)
		if !math.IsNaN(float64(score[0])) {
			scored = append(scored, rank.Hit{Ordinal: rank.Ordinal(i), Score: score[0]})
		}
	}
	u.answers = append(u.answers, scored)
	for _, o := range []SearchOptions{{K: 1, Ef: 1}, {K: 3, Ef: 4}, {K: 2, Ef: 3, Filter: odd},
		{K: 2, Ef: 1, Filter: odd, Walk: true}, {K: 2, Ef: 4, Filter: most, Walk: true}, {K: 5, Exact: true}} {
		hits, _, err := x.Search(context.Background(), query, o)
		if err != nil {
			u.sound, hits = false, nil
		}
		for _, h := range hits {
			if int(h.Ordinal) >= x.Len() {
				tb.Fatalf("a damaged %s index of %d vectors found ordinal %d", kind, x.Len(), h.Ordinal)
			}
		}
		u.answers = append(u.answers, hits)
	}
	together, err := x.SearchExact(context.Background(), [][]float32{query, query}, 4)
	if err != nil {
		u.sound = false
		together = [][]rank.Hit{nil, nil}
	}
	u.answers = append(u.answers, together...)
	u.sound = x.Check() == nil && u.sound
	return u
}

// wrong reports whether an index gave an answer that the whole one does not
// give. What coder's graph finds changes from search to search.
func (u used) wrong(whole used, kind string) bool {
	for i, hits := range u.answers {
		if hits != nil && !slices.Equal(hits, whole.answers[i]) && kind != Coder {
			return true
		}
	}
	return false
}

// TestEveryDamageIsFound flips bits and cuts ends, everywhere. Opening or
// checking must complain, no search may find what it would not have found in the
// whole files, and nothing may panic, not even where the checksums were put
// right.
func TestEveryDamageIsFound(t *testing.T) {
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(31, 0))
	for _, kind := range damagedKinds() {
		files := pristine(t, kind)
		whole := use(t, folder, kind, files)
		if !whole.sound || whole.answers[0] == nil {
			t.Fatalf("%s: the pristine files are refused", kind)
		}
		for i, content := range files {
			try := func(what string, at int, damaged []byte) {
				t.Helper()
				changed := files
				changed[i] = damaged
				u := use(t, folder, kind, changed)
				if u.sound && content != nil {
					t.Errorf("%s: file %d %s at %d was not found", kind, i, what, at)
				}
				if u.wrong(whole, kind) {
					t.Errorf("%s: file %d %s at %d changed an answer", kind, i, what, at)
				}
			}
			for at := 0; at < len(content); at += 1 + rng.IntN(40) {
				damaged := slices.Clone(content)
				damaged[at] ^= 1 << rng.IntN(8)
				try("with a bit flipped", at, damaged)
				harmful := files
				harmful[i] = slices.Clone(damaged)
				resum(harmful[i])
				use(t, folder, kind, harmful)
			}
			for at := 0; at < len(content); at += 1 + rng.IntN(200) {
				try("cut off", at, content[:at])
			}
			try("with a byte added", len(content), append(slices.Clone(content), 0))
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
			binary.LittleEndian.PutUint64(
				content[sectionsAt+24*i+16:], uint64(crc32.Checksum(content[offset:offset+length], table)),
			)
		}
	}
	binary.LittleEndian.PutUint64(content[sumAt:], uint64(crc32.Checksum(content[:sumAt], table)))
}

// FuzzOpen changes files at will, with or without right checksums.
func FuzzOpen(f *testing.F) {
	pristines := map[string][3][]byte{}
	for _, kind := range damagedKinds() {
		pristines[kind] = pristine(f, kind)
		for i := range uint8(3) {
			f.Add(kind, i, []byte{}, uint32(1<<31), false)
			// a parameter, a section's length, and the first of a section
			f.Add(kind, i, []byte{0, 56, 255, 0, 64, 3}, uint32(1<<31), true)
			f.Add(kind, i, []byte{1, 64, 1}, uint32(1<<31), true)
			f.Add(kind, i, []byte{16, 0, 200, 32, 0, 90, 64, 5, 77}, uint32(1<<31), true)
			f.Add(kind, i, []byte{}, uint32(5000), true)
		}
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, kind string, which uint8, edits []byte, cut uint32, harm bool) {
		files, ok := pristines[kind]
		if !ok {
			return
		}
		which %= 3
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
		sound := use(t, folder, kind, files).sound
		relevant := before != nil
		if changed := !bytes.Equal(content, before); relevant && changed && sound && !harm {
			t.Errorf("a change of the %s index's file %d was not found", kind, which)
		} else if relevant && !changed && !sound {
			t.Errorf("the unchanged %s index was refused", kind)
		}
	})
}
