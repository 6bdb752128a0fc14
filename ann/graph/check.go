package graph

import (
	"bytes"
	"fmt"
	"math"

	"conclave/ann/kernel"
)

// Check reads the whole file and verifies its checksums and the graph's
// invariants against the vectors it was built from: every row has one node;
// codes and scales are those of its vector; lists name other nodes of their
// level, each once, used places first; every node can be reached on level 0.
func (f *File) Check(rows []float32) error {
	if err := f.file.Check(); err != nil {
		return err
	}
	if err := f.check(rows); err != nil {
		return fmt.Errorf("checking %s: %w", f.file.Path(), err)
	}
	return nil
}

func (g *Graph) check(rows []float32) error {
	n := g.Count()
	if len(rows) != n*g.dim {
		return fmt.Errorf("the graph has %d nodes, there are %d vectors", n, len(rows)/g.dim)
	}
	seen := make([]uint64, (n+63)/64)
	code := make([]byte, g.stride)
	for node := range uint32(n) {
		ordinal := g.ordinals[node]
		if int(ordinal) >= n || contains(seen, ordinal) {
			return fmt.Errorf("node %d stands for row %d, which does not exist or has another node", node, ordinal)
		}
		seen[ordinal/64] |= 1 << (ordinal % 64)
		scale := kernel.Quantise(rows[int(ordinal)*g.dim:][:g.dim], code)
		if math.Float32bits(scale) != math.Float32bits(g.scales[node]) || !bytes.Equal(code, g.code(node)) {
			return fmt.Errorf("node %d does not have the code of row %d", node, ordinal)
		}
	}
	for level, size := range g.levels {
		for node := range uint32(size) {
			if err := g.checkList(level, node); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return nil
	}
	if reached := g.reach(make([]uint64, (n+63)/64), make([]uint32, 0, n), 0); len(reached) < n {
		return fmt.Errorf("only %d of %d nodes can be reached", len(reached), n)
	}
	return nil
}

func (g *Graph) checkList(level int, node uint32) error {
	list := g.neighbours(level, node)
	ended := false
	for i, id := range list {
		switch {
		case id == none:
			ended = true
			continue
		case ended:
			return fmt.Errorf("the list of node %d on level %d goes on after its end", node, level)
		case int(id) >= g.levels[level]:
			return fmt.Errorf("node %d has the neighbour %d on level %d, which has %d nodes", node, id, level, g.levels[level])
		case id == node:
			return fmt.Errorf("node %d is its own neighbour on level %d", node, level)
		}
		for _, other := range list[:i] {
			if other == id {
				return fmt.Errorf("node %d has the neighbour %d twice on level %d", node, id, level)
			}
		}
	}
	return nil
}
