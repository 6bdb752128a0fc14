package graph

// connectAll makes every node reachable from the entry on level 0: the choice of
// diverse neighbours can leave a node without a link to it, and then no
// search would find it however wide. Such a node is linked from the nearest
// of its own neighbours that is reachable and has a place free, or else from
// any reachable node with a free place near them. It fails if scratch memory cannot be had.
func (b *builder) connectAll() error {
	n := b.nodeCount()
	if n == 0 {
		return nil
	}
	reached := make([]uint64, (n+63)/64)
	room, err := allocate[uint32](&b.scratch, n, 0)
	if err != nil {
		return err
	}
	queue := b.markReachable(reached, room[:0], 0)
	for node := uint32(0); len(queue) < n && int(node) < n; node++ {
		if hasBit(reached, node) {
			continue
		}
		for _, from := range b.reachableNear(node, reached, queue) {
			list := b.neighbours(0, from)
			if last := len(list) - 1; list[last] == none {
				for i := range list {
					if list[i] == none {
						list[i] = node
						break
					}
				}
				break
			}
		}
		queue = b.markReachable(reached, queue, node)
	}
	return nil
}

// reachableNear returns the nodes from which a link to node would make it reachable, the nearest first: those of its
// neighbours that have a bit in reached, then the neighbours of these that have one, then all, which the caller knows
// to be reachable. A node may be in the list several times.
func (b *builder) reachableNear(node uint32, reached []uint64, all []uint32) []uint32 {
	var near []uint32
	for _, id := range b.neighbours(0, node) {
		if id != none && hasBit(reached, id) {
			near = append(near, id)
		}
	}
	for _, from := range near[:len(near):len(near)] {
		for _, id := range b.neighbours(0, from) {
			if id != none && hasBit(reached, id) {
				near = append(near, id)
			}
		}
	}
	return append(near, all...)
}

// markReachable marks in reached, a bit for each node, the node from and all nodes that level 0 leads to from it and
// that are not marked yet. It appends these to queue, which must not have nodes that are to be expanded, and returns
// it.
func (g *Graph) markReachable(reached []uint64, queue []uint32, from uint32) []uint32 {
	next := len(queue)
	reached[from/64] |= 1 << (from % 64)
	queue = append(queue, from)
	for ; next < len(queue); next++ {
		for i := range g.listWidth(0) {
			id := g.neighbour(0, queue[next], i)
			if id == g.none {
				break
			}
			if !hasBit(reached, id) {
				reached[id/64] |= 1 << (id % 64)
				queue = append(queue, id)
			}
		}
	}
	return queue
}
