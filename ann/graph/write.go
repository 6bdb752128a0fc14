package graph

import (
	"errors"

	"example.org/conclave/ann/mapped"
)

// written is how many bytes of a section are put together before they are written.
const written = 64 << 10

// write writes the graph to a file at path, with its nodes in another order and its lists in the fewest bytes. order
// has the builder's number of each node, number the place of each node in order. The file appears only when it is whole
// and durable. o is kept in it. It fails if the disk does, and then leaves no file.
func (b *builder) write(path string, order, number []uint32, o Origin) error {
	w, err := mapped.Create(b.scratch.disk, path, fileKind, fileVersion)
	if err != nil {
		return err
	}
	defer w.Abort()
	err = errors.Join(
		writeEach(w, order, func(to []uint32, node uint32) []uint32 { return append(to, b.ordinals[node]) }),
		w.Section(), mapped.Append(w, b.groups),
		w.Section(), mapped.Append(w, b.grouped),
		w.Section(),
		writeEach(w, order, func(to []float32, node uint32) []float32 { return append(to, b.scales[node]) }),
		w.Section(), writeEach(w, order, func(to []byte, node uint32) []byte { return append(to, b.code(node)...) }),
	)
	bytes := shortestIDs(len(order))
	for level, size := range b.levels { // each is a prefix of the order
		err = errors.Join(err, w.Section(), writeEach(w, order[:size], func(to []byte, node uint32) []byte {
			for _, id := range b.neighbours(level, node) {
				if id != none {
					id = number[id]
				}
				for j := range bytes {
					to = append(to, byte(id>>(8*j)))
				}
			}
			return to
		}), mapped.Append(w, make([]byte, 4-bytes))) // numbers of three bytes are read as four
	}
	if err != nil {
		return err
	}
	return w.Commit(
		uint64(b.Rows()), uint64(b.nodeCount()), uint64(b.dim), uint64(b.m), uint64(o.EfConstruction), o.Seed, o.Stamp,
		uint64(b.groupCount()),
	)
}

// writeEach appends to the section of w what add appends for each of the nodes. It fails if the disk does.
func writeEach[T ~uint8 | ~uint32 | ~float32](
	w *mapped.Writer, nodes []uint32, add func(to []T, node uint32) []T,
) error {
	part := make([]T, 0, written)
	for _, node := range nodes {
		part = add(part, node)
		if len(part) < written/2 {
			continue
		}
		if err := mapped.Append(w, part); err != nil {
			return err
		}
		part = part[:0]
	}
	return mapped.Append(w, part)
}
