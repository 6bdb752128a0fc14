package ann

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"example.org/conclave/internal/rank"
)

// checkCoder returns an error unless content is a graph of the vectors v that the library can read: numbers that would
// make its reader allocate too much or follow missing nodes are found here, without building anything.
func checkCoder(content []byte, v *Vectors) error {
	r := &coderReader{left: content}
	if version := r.readCount(1); version != 1 {
		return fmt.Errorf("the graph is of version %d", version)
	}
	r.readCount(1 << 20) // M
	r.readBytes(8)       // level factor
	r.readCount(1 << 30) // efSearch
	r.readBytes(r.readCount(64))
	levels := r.readCount(64)
	if r.err == nil && v.count > 0 && levels == 0 {
		return errors.New("the graph has no levels")
	}
	below := NewFilter(v.count)
	for i := range v.count {
		below.Add(rank.Ordinal(i))
	}
	for level := range levels {
		here := NewFilter(v.count)
		neighbours := []uint32(nil)
		nodes := r.readCount(v.count)
		for range nodes {
			neighbours = r.readNode(v, below, here, neighbours)
			if r.err != nil {
				return r.err
			}
		}
		if level == 0 && nodes != v.count || nodes == 0 {
			return fmt.Errorf("level %d has %d nodes of %d", level, nodes, v.count)
		}
		for _, id := range neighbours {
			if !here.Contains(rank.Ordinal(id)) {
				return fmt.Errorf("a node of level %d has the neighbour %d, which is not there", level, id)
			}
		}
		below = here
	}
	if r.err == nil && len(r.left) > 0 {
		return fmt.Errorf("%d bytes follow the graph", len(r.left))
	}
	return r.err
}

// coderReader reads values from the bytes in left, and keeps the first error.
type coderReader struct {
	left []byte
	err  error
}

// readCount reads a variable-length integer. If it is negative or above limit, it sets r.err and returns 0.
func (r *coderReader) readCount(limit int) int {
	n, size := binary.Varint(r.left)
	if size <= 0 || n < 0 || n > int64(limit) {
		if r.err == nil {
			r.err = fmt.Errorf("a number is %d where at most %d is possible", n, limit)
		}
		return 0
	}
	r.left = r.left[size:]
	return int(n)
}

// readBytes returns the next n bytes. If fewer are left, it sets r.err and returns zeros.
func (r *coderReader) readBytes(n int) []byte {
	if n > len(r.left) {
		if r.err == nil {
			r.err = errors.New("the graph ends in the middle")
		}
		return make([]byte, n)
	}
	b := r.left[:n]
	r.left = r.left[n:]
	return b
}

// readNode reads a node, adds it to here, and returns neighbours with the node's appended. It sets r.err if the node is
// not on the level below, is there twice, or has another vector than v.
func (r *coderReader) readNode(v *Vectors, below, here *Filter, neighbours []uint32) []uint32 {
	key := binary.LittleEndian.Uint32(r.readBytes(4))
	switch {
	case r.err != nil:
		return neighbours
	case int64(key) >= int64(v.count) || !below.Contains(rank.Ordinal(key)):
		r.err = fmt.Errorf("node %d is not on the level below", key)
		return neighbours
	case here.Contains(rank.Ordinal(key)):
		r.err = fmt.Errorf("node %d is there twice", key)
		return neighbours
	}
	here.Add(rank.Ordinal(key))
	if dim := r.readCount(v.dim); dim != v.dim && r.err == nil {
		r.err = fmt.Errorf("node %d has %d elements, the vectors have %d", key, dim, v.dim)
	}
	row := v.Vector(rank.Ordinal(key))
	if stored := unsafe.Slice((*byte)(unsafe.Pointer(&row[0])), 4*v.dim); !bytes.Equal(r.readBytes(4*v.dim), stored) &&
		r.err == nil {
		r.err = fmt.Errorf("node %d has another vector than row %d", key, key)
	}
	for range r.readCount(v.count) {
		neighbours = append(neighbours, binary.LittleEndian.Uint32(r.readBytes(4)))
		if r.err != nil {
			break
		}
	}
	return neighbours
}
