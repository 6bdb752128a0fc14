package bm25

import "encoding/binary"

const (
	arenaPage  = 1 << 16 // bytes that are allocated at once
	firstChunk = 16      // bytes of a list's first chunk; each next is twice as large
	lastChunk  = 1 << 10 // up to this
	linkSize   = 4       // bytes at a chunk's end that say where the next one is
)

// An arena holds many growing byte lists in few allocations: each list is a
// chain of chunks that double in size. Most terms occur once or twice, some in
// every passage, and a slice for each would cost more than its content.
type arena struct {
	pages [][]byte
	free  uint32 // first unused address; page<<16 | offset
}

// arenaList is one byte list in an arena, by the addresses of its bytes. The zero value is an empty list.
type arenaList struct {
	head, at, end uint32 // first byte, next byte to write, end of the current chunk
	chunk         uint32 // size of the current chunk
}

// size returns how many bytes the pages in use take.
func (a *arena) size() int64 { return int64(len(a.pages)) * arenaPage }

// full reports whether no more than one page can be added; the caller must reset the arena soon.
func (a *arena) full() bool { return len(a.pages) >= 1<<16-1 }

// reset empties the arena. Its pages are kept for what comes next; lists from before must not be used.
func (a *arena) reset() {
	a.pages = a.pages[:0]
	a.free = 0
}

// allocate returns the address of n free bytes in one page, n being at most arenaPage: the page's number in the upper
// 16 bits, the offset in it in the lower ones.
func (a *arena) allocate(n uint32) uint32 {
	if len(a.pages) == 0 || a.free&(arenaPage-1)+n > arenaPage || a.free>>16 == uint32(len(a.pages)) {
		n := len(a.pages)
		a.free = uint32(n) << 16
		if n < cap(a.pages) && a.pages[:n+1][n] != nil {
			a.pages = a.pages[:n+1] // a page from before a reset
		} else {
			a.pages = append(a.pages, make([]byte, arenaPage))
		}
	}
	at := a.free
	a.free += n
	return at
}

// put appends a byte to a list, and takes a new chunk for it if needed.
func (a *arena) put(l *arenaList, c byte) {
	if l.at == l.end {
		size := min(max(firstChunk, 2*l.chunk), lastChunk)
		next := a.allocate(size)
		if l.chunk == 0 {
			l.head = next
		} else {
			binary.LittleEndian.PutUint32(a.pages[l.end>>16][l.end&(arenaPage-1):], next)
		}
		l.at = next
		l.end = next + size - linkSize
		l.chunk = size
	}
	a.pages[l.at>>16][l.at&(arenaPage-1)] = c
	l.at++
}

// putVarint appends a number to a list, encoded as by binary.PutUvarint.
func (a *arena) putVarint(l *arenaList, v uint64) {
	for v >= 0x80 {
		a.put(l, byte(v)|0x80)
		v >>= 7
	}
	a.put(l, byte(v))
}

// appendTo appends the bytes of list l, in the order of put, to out and returns the result.
func (a *arena) appendTo(out []byte, l arenaList) []byte {
	if l.chunk == 0 {
		return out
	}
	for at, size := l.head, uint32(firstChunk); ; size = min(2*size, lastChunk) {
		page := a.pages[at>>16]
		from := at & (arenaPage - 1)
		if at+size-linkSize == l.end {
			return append(out, page[from:from+l.at-at]...)
		}
		out = append(out, page[from:from+size-linkSize]...)
		at = binary.LittleEndian.Uint32(page[from+size-linkSize:])
	}
}
