package folder

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// TestDamage flips a byte here and there, cuts, swaps and removes files: Open
// or Verify says so, naming the file, and no search gives a wrong passage.
func TestDamage(t *testing.T) {
	for _, kind := range []string{ann.HNSW, ann.Flat} {
		t.Run(kind, func(t *testing.T) { t.Parallel(); damageEverything(t, kind) })
	}
}

func damageEverything(t *testing.T, kind string) {
	experts := []*hashEncoder{{name: "a", dimension: 8}, {name: "b", dimension: 5, parted: true}}
	passages := randomPassages(1, 400)
	o := store.BuildOptions{
		Experts: []store.PassageEncoder{experts[0], experts[1]},
		Index:   store.Index{Kind: kind, EfConstruction: efFor(kind)},
	}
	dir := built(t, o, passages[:300], passages[300:])
	if _, err := RebuildWords(t.Context(), dir, phrased(), o); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(t.Context(), dir, nil); err != nil || report.Passages != 400 || report.Segments != 2 ||
		report.Experts != 2 {
		t.Fatalf("%+v, %v", report, err)
	}
	asked := asking{passages: passages, experts: experts}
	asked.want = asked.ask(t, opened(t, dir))
	if n := len(asked.want); n != len(askedQuestions)*(2*len(experts)+2) {
		t.Fatalf("the whole collection gives %d answers", n)
	}
	whole := tree(t, dir)
	for name, content := range whole {
		path := filepath.Join(dir, name)
		put := func(content []byte) {
			_ = os.Remove(path) // file systems such as ext4 sync one that is cut to nothing and written again
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 24 {
			at := i * (len(content) - 1) / 23
			if name == "/"+manifest.FileName {
				at = i * 37 % len(content)
			}
			damaged := []byte(content)
			damaged[at] ^= 1 << (i % 8)
			put(damaged)
			if _, err := Verify(t.Context(), dir, nil); err == nil ||
				!strings.Contains(err.Error(), filepath.Base(name)) {
				t.Fatalf("%s with byte %d of %d flipped: %v", name, at, len(content), err)
			}
			asked.checkDamaged(t, dir, fmt.Sprintf("%s with byte %d of %d flipped", name, at, len(content)))
		}
		for _, n := range []int{0, 1, len(content) / 2, len(content) - 1} {
			put([]byte(content[:n]))
			if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(content), err)
			}
		}
		_ = os.Remove(path)
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Fatalf("without %s: %v", name, err)
		}
		put([]byte(content))
	}
	// A file of the other segment in place of the own one.
	m, err := readManifest(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	name := func(segment int, f manifest.SegmentFile) string {
		return "/" + filepath.Join(m.Segments[segment].Name, f.Name)
	}
	for one, two := range map[string]string{
		name(0, m.Segments[0].Store): name(1, m.Segments[1].Store),
		name(0, m.Segments[0].Words): name(1, m.Segments[1].Words),
	} {
		if err := os.WriteFile(filepath.Join(dir, one), []byte(whole[two]), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil {
			t.Errorf("%s in place of %s was opened", two, one)
		}
		if err := os.WriteFile(filepath.Join(dir, one), []byte(whole[one]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Verify(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
}

// efFor makes graphs whose building takes no time.
func efFor(kind string) int {
	if kind == ann.Flat {
		return 0
	}
	return 40
}

// asking is what a collection is asked that may be damaged, and what it answered
// when it was not.
type asking struct {
	passages []corpus.Passage
	experts  []*hashEncoder
	want     map[string][]rank.Hit
}

var askedQuestions = [...]string{"word1 word2", "word7", "word3 word11 word11", "title word0"}

// ask searches by words, by their phrases, and by every expert through its graph and exactly. What
// failed is not among the answers.
func (a asking) ask(t *testing.T, g *Generation) map[string][]rank.Hit {
	t.Helper()
	answers := map[string][]rank.Hit{}
	for _, question := range askedQuestions {
		if hits, err := g.Words().Search(t.Context(), question, 10); err == nil {
			answers["words "+question] = hits
		}
		if hits, err := g.Phrases().Search(t.Context(), question, 10); err == nil {
			answers["words' phrases "+question] = hits
		}
		for _, e := range a.experts {
			v, ok := g.Expert(e.name)
			if !ok {
				t.Fatalf("expert %s is gone", e.name)
			}
			for _, exact := range []bool{false, true} {
				if hits, _, err := v.SearchStats(t.Context(), e.vector(question),
					ann.SearchOptions{K: 10, Ef: 20, Exact: exact, Walk: true}); err == nil {
					answers[fmt.Sprint(e.name, exact, question)] = hits
				}
			}
		}
	}
	return answers
}

// checkDamaged asks a collection that may be damaged: errors are fine; another answer
// than the whole collection's, a passage under a wrong id or with a wrong text,
// or a selection of others, is not. A file of one expert keeps no other source
// from answering.
func (a asking) checkDamaged(t *testing.T, dir, damage string) {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		return
	}
	g := c.Acquire()
	defer func() {
		g.Release()
		_ = c.Close()
	}()
	for _, want := range a.passages[:50] {
		o, ok, err := g.Ordinal(want.ID)
		if err != nil {
			continue
		}
		if !ok {
			t.Fatalf("%s: passage %s is no longer there", damage, want.ID)
		}
		if got, err := g.Passage(o); err == nil && (got.ID != want.ID || got.Text != want.Text) {
			t.Fatalf("%s: passage %s became %+v", damage, want.ID, got)
		}
	}
	got := a.ask(t, g)
	failed := map[string]bool{}
	for question, want := range a.want {
		source, _, _ := strings.Cut(question, " ")
		hits, ok := got[question]
		if ok && !slices.Equal(hits, want) {
			t.Fatalf("%s: %q finds\n%v, not\n%v", damage, question, hits, want)
		}
		if !ok {
			failed[source[:1]] = true
		}
	}
	for source := range failed {
		if file := filepath.Base(strings.Fields(damage)[0]); source != "w" && !strings.HasPrefix(file, source+"-") &&
			file != storeName {
			t.Fatalf("%s: %s does not answer", damage, source)
		}
	}
	for _, f := range someFilters() {
		s, err := g.Select(f.all, f.any)
		if err != nil {
			continue
		}
		count := 0
		for _, p := range a.passages {
			if f.lets(p) {
				count++
			}
		}
		if s.Len() != count {
			t.Fatalf("%s: %+v selects %d passages, %d have the tags", damage, f, s.Len(), count)
		}
	}
}

// flip changes a bit of a byte of a file in its place, so that who has it mapped
// sees that.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	_, err = file.ReadAt(b[:], at)
	b[0] ^= 4
	if err == nil {
		_, err = file.WriteAt(b[:], at)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// vectorFiles returns the files of vectors of an expert, the oldest segment's first.
func vectorFiles(t *testing.T, dir, expert string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "seg-*", expert+"-*.vectors"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestMergeRefusesDamage: vectors that are copied get new checksums, so what is
// damaged is not copied.
func TestMergeRefusesDamage(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	dir := built(t, store.BuildOptions{Experts: []store.PassageEncoder{a}}, split(1, randomPassages(1, 100), 2)...)
	damaged := vectorFiles(t, dir, "a")[1]
	flip(t, damaged, 4096+100)
	w, err := openWriter(disk.OS{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var damage *ann.DamageError
	if _, err := w.merge(t.Context(), segmentNames(w), store.BuildOptions{}); !errors.As(err, &damage) ||
		damage.Path != damaged {
		t.Fatalf("merging: %v", err)
	}
	flip(t, damaged, 4096+100)
	if _, err := w.merge(t.Context(), segmentNames(w), store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestVerifiedBeforehand: what VerifyVectors read, and what a live collection
// made itself, is read by no search; what nobody read is by the first.
func TestVerifiedBeforehand(t *testing.T) {
	a := &hashEncoder{name: "a", dimension: 8}
	o := store.BuildOptions{Experts: []store.PassageEncoder{a}}
	dir := built(t, o, randomPassages(1, 100))
	search := func(g *Generation) error {
		v, _ := g.Expert("a")
		_, err := v.Search(t.Context(), a.vector("word1"), 5, false)
		return err
	}
	read, unread := opened(t, dir), opened(t, dir)
	l := lively(t, disk.OS{}, dir, LiveOptions{Build: o, FlushAfter: time.Hour, Merge: MergePolicy{Off: true}})
	apply(t, l, put(corpus.Passage{ID: "x", Text: "new"}))
	if err := errors.Join(read.VerifyVectors(t.Context()), l.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	live := l.Collection().Acquire()
	defer live.Release()
	files := vectorFiles(t, dir, "a")
	flip(t, files[1], 4096) // the one that was just made
	if err := errors.Join(search(read), search(live)); err != nil {
		t.Fatalf("what was read before was read again: %v", err)
	}
	flip(t, files[0], 4096)
	var damage *ann.DamageError
	if err := search(unread); !errors.As(err, &damage) || damage.Path != files[0] ||
		!errors.Is(err, ErrDamagedVectors) ||
		!strings.Contains(err.Error(), "a copy of a snapshot") {
		t.Fatalf("what nobody had read: %v", err)
	}
	if err := opened(t, dir).VerifyVectors(t.Context()); err == nil || !strings.Contains(err.Error(), files[0]) ||
		!strings.Contains(err.Error(), files[1]) {
		t.Fatalf("reading both: %v", err)
	}
	v, _ := unread.Expert("a")
	if _, err := v.Vector(3); !errors.As(err, &damage) {
		t.Fatalf("a vector of a damaged file: %v", err)
	}
	score := []float32{0}
	if v.Scores(a.vector("word1"), []rank.Ordinal{3}, score); !math.IsNaN(float64(score[0])) {
		t.Fatalf("the score of a vector of a damaged file is %v", score[0])
	}
}

// FuzzManifest decodes any bytes, with a checksum that fits: an error or a
// manifest that can be followed.
func FuzzManifest(f *testing.F) {
	m := &manifest.Manifest{
		ID:          "x",
		Generation:  2,
		NextSegment: 2,
		Experts:     []manifest.Expert{{Name: "a", Fingerprint: "f", Dimension: 3, Index: store.Index{Kind: "flat"}}},
		Segments: []manifest.Segment{
			{
				Name:     "seg-000001",
				Passages: 2,
				Store:    manifest.SegmentFile{Name: "passages", Size: 1},
				Words:    manifest.SegmentFile{Name: "words", Size: 1},
				Experts:  []manifest.SegmentExpert{{Name: "a", Vectors: manifest.SegmentFile{Name: "a-1.vectors", Size: 1}}},
			},
		},
	}
	data, err := m.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	_, body, _ := strings.Cut(string(data), "\n")
	f.Add([]byte(body))
	f.Fuzz(func(t *testing.T, data []byte) {
		signed := append([]byte("conclave manifest 2 xxh3 "+disk.Sum(data)+"\n"), data...)
		for _, data := range [][]byte{data, signed} {
			m, err := manifest.Decode(data)
			if err != nil {
				continue
			}
			for i := range m.Segments {
				for _, file := range m.Segments[i].Files() {
					if path := filepath.Join(m.Segments[i].Name, file.Name); !filepath.IsLocal(path) ||
						strings.Count(path, "/") != 1 {
						t.Fatalf("a file at %q", path)
					}
				}
				for _, x := range m.Experts {
					_ = m.Segments[i].Expert(x.Name).Name
				}
			}
			_ = m.Next()
		}
	})
}
