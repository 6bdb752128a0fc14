package graph

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/internal/disk"
)

func randomRows(n, dim int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]float32, n*dim)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

func build(t *testing.T, floats []float32, dim, m int) *Graph {
	t.Helper()
	rows := kernel.AppendHalves(nil, floats)
	path := filepath.Join(t.TempDir(), "graph")
	p := Params{M: m, EfConstruction: 30, Seed: 1, Threads: 2}
	if err := Build(context.Background(), disk.OS{}, path, rows, dim, 7, p); err != nil {
		t.Fatal(err)
	}
	file, err := Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	g := clone(&file.Graph)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.checkNodes(rows); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEntriesSortByScoreThenNode holds the packed form against comparing its
// parts.
func TestEntriesSortByScoreThenNode(t *testing.T) {
	type part struct {
		score float32
		node  uint32
	}
	var parts []part
	for _, s := range []float32{0, 1, -1, 0.5, -0.5, 1e30, -1e30, math.SmallestNonzeroFloat32, math.MaxFloat32,
		-math.MaxFloat32} {
		for _, n := range []uint32{0, 1, 2, MaxRows} {
			parts = append(parts, part{s, n})
		}
	}
	var entries []entry
	for _, p := range parts {
		e := packEntry(p.score, p.node)
		if e.score() != p.score || e.node() != p.node || e&expanded != 0 {
			t.Fatalf("%v came back as %v, %v", p, e.score(), e.node())
		}
		entries = append(entries, e)
	}
	slices.Sort(entries)
	slices.SortFunc(
		parts, func(a, b part) int { return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.node, b.node)) },
	)
	for i, e := range entries {
		if e.score() != parts[i].score || e.node() != parts[i].node {
			t.Fatalf("place %d is %v %v, want %v", i, e.score(), e.node(), parts[i])
		}
	}
}

func TestMergeAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var all []entry
		for i := range uint32(1 + rng.IntN(60)) {
			all = append(all, packEntry(float32(rng.IntN(9)), i))
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		cut := rng.IntN(len(all))
		limit := 1 + rng.IntN(70)
		list, fresh := slices.Clone(all[:cut]), slices.Clone(all[cut:])
		slices.Sort(list)
		sortFew(fresh)
		list = slices.Grow(list, len(fresh))
		got, place := mergeEntries(list, fresh, limit)
		slices.Sort(all)
		if want := all[:min(limit, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("merged to %v, want %v", got, want)
		}
		if want := slices.Index(all, fresh[0]); place != want {
			t.Fatalf("the best new entry is at %d, not %d", want, place)
		}
	}
}

func TestLevelsShrink(t *testing.T) {
	for n, want := range map[int][]int{0: {0}, 1: {1}, 31: {31}, 32: {32, 2}, 1000: {1000, 62, 3}} {
		if got := levelSizes(n, 16); !slices.Equal(got, want) {
			t.Errorf("levels of %d nodes are %v, want %v", n, got, want)
		}
	}
	if got := levelSizes(MaxRows, minM); linksAt+len(got) > 32 {
		t.Errorf("%d levels do not fit a file", len(got))
	}
}

// TestSearchOfEverything: with room for all candidates, a search finds every
// row exactly once, so every node is reachable. Uniform noise, equal vectors,
// a line of vectors, and lengths that grow a thousandfold are hard in
// different ways.
func TestSearchOfEverything(t *testing.T) {
	const n, dim = 700, 6
	equal := randomRows(n, dim, 1)
	for i := range n / 2 {
		copy(equal[i*dim:(i+1)*dim], equal[(i%3)*dim:])
	}
	line := make([]float32, n*dim)
	growing := randomRows(n, dim, 2)
	for i := range n {
		line[i*dim] = 1
		line[i*dim+1] = float32(i) / n
		for j := range dim {
			growing[i*dim+j] *= float32(math.Pow(1000, float64(i)/n))
		}
	}
	for name, rows := range map[string][]float32{
		"noise": randomRows(n, dim, 3), "equal": equal, "line": line, "growing": growing,
		"zeros": make([]float32, n*dim), "one": randomRows(1, dim, 4), "two": randomRows(2, dim, 4), "none": nil,
	} {
		g := build(t, rows, dim, 4)
		var s Searcher
		found, err := g.Search(context.Background(), &s, randomRows(1, dim, 5), n, nil, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[uint32]bool{}
		for _, c := range found {
			seen[c] = true
		}
		if len(found) != len(rows)/dim || len(seen) != len(found) {
			t.Errorf("%s: %d candidates, %d different, of %d rows", name, len(found), len(seen), len(rows)/dim)
		}
	}
}

// TestCheckSeesBrokenInvariants breaks each in a sound graph.
func TestCheckSeesBrokenInvariants(t *testing.T) {
	const n, dim = 400, 8
	floats := randomRows(n, dim, 6)
	copy(floats[10*dim:11*dim], floats[20*dim:])
	g := build(t, floats, dim, 4)
	rows := kernel.AppendHalves(nil, floats)
	twice := slices.IndexFunc(g.ordinals, func(o uint32) bool { return o&several != 0 })
	if !slices.Equal(g.grouped, []uint32{10, 20}) || !slices.Equal(g.groups, []uint32{0, 2}) {
		t.Fatalf("the rows 10 and 20 are in the groups %v of %v", g.groups, g.grouped)
	}
	for want, breaks := range map[string]func(){
		"has another node, or is out of order": func() { g.grouped[1] = g.grouped[0] },
		"out of order":                         func() { slices.Reverse(g.grouped) },
		"node 2 does not stand for rows":       func() { g.ordinals[2] = n },
		"node 3 does not stand for rows":       func() { g.ordinals[3] = several | 1 },
		"does not stand for rows":              func() { g.groups[0] = 2 },
		"stand for 399 of 400 rows":            func() { g.groups[0] = 1 },
		"row 10 of node ":                      func() { g.ordinals[(twice+1)%g.nodeCount()] = 10 },
		"does not have the code":               func() { g.codes[17]++ },
		"does not have the code of row":        func() { g.scales[4] *= 1.5 },
		"goes on after its end": func() {
			g.setNeighbour(0, 7, g.listWidth(0)-1, g.neighbour(0, 7, 0))
			g.setNeighbour(0, 7, 0, g.none)
		},
		"which has":            func() { g.setNeighbour(1, 2, 0, uint32(g.levels[1])) },
		"is its own neighbour": func() { g.setNeighbour(0, 9, 0, 9) },
		"twice on level":       func() { g.setNeighbour(0, 9, 1, g.neighbour(0, 9, 0)) },
		"nodes can be reached": func() { g.isolate(33) },
		"there are 399":        func() { rows = rows[:399*dim] },
	} {
		before := clone(g)
		all := rows
		breaks()
		if err := g.checkNodes(rows); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
		*g = *before
		rows = all
	}
	if err := g.checkNodes(rows); err != nil {
		t.Error(err)
	}
}

// TestLongNumbersInLists: lists with four bytes for a node, which graphs have that are larger than a test can build,
// give the same answers as those with three.
func TestLongNumbersInLists(t *testing.T) {
	const n, dim = 2000, 8
	floats := randomRows(n, dim, 8)
	short := build(t, floats, dim, 6)
	long := clone(short)
	long.setIDBytes(shortestIDs(1 << 24))
	if short.idBytes != 3 || shortestIDs(1<<24-1) != 3 || long.idBytes != 4 {
		t.Fatalf("%d and %d bytes for a node", short.idBytes, long.idBytes)
	}
	for level, size := range long.levels {
		long.links[level] = make([]byte, long.listBytes(level))
		for node := range uint32(size) {
			for i := range long.listWidth(level) {
				id := short.neighbour(level, node, i)
				if id == short.none {
					id = long.none
				}
				long.setNeighbour(level, node, i, id)
			}
		}
	}
	if err := long.checkNodes(kernel.AppendHalves(nil, floats)); err != nil {
		t.Fatal(err)
	}
	var s Searcher
	for i := range 50 {
		query := floats[i*dim:][:dim]
		want, err := short.Search(t.Context(), &s, query, 30, nil, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := long.Search(t.Context(), &s, query, 30, nil, 0, nil); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	}
}

// isolate takes a node out of every list.
func (g *Graph) isolate(node uint32) {
	for other := range uint32(g.nodeCount()) {
		left := 0
		for i := range g.listWidth(0) {
			if id := g.neighbour(0, other, i); id != node {
				g.setNeighbour(0, other, left, id)
				left++
			}
		}
		for ; left < g.listWidth(0); left++ {
			g.setNeighbour(0, other, left, g.none)
		}
	}
}

func clone(g *Graph) *Graph {
	c := *g
	c.codes, c.scales = slices.Clone(g.codes), slices.Clone(g.scales)
	c.ordinals, c.groups, c.grouped = slices.Clone(g.ordinals), slices.Clone(g.groups), slices.Clone(g.grouped)
	c.links = nil
	for _, l := range g.links {
		c.links = append(c.links, slices.Clone(l))
	}
	return &c
}

func TestBuildRefuses(t *testing.T) {
	rows := kernel.AppendHalves(nil, randomRows(10, 4, 1))
	path := filepath.Join(t.TempDir(), "graph")
	for want, p := range map[string]Params{
		"M is 3":            {M: 3, EfConstruction: 10},
		"M is 100000":       {M: 100000, EfConstruction: 10},
		"efConstruction is": {M: 16, EfConstruction: 10},
	} {
		err := Build(context.Background(), disk.OS{}, path, rows, 4, 0, p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, dim := range []int{-1, 0, MaxDimension + 1} {
		p := Params{M: 4, EfConstruction: 10}
		if err := Build(context.Background(), disk.OS{}, path, rows, dim, 0, p); err == nil {
			t.Errorf("dimension %d was accepted", dim)
		}
	}
}
