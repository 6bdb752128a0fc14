package corpus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"

	"conclave/rank"
)

// StoreWriter writes the passages of a segment, in the order of their
// ordinals. It keeps about 24 bytes a passage in memory, whatever the texts'
// lengths. It is not safe for concurrent use.
type StoreWriter struct {
	path    string
	file    *os.File
	out     *bufio.Writer
	at      uint64 // where the next record goes
	offsets []uint64
	keys    []uint32
	ids     idTable
	record  []byte
	err     error // the first failure; nothing is written behind it
}

// DuplicateError says that an id is there already. Earlier is the ordinal of
// the passage that has it.
type DuplicateError struct {
	ID      string
	Earlier rank.Ordinal
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("the id %s is already taken by passage number %d", excerpt(e.ID), e.Earlier)
}

// CreateStore begins a store at path, which must not exist yet. The file is
// not a store until Close returned nil.
func CreateStore(path string) (*StoreWriter, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	w := &StoreWriter{path: path, file: file, out: bufio.NewWriterSize(file, 1<<20), at: headerBytes}
	_, w.err = w.out.Write(make([]byte, headerBytes)) // zeros: no store yet
	return w, w.err
}

// Len is the number of passages written so far, and the next ordinal.
func (w *StoreWriter) Len() int { return len(w.offsets) }

// Append writes p and returns its ordinal. A passage that Check refuses or
// whose id is taken (*DuplicateError) is not written and does no harm; after
// any other error the store cannot be completed.
func (w *StoreWriter) Append(p Passage) (rank.Ordinal, error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := p.Check(); err != nil {
		return 0, err
	}
	if len(w.offsets) >= 1<<32-2 {
		return 0, fmt.Errorf("a segment holds %d passages at most", uint32(1<<32-2))
	}
	key := hashKey(p.ID)
	earlier, taken, err := w.find(key, p.ID)
	if err != nil {
		w.err = err
		return 0, err
	}
	if taken {
		return 0, &DuplicateError{ID: p.ID, Earlier: rank.Ordinal(earlier)}
	}
	ordinal := uint32(len(w.offsets))
	if w.record, err = appendRecord(append(w.record[:0], 0, 0, 0, 0), &p); err != nil {
		return 0, err
	}
	binary.LittleEndian.PutUint32(w.record, recordSum(ordinal, w.record[4:]))
	if _, err := w.out.Write(w.record); err != nil {
		w.err = err
		return 0, err
	}
	w.offsets = append(w.offsets, w.at)
	w.keys = append(w.keys, key)
	w.ids.add(ordinal, w.keys)
	w.at += uint64(len(w.record))
	return rank.Ordinal(ordinal), nil
}

// find looks for an id among those written. Equal keys are told apart by
// reading the record back, which almost only happens for real duplicates.
func (w *StoreWriter) find(key uint32, id string) (uint32, bool, error) {
	for ordinal := range w.ids.candidates(key, w.keys) {
		if err := w.out.Flush(); err != nil {
			return 0, false, err
		}
		end := w.at
		if int(ordinal)+1 < len(w.offsets) {
			end = w.offsets[ordinal+1]
		}
		start := w.offsets[ordinal] + 4
		// Length and id stand first; no need to read the text.
		head := make([]byte, min(end-start, uint64(binary.MaxVarintLen64+MaxIDBytes)))
		if _, err := w.file.ReadAt(head, int64(start)); err != nil {
			return 0, false, fmt.Errorf("reading back %s: %w", w.path, err)
		}
		stored, err := recordID(head)
		if err != nil {
			return 0, false, fmt.Errorf("reading back %s: %w", w.path, err)
		}
		if string(stored) == id {
			return ordinal, true, nil
		}
	}
	return 0, false, nil
}

// Close completes the store, writes it through to the disk and closes it.
func (w *StoreWriter) Close() error {
	if w.file == nil {
		return errors.New("the store is closed already")
	}
	err := w.err
	if err == nil {
		err = w.complete()
	}
	err = errors.Join(err, w.file.Close())
	w.file = nil
	if err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	return nil
}

// Abort closes and removes the unfinished file. It does nothing after Close.
func (w *StoreWriter) Abort() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.path)
		w.file = nil
	}
}

func (w *StoreWriter) complete() error {
	w.ids = idTable{}
	n := uint64(len(w.offsets))
	h := storeHeader{count: n, offsets: w.at, pages: (n + pageEntries - 1) / pageEntries}
	h.table = alignPage(h.offsets + 8*(n+1))
	h.size = h.table + h.pages*pageBytes + 4*h.pages + 4

	var b [8]byte
	for _, at := range append(w.offsets, w.at) {
		binary.LittleEndian.PutUint64(b[:], at)
		if _, err := w.out.Write(b[:]); err != nil {
			return err
		}
	}
	if _, err := w.out.Write(make([]byte, h.table-h.offsets-8*(n+1))); err != nil {
		return err
	}

	sorted := make([]uint64, n)
	for ordinal, key := range w.keys {
		sorted[ordinal] = uint64(key)<<32 | uint64(ordinal)
	}
	slices.Sort(sorted)
	var fences []byte
	for page := range slices.Chunk(sorted, pageEntries) {
		encoded := make([]byte, pageBytes)
		for i, entry := range page {
			binary.LittleEndian.PutUint64(encoded[8*i:], entry)
		}
		number := uint32(len(fences) / 4)
		binary.LittleEndian.PutUint32(encoded[pageBytes-8:], uint32(len(page)))
		binary.LittleEndian.PutUint32(encoded[pageBytes-4:], recordSum(number, encoded[:pageBytes-4]))
		if _, err := w.out.Write(encoded); err != nil {
			return err
		}
		fences = binary.LittleEndian.AppendUint32(fences, uint32(page[0]>>32))
	}
	fences = binary.LittleEndian.AppendUint32(fences, crc32.Checksum(fences, castagnoli))
	if _, err := w.out.Write(fences); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	// The header comes last: a file that was cut short has none.
	if _, err := w.file.WriteAt(h.encode(), 0); err != nil {
		return err
	}
	return w.file.Sync()
}
