package graph

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"example.org/conclave/ann/kernel"
)

// Verify compares the checksums of the file, unless that was done (mapped.File.Verify). It returns a
// *mapped.DamageError, or ctx's error if that ends first.
func (f *File) Verify(ctx context.Context) error { return f.file.Verify(ctx) }

// Check reads the whole file and verifies its checksums and the graph's invariants against the vectors it was built
// from: every row has one node; codes and scales are those of its vector; lists name other nodes of their level, each
// once, used places first; every node can be reached on level 0. It returns an error for the first of these that does
// not hold.
func (f *File) Check(rows []kernel.Half) error {
	if err := f.file.Check(); err != nil {
		return err
	}
	if err := f.checkNodes(rows); err != nil {
		return fmt.Errorf("checking %s: %w", f.file.Path(), err)
	}
	return nil
}

// checkNodes returns an error if the graph is not one of these rows (checkRows), a list of neighbours is invalid
// (checkList), or a node cannot be reached from the entry on level 0.
func (g *Graph) checkNodes(rows []kernel.Half) error {
	if len(rows) != g.Rows()*g.dim {
		return fmt.Errorf("the graph has %d vectors, there are %d", g.Rows(), len(rows)/g.dim)
	}
	if err := g.checkRows(rows); err != nil {
		return err
	}
	for level, size := range g.levels {
		for node := range uint32(size) {
			if err := g.checkList(level, node); err != nil {
				return err
			}
		}
	}
	n := g.nodeCount()
	if n == 0 {
		return nil
	}
	if reached := g.markReachable(make([]uint64, (n+63)/64), make([]uint32, 0, n), 0); len(reached) < n {
		return fmt.Errorf("only %d of %d nodes can be reached", len(reached), n)
	}
	return nil
}

// checkRows returns an error unless every row has exactly one node, with the row's code and scale.
func (g *Graph) checkRows(rows []kernel.Half) error {
	seen := make([]uint64, (g.Rows()+63)/64)
	var coder kernel.Coder
	code := make([]byte, g.stride)
	var row []float32
	count := 0
	for node := range uint32(g.nodeCount()) {
		ordinals, err := g.rowsOf(node)
		if err != nil {
			return fmt.Errorf("node %d does not stand for rows among %d: %w", node, g.Rows(), err)
		}
		count += len(ordinals)
		for i, ordinal := range ordinals {
			if hasBit(seen, ordinal) || i > 0 && ordinals[i-1] > ordinal {
				return fmt.Errorf("row %d of node %d has another node, or is out of order", ordinal, node)
			}
			seen[ordinal/64] |= 1 << (ordinal % 64)
			row = kernel.AppendFloats(row[:0], rows[int(ordinal)*g.dim:][:g.dim])
			scale := coder.Encode(row, code)
			if math.Float32bits(scale) != math.Float32bits(g.scales[node]) || !bytes.Equal(code, g.code(node)) {
				return fmt.Errorf("node %d does not have the code of row %d", node, ordinal)
			}
		}
	}
	if count != g.Rows() {
		return fmt.Errorf("the nodes stand for %d of %d rows", count, g.Rows())
	}
	return nil
}

// checkList returns an error if a node's list on a level names a node that is not on the level, itself or one twice, or
// goes on after its end.
func (g *Graph) checkList(level int, node uint32) error {
	list := make([]uint32, g.listWidth(level))
	for i := range list {
		list[i] = g.neighbour(level, node, i)
	}
	ended := false
	for i, id := range list {
		switch {
		case id == g.none:
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
