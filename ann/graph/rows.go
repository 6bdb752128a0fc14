package graph

import (
	"bytes"
	"cmp"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"unsafe"

	"example.org/conclave/ann/kernel"
)

// groupEqual makes one node of each group of equal vectors, and puts the nodes into a random order that depends on
// seed only. It sets levels, ordinals, groups and grouped. rows must have whole vectors. It fails if scratch memory
// cannot be had.
func (b *builder) groupEqual(rows []kernel.Half, seed uint64) error {
	next, later, err := b.findEqual(rows)
	if err != nil {
		return err
	}
	count := len(rows) / b.dim
	nodes := 0
	for row := range uint32(count) {
		if !hasBit(later, row) {
			nodes++
		}
	}
	b.ordinals, err = allocate[uint32](&b.scratch, nodes, 0)
	if err != nil {
		return err
	}
	at := 0
	for row := range uint32(count) {
		if !hasBit(later, row) {
			b.ordinals[at] = row
			at++
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x636f6e636c617665))
	rng.Shuffle(nodes, func(i, j int) { b.ordinals[i], b.ordinals[j] = b.ordinals[j], b.ordinals[i] })
	b.levels = levelSizes(nodes, b.m)
	return b.nameGroups(next)
}

// findEqual returns for each row the next one with an equal vector, none for the last, and a bit for each row that is
// not the first of its vector. It fails if scratch memory cannot be had.
func (b *builder) findEqual(rows []kernel.Half) (next []uint32, later []uint64, err error) {
	row := func(ordinal uint32) []byte {
		r := rows[int(ordinal)*b.dim:][:b.dim]
		return unsafe.Slice((*byte)(unsafe.Pointer(&r[0])), 2*b.dim)
	}
	type hashed struct {
		hash    uint64
		ordinal uint32
	}
	count := len(rows) / b.dim
	next, err = allocate[uint32](&b.scratch, count, 0xff)
	if err != nil {
		return nil, nil, err
	}
	own := scratch{disk: b.scratch.disk, folder: b.scratch.folder}
	defer func() { err = errors.Join(err, own.release()) }()
	all, err := allocate[hashed](&own, count, 0)
	if err != nil {
		return nil, nil, err
	}
	key := maphash.MakeSeed() // the result does not depend on which hashes collide
	for i := range all {
		all[i] = hashed{maphash.Bytes(key, row(uint32(i))), uint32(i)}
	}
	slices.SortFunc(all, func(x, y hashed) int {
		return cmp.Or(
			cmp.Compare(x.hash, y.hash), bytes.Compare(row(x.ordinal), row(y.ordinal)),
			cmp.Compare(x.ordinal, y.ordinal),
		)
	})
	later = make([]uint64, (count+63)/64)
	for i, h := range all {
		if i > 0 && all[i-1].hash == h.hash && bytes.Equal(row(all[i-1].ordinal), row(h.ordinal)) {
			next[all[i-1].ordinal] = h.ordinal
			later[h.ordinal/64] |= 1 << (h.ordinal % 64)
		}
	}
	return next, later, nil
}

// nameGroups puts the number of a group into the place of each ordinal that has equal ones, and sets groups and
// grouped. next is what findEqual returns. It fails if scratch memory cannot be had.
func (b *builder) nameGroups(next []uint32) (err error) {
	groups, rows := 0, 0
	for _, first := range b.ordinals {
		if next[first] == none {
			continue
		}
		groups++
		for row := first; row != none; row = next[row] {
			rows++
		}
	}
	if groups == 0 {
		return nil
	}
	b.groups, err = allocate[uint32](&b.scratch, groups+1, 0)
	if err != nil {
		return err
	}
	b.grouped, err = allocate[uint32](&b.scratch, rows, 0)
	if err != nil {
		return err
	}
	group := uint32(0)
	at := 0
	for node, first := range b.ordinals {
		if next[first] == none {
			continue
		}
		b.ordinals[node] = several | group
		for row := first; row != none; row = next[row] {
			b.grouped[at] = row
			at++
		}
		group++
		b.groups[group] = uint32(at)
	}
	return nil
}

// firstRow returns the lowest of the vectors that a node stands for.
func (b *builder) firstRow(node int) int {
	if o := b.ordinals[node]; o&several == 0 {
		return int(o)
	}
	return int(b.grouped[b.groups[b.ordinals[node]&^several]])
}

// allocate makes room for the codes and the lists of neighbours of all nodes. The lists are empty. It fails if scratch
// memory cannot be had.
func (b *builder) allocate() (err error) {
	n := b.nodeCount()
	b.codes, err = allocate[byte](&b.scratch, n*b.stride, 0)
	if err != nil {
		return err
	}
	b.scales, err = allocate[float32](&b.scratch, n, 0)
	if err != nil {
		return err
	}
	b.inverse, err = allocate[float32](&b.scratch, n, 0)
	if err != nil {
		return err
	}
	b.lists = make([][]uint32, len(b.levels))
	b.links = make([][]byte, len(b.levels))
	for l, size := range b.levels {
		list, err := allocate[uint32](&b.scratch, size*b.listWidth(l), 0xff)
		if err != nil {
			return err
		}
		b.lists[l] = list
		b.links[l] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*len(list))
	}
	for _, w := range b.workers {
		w.startQuery(b.Graph)
	}
	return nil
}
