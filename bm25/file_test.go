package bm25

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// smallSegment returns a file with every kind of block, of a few kilobytes, or ten
// times as many with phrases.
func smallSegment(t testing.TB, phrases bool) []byte {
	rng := rand.New(rand.NewPCG(41, 0))
	passages := randomPassages(rng, 400, 60)
	for i := range 300 {
		passages = append(passages, goldenPassage{Text: passages[i].Text + strings.Repeat(" w0", 3+i%31)}, goldenPassage{})
	}
	return segmentBytes(t, addAll(t, NewBuilder(Params{K1: 0.9, B: 0.4, Phrases: phrases}), passages))
}

var smallQuestions = []string{"w0 w1 w7", "w3 w3 w50", "w59", "absent"}

type answers struct {
	hits     [][]rank.Hit
	scores   [][]float32
	explains [][]TermScore
	matched  []int
}

// ask puts all kinds of requests to a file.
func ask(t testing.TB, path string) (a answers, err error) {
	x, err := Open(disk.OS{}, path)
	if err != nil {
		return a, err
	}
	defer func() {
		if closing := x.Close(); closing != nil {
			t.Fatal(closing)
		}
	}()
	for _, question := range smallQuestions {
		hits, err := x.Search(t.Context(), question, 20)
		if err != nil {
			return a, err
		}
		a.hits = append(a.hits, hits)
		matched, err := x.alone().matched(t.Context(), question)
		if err != nil {
			return a, err
		}
		a.matched = append(a.matched, matched)
		ordinals := make([]rank.Ordinal, x.Docs())
		for i := range ordinals {
			ordinals[i] = rank.Ordinal(i)
		}
		scores := make([]float32, len(ordinals))
		if err := x.Scores(question, ordinals, scores); err != nil {
			return a, err
		}
		a.scores = append(a.scores, scores)
		if len(hits) > 0 {
			e, err := x.Explain(question, hits[0].Ordinal)
			if err != nil {
				return a, err
			}
			a.explains = append(a.explains, e)
		}
		if phrases := x.Phrases(); phrases != nil {
			hits, err = phrases.Search(t.Context(), question, 20, nil)
			if err != nil {
				return a, err
			}
			a.hits = append(a.hits, hits)
			if err := phrases.Scores(question, ordinals, scores); err != nil {
				return a, err
			}
		}
	}
	return a, nil
}

func (a answers) equal(b answers) bool {
	equalHits := slices.EqualFunc(a.hits, b.hits, func(x, y []rank.Hit) bool { return slices.Equal(x, y) })
	equalScores := slices.EqualFunc(a.scores, b.scores, func(x, y []float32) bool { return slices.Equal(x, y) })
	equalExplains := slices.EqualFunc(a.explains, b.explains, func(x, y []TermScore) bool { return slices.Equal(x, y) })
	return equalHits && equalScores && equalExplains && slices.Equal(a.matched, b.matched)
}

func put(t testing.TB, path string, b []byte) {
	t.Helper()
	_ = os.Remove(path) // file systems such as ext4 sync one that is cut to nothing and written again
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFiles: with any one bit turned, wherever it is, there is an error
// or the right answer, and Check always finds it.
func TestDamagedFiles(t *testing.T) {
	damageFile(t, smallSegment(t, false), 1200)
	damageFile(t, smallSegment(t, true), 400)
}

// damageFile turns bits at so many places.
func damageFile(t *testing.T, file []byte, places int) {
	path := filepath.Join(t.TempDir(), "words")
	put(t, path, file)
	want, err := ask(t, path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(42, 0))
	step := 1 + len(file)/places
	for at := rng.IntN(step); at < len(file); at += step {
		damaged := slices.Clone(file)
		damaged[at] ^= 1 << rng.IntN(8)
		put(t, path, damaged)
		got, err := ask(t, path)
		if err == nil && !got.equal(want) {
			t.Fatalf("a wrong answer after a bit of byte %d of %d was turned", at, len(file))
		}
		x, err := Open(disk.OS{}, path)
		if err != nil {
			continue
		}
		var damage *DamageError
		if err := x.Check(); !errors.As(err, &damage) || damage.Path != path {
			t.Fatalf("a bit of byte %d of %d was turned and Check says: %v", at, len(file), err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTornFiles: no prefix of a file opens, and neither does one with more at
// its end.
func TestTornFiles(t *testing.T) {
	file := smallSegment(t, true)
	path := filepath.Join(t.TempDir(), "words")
	refuse := func(what string, b []byte) {
		t.Helper()
		put(t, path, b)
		if x, err := Open(disk.OS{}, path); err == nil {
			t.Fatalf("%s was opened: %v", what, x.Close())
		}
	}
	for n := 0; n < len(file); n += 1 + n/40 {
		refuse("a beginning", file[:n])
		refuse("a file without some of its end", file[:len(file)-1-n])
	}
	refuse("a longer file", append(slices.Clone(file), 0))
	refuse("a file twice", append(slices.Clone(file), file...))
	refuse("zeros", make([]byte, len(file)))
	holed := slices.Clone(file)
	clear(holed[len(magic) : len(holed)/2])
	put(t, path, holed)
	if _, err := ask(t, path); err == nil {
		t.Fatal("a file with zeros in its first half gave answers")
	}
	if _, err := Open(disk.OS{}, filepath.Dir(path)); err == nil {
		t.Fatal("a folder was opened")
	}
	if _, err := Open(disk.OS{}, path+" not there"); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a file that is not there: %v", err)
	}
}

// TestOtherFormats: a file of another version of the format is told from damage.
func TestOtherFormats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words")
	for _, version := range []uint32{1, formatVersion + 1} {
		file := smallSegment(t, true)
		binary.LittleEndian.PutUint32(file[len(file)-footerSize:], version)
		put(t, path, sign(file))
		want := fmt.Sprintf("it has format %d and this program reads format %d: build it again", version, formatVersion)
		if _, err := Open(disk.OS{}, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("format %d: %v, want %q", version, err, want)
		}
	}
}

// TestOpeningCost: ten times the passages do not make opening read more.
func TestOpeningCost(t *testing.T) {
	read := func(n int) int {
		rng := rand.New(rand.NewPCG(43, 0))
		x := build(t, DefaultParams(), randomPassages(rng, n, 20_000))
		fresh, err := Open(disk.OS{}, x.path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = fresh.Close() }()
		return fresh.chunks.Verified()
	}
	if small, large := read(3000), read(30_000); large > 3 || small > 3 {
		t.Errorf("opening reads %d chunks of a segment and %d of one ten times as large", small, large)
	}
}

// sign puts the checksums of a file right, so that what it says is believed.
func sign(b []byte) []byte {
	if len(b) < footerSize {
		return b
	}
	le := binary.LittleEndian
	foot := b[len(b)-footerSize:]
	at := 24 + 8*5
	from := uint64(len(magic))
	length := le.Uint64(foot[at+8*sectionChecksums:])
	for i := range sectionChecksums {
		from += le.Uint64(foot[at+8*i:])
	}
	if end := uint64(len(b) - footerSize); from <= end && length <= end-from &&
		8*((from+chunkSize-1)/chunkSize) <= length {
		for i := range (from + chunkSize - 1) / chunkSize {
			le.PutUint64(b[from+8*i:], xxh3.Hash(b[i*chunkSize:min((i+1)*chunkSize, from)]))
		}
		le.PutUint64(foot[24+8*3:], xxh3.Hash(b[from:from+length]))
	}
	le.PutUint64(foot[footerSize-len(magic)-8:], xxh3.Hash(foot[:footerSize-len(magic)-8]))
	return b
}

// FuzzFile changes a file at several places, with right checksums: whatever it
// then says, there is an error or an answer and never a panic.
func FuzzFile(f *testing.F) {
	file := smallSegment(f, true)
	f.Add(uint32(0), []byte{}, uint32(0), []byte{})
	rng := rand.New(rand.NewPCG(44, 0))
	for range 60 {
		f.Add(rng.Uint32(), []byte{byte(rng.Uint32())}, rng.Uint32(), []byte{0xff, 0xff, 0xff, byte(rng.Uint32())})
	}
	for at := range footerSize {
		f.Add(uint32(len(file)-footerSize+at), []byte{0xff}, uint32(at), []byte{0x80})
	}
	path := filepath.Join(f.TempDir(), "words")
	f.Fuzz(func(t *testing.T, at1 uint32, b1 []byte, at2 uint32, b2 []byte) {
		changed := slices.Clone(file)
		copy(changed[int(at1)%len(file):], b1)
		copy(changed[int(at2)%len(file):], b2)
		put(t, path, sign(changed))
		if _, err := ask(t, path); err != nil {
			return
		}
		x, err := Open(disk.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
		_ = x.check() // an error or none, but no panic
		_ = merge(t.Context(), path+"2", Segment{Index: x})
	})
}
