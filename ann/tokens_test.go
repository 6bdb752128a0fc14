package ann

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// TestTokensComeBack: lists come back as vectors of about their tokens' directions, with copies of
// their last token to fill a block, and what came back makes the same file.
func TestTokensComeBack(t *testing.T) {
	for _, dim := range []int{4, 64, 256} {
		lists := tokenLists(50, 30, dim, 40)
		path := writeLists(t, Late, dim, lists)
		x, err := Open(disk.OS{}, Late, path, "")
		if err != nil {
			t.Fatal(err)
		}
		var again [][]float32
		bytes := 4 * len(lists)
		for i, list := range lists {
			back := x.Vector(rank.Ordinal(i))
			again = append(again, back)
			if n := len(list) / dim; len(back) != (n+15)/16*16*dim {
				t.Fatalf("%d tokens of %d came back as %d numbers", n, dim, len(back))
			}
			bytes += len(back) / 4
			for at := 0; at < len(back); at += dim {
				got, was := back[at:at+dim], list[min(at, len(list)-dim):][:dim]
				product, square := 0.0, 0.0
				for d, x := range got {
					product += float64(x) * float64(was[d])
					square += float64(x) * float64(x)
				}
				if cosine := product / math.Sqrt(square); cosine < 0.8 {
					t.Fatalf("dim %d: token %d of list %d has the cosine %v with what came back", dim, at/dim, i, cosine)
				}
			}
		}
		if got := x.BytesPerVector(); got != float64(bytes)/float64(len(lists)) {
			t.Errorf("%v bytes a list, want %v", got, float64(bytes)/float64(len(lists)))
		}
		if v := x.Vector(rank.Ordinal(len(lists))); v != nil {
			t.Errorf("a list that does not exist is %v", v)
		}
		first, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(writeLists(t, Late, dim, again))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, second) {
			t.Errorf("dim %d: what came back makes another file", dim)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLongestThatComesBack: codes may be longer than the vector they are of, by
// more than may be appended of other vectors; they can be appended all the same.
func TestLongestThatComesBack(t *testing.T) {
	const dim = 64
	list := tokenLists(52, 1, dim, 1)[0]
	x := openLists(t, dim, [][]float32{list})
	back := x.Vector(0)
	square := 0.0
	for _, x := range back[:dim] {
		square += float64(x) * float64(x)
	}
	if square < 1.015*1.015 {
		t.Fatalf("the test tests nothing: the square of the length is %v", square)
	}
	if again := openLists(t, dim, [][]float32{back}).Vector(0); !slices.Equal(again, back) {
		t.Error("what came back does not come back again")
	}
}

func TestTokensRefuse(t *testing.T) {
	nan := float32(math.NaN())
	path := filepath.Join(t.TempDir(), "v")
	w, err := Create(disk.OS{}, Late, path, 4)
	if err != nil {
		t.Fatal(err)
	}
	for want, vector := range map[string][]float32{
		"it has 3 elements":              {1, 0, 0},
		"it has 5 elements":              {1, 0, 0, 0, 1},
		"it has 4097 tokens; at most 40": make([]float32, 4097*4),
		"element 5 is NaN":               {1, 0, 0, 0, 0, nan, 0, 0},
		"token 1 has length 1.5":         {1, 0, 0, 0, 0, 1.5, 0, 0},
	} {
		if err := w.Append(vector); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "list 0") {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	if err := w.Append(make([]float32, 4096*4)); err != nil {
		t.Error(err)
	}
	w.Abort()
	if _, err := os.Stat(path); err == nil {
		t.Error("a file that was given up is there")
	}
	for _, dim := range []int{-4, 0, 2, 63, 260} {
		if _, err := Create(disk.OS{}, Late, path, dim); err == nil ||
			!strings.Contains(err.Error(), "multiples of 4 up to 256") {
			t.Errorf("dimension %d: %v", dim, err)
		}
	}
	if w, err := Create(disk.OS{}, "tree", path, 4); err == nil || w != nil {
		t.Errorf("a file for an index of kind \"tree\": %v", err)
	}
	if w, err := Create(disk.OS{}, Flat, path, 0); err == nil || w != nil {
		t.Errorf("a file of vectors of dimension 0: %v", err)
	}
	// The files of one kind are none of another.
	vectors := writeVectors(t, 4, []float32{1, 0, 0, 0})
	lists := writeLists(t, Late, 4, [][]float32{{1, 0, 0, 0}})
	for kind, path := range map[string]string{Late: vectors, Flat: lists} {
		if _, err := Open(disk.OS{}, kind, path, ""); err == nil || !strings.Contains(err.Error(), "it holds") {
			t.Errorf("%s of another's file: %v", kind, err)
		}
		if err := Build(context.Background(), disk.OS{}, kind, path, "", BuildOptions{}); err == nil {
			t.Errorf("%s was built of another's file", kind)
		}
	}
	if err := (BuildOptions{M: 8}).Check(Late); err == nil {
		t.Error("M was accepted for an index without a graph")
	}
	var wrong *QueryError
	x := openLists(t, 4, [][]float32{{1, 0, 0, 0}})
	_, err = x.SearchExact(t.Context(), [][]float32{{1, 0, 0, 0}, make([]float32, 513*4)}, 1)
	if !errors.As(err, &wrong) ||
		!strings.Contains(err.Error(), "at most 512") {
		t.Errorf("a question of 513 tokens: %v", err)
	}
}

// TestWrongOffsets writes offsets that are not possible behind right checksums:
// nobody reads outside the file, and whoever searches or checks is told.
func TestWrongOffsets(t *testing.T) {
	const dim = 8
	lists := tokenLists(51, 6, dim, 60)
	path := writeLists(t, Late, dim, lists)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := len(whole) - 4*(len(lists)+1)
	for name, edit := range map[string]func(offsets []byte){
		"descending":         func(b []byte) { binary.LittleEndian.PutUint32(b[4*3:], 0) },
		"beyond the file":    func(b []byte) { binary.LittleEndian.PutUint32(b[4*3:], math.MaxUint32) },
		"the last beyond":    func(b []byte) { b[4*6]++ },
		"the last too early": func(b []byte) { b[4*6]-- },
		"the first not 0":    func(b []byte) { b[0]++ },
	} {
		content := slices.Clone(whole)
		edit(content[at:])
		resum(content)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(disk.OS{}, Late, path, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range lists { // before anybody verified
			_ = x.Vector(rank.Ordinal(i))
		}
		out := make([]float32, 2)
		if x.Scores(lists[0], []rank.Ordinal{0, 5}, out); out[0] == out[0] || out[1] == out[1] {
			t.Errorf("%s: scores are %v", name, out)
		}
		_, _, search := x.Search(t.Context(), lists[0], SearchOptions{K: 1})
		for what, err := range map[string]error{"Verify": x.Verify(t.Context()), "Check": x.Check(), "Search": search} {
			var damage *DamageError
			if !errors.As(err, &damage) || damage.Path != path {
				t.Errorf("%s: %s says %v", name, what, err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
