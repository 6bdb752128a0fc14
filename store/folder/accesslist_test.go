package folder

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// accessLists is a source of passages, of which each may be read by three of many groups.
type accessLists struct {
	left, groups int
	rng          *rand.Rand
	of           map[string][]string // groups by id
}

func (s *accessLists) Next() (corpus.Passage, error) {
	if s.left == 0 {
		return corpus.Passage{}, io.EOF
	}
	s.left--
	p := corpus.Passage{ID: fmt.Sprint(s.left), Text: fmt.Sprint("passage number ", s.left)}
	for range 3 {
		p.Tags = append(p.Tags, groupName(s.rng.IntN(s.groups)))
	}
	s.of[p.ID] = p.Tags
	return p, nil
}

func (s *accessLists) Place() corpus.Place      { return corpus.Place{} }
func (s *accessLists) Progress() (int64, int64) { return 0, -1 }

func groupName(n int) string { return fmt.Sprintf("group:department-%d/readers", n) }

func withAccessLists(t testing.TB, passages, groups int) (*Generation, map[string][]string) {
	t.Helper()
	source := &accessLists{passages, groups, rand.New(rand.NewPCG(1, 2)), map[string][]string{}}
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := Build(t.Context(), dir, source, store.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	g := c.Acquire()
	t.Cleanup(func() { g.Release(); _ = c.Close() })
	return g, source.of
}

// TestAccessList: a filter of thousands of groups selects what has one of them.
func TestAccessList(t *testing.T) {
	g, of := withAccessLists(t, 2000, 20_000)
	var mine []string
	for n := 0; n < 20_000; n += 2 {
		mine = append(mine, groupName(n))
	}
	have := map[string]bool{}
	for _, tag := range mine {
		have[tag] = true
	}
	want := map[string]bool{}
	for id, tags := range of {
		if slices.ContainsFunc(tags, func(tag string) bool { return have[tag] }) {
			want[id] = true
		}
	}
	for range 2 { // computed, and remembered
		s, err := g.Select(nil, mine)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for o := range s.Ordinals() {
			id, err := g.ID(o)
			if err != nil || !want[id] {
				t.Fatalf("%q, %v", id, err)
			}
			found++
		}
		if found != len(want) || s.Len() != found || len(mine) != 10_000 {
			t.Fatalf("%d passages, and %d are said; want %d", found, s.Len(), len(want))
		}
	}
}

// BenchmarkAccessList selects by 10,000 of 50,000 groups among 100,000 passages.
func BenchmarkAccessList(b *testing.B) {
	g, _ := withAccessLists(b, 100_000, 50_000)
	var mine []string
	for n := range 10_000 {
		mine = append(mine, groupName(5*n))
	}
	for i := 0; b.Loop(); i++ {
		mine[0] = groupName(5*i + 1) // not one that is remembered
		if _, err := g.Select(nil, mine); err != nil {
			b.Fatal(err)
		}
	}
}
