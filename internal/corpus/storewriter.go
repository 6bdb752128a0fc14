package corpus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/wording"
)

// StoreWriter writes the passages of a segment, in any order: Close numbers
// them in the order of their ids. What it keeps of each passage, about 30 bytes whatever the text's length, lies in
// scratch memory beside the file (disk.Array). It is not safe for concurrent use.
type StoreWriter struct {
	path    string
	disk    disk.Disk
	file    disk.File
	out     *bufio.Writer
	at      uint64 // where the next record goes
	offsets *disk.Array[uint64]
	keys    *disk.Array[uint32]
	ids     *idTable
	last    string // the id appended last
	ordered bool   // the ids came in order so far
	record  []byte
	err     error // the first failure; nothing is written behind it
}

// DuplicateError is the error of a passage whose id was written already.
type DuplicateError struct {
	ID      string
	Earlier int // which Append wrote the passage that has it, from 0
}

// Error names the id and the earlier passage, by its number from 1.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf(
		"the id %s is already taken by passage number %d that was written", wording.Quote(e.ID), e.Earlier+1,
	)
}

// CreateStore creates a store at path, which must not exist. The file cannot be opened as a store until Close has
// returned nil. Call Close or Abort in the end. It fails if the file cannot be made.
func CreateStore(d disk.Disk, path string) (*StoreWriter, error) {
	file, err := d.CreateFile(path)
	if err != nil {
		return nil, err
	}
	w := &StoreWriter{
		disk:    d,
		path:    path,
		file:    file,
		out:     bufio.NewWriterSize(file, 1<<20),
		at:      headerBytes,
		ordered: true,
		offsets: disk.NewList[uint64](d, filepath.Dir(path)),
		keys:    disk.NewList[uint32](d, filepath.Dir(path)),
		ids:     &idTable{disk: d, folder: filepath.Dir(path)},
	}
	_, w.err = w.out.Write(make([]byte, headerBytes)) // zeros: no store yet
	return w, w.err
}

// Len returns the number of passages written so far.
func (w *StoreWriter) Len() int { return len(w.offsets.Values()) }

// Append writes a passage. It returns an error without writing if CheckStored refuses the passage or its id was written
// already (*DuplicateError): the next passage can be appended then. After any other error the store cannot be
// completed.
func (w *StoreWriter) Append(p Passage) error {
	if w.err != nil {
		return w.err
	}
	if err := p.CheckStored(); err != nil {
		return err
	}
	if w.Len() >= 1<<32-2 {
		return fmt.Errorf("a segment holds %d passages at most", uint32(1<<32-2))
	}
	key := hashKey(p.ID)
	earlier, taken, err := w.findID(key, p.ID)
	if err != nil {
		w.err = err
		return err
	}
	if taken {
		return &DuplicateError{ID: p.ID, Earlier: earlier}
	}
	w.record, err = p.AppendBinary(append(w.record[:0], make([]byte, recordBytes)...))
	if err != nil {
		return err
	}
	body := w.record[recordBytes:]
	binary.LittleEndian.PutUint32(w.record, uint32(len(body)))
	binary.LittleEndian.PutUint32(w.record[4:], crc32.Checksum(body, castagnoli))
	if _, err := w.out.Write(w.record); err != nil {
		w.err = err
		return err
	}
	w.err = errors.Join(w.offsets.Append(w.at), w.keys.Append(key))
	if w.err == nil {
		w.err = w.ids.add(uint32(w.Len()-1), w.keys.Values())
	}
	if w.err != nil {
		return w.err
	}
	w.at += uint64(len(w.record))
	w.ordered = w.ordered && w.last < p.ID
	w.last = p.ID
	return nil
}

// findID returns the number, from 0, of the passage with this id among those written; false if there is none. key
// is that of the id. It writes out the buffer and reads records back whose ids have the same key, which is rare
// except for real duplicates. The error is that of the file.
func (w *StoreWriter) findID(key uint32, id string) (int, bool, error) {
	for n := range w.ids.candidates(key, w.keys.Values()) {
		if err := w.out.Flush(); err != nil {
			return 0, false, err
		}
		start := w.offsets.Values()[n] + recordBytes
		// Length and id stand first; no need to read the text.
		head := make([]byte, min(w.at-start, uint64(binary.MaxVarintLen64+MaxIDBytes)))
		if _, err := w.file.ReadAt(head, int64(start)); err != nil {
			return 0, false, fmt.Errorf("reading back what was written: %w", err)
		}
		stored, err := recordID(head)
		if err != nil {
			return 0, false, fmt.Errorf("reading back what was written: %w", err)
		}
		if string(stored) == id {
			return int(n), true, nil
		}
	}
	return 0, false, nil
}

// Close completes the store, syncs it to the disk and closes the file. It fails if an earlier Append failed, or
// after Close or Abort. After an error the file stays, and cannot be opened as a store.
func (w *StoreWriter) Close() error {
	if w.file == nil {
		return errors.New("the store is closed already")
	}
	err := w.err
	if err == nil {
		err = w.completeFile()
	}
	err = errors.Join(err, w.file.Close(), w.release())
	w.file = nil
	if err != nil {
		return fmt.Errorf("writing %s: %w", w.path, err)
	}
	return nil
}

// Abort closes and removes the unfinished file. It does nothing after Close, whether that failed or not.
func (w *StoreWriter) Abort() {
	if w.file != nil {
		_ = w.file.Close()
		_ = w.release()
		_ = w.disk.Remove(w.path)
		w.file = nil
	}
}

// release gives the memory back that grows with the passages. It returns the errors of unmapping.
func (w *StoreWriter) release() error {
	return errors.Join(w.offsets.Close(), w.keys.Close(), w.ids.slots.Close())
}

// completeFile sorts the passages by id, writes the offsets, the id table, the fences and, last, the header, and syncs
// the file. A file that was cut short has no header and cannot be opened. It fails if the file cannot be written, or
// read back for sorting.
func (w *StoreWriter) completeFile() error {
	if err := errors.Join(w.ids.slots.Close(), w.out.Flush()); err != nil {
		return err
	}
	h := newHeader(uint64(w.Len()), w.at)
	if err := w.sortByID(); err != nil {
		return err
	}
	if _, err := w.out.Write(make([]byte, h.offsets-h.records)); err != nil {
		return err
	}
	if err := w.writePages(w.offsets.Values(), nil); err != nil {
		return err
	}
	sorted := w.offsets.Values() // which are written
	for ordinal, key := range w.keys.Values() {
		sorted[ordinal] = uint64(key)<<32 | uint64(ordinal)
	}
	slices.Sort(sorted)
	var fences []byte
	err := w.writePages(sorted, func(page []uint64) {
		fences = binary.LittleEndian.AppendUint32(fences, uint32(page[0]>>32))
	})
	if err != nil {
		return err
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

// writePages writes entries in pages of pageEntries. It calls each, which may be nil, with the entries of each page. It
// fails if writing does.
func (w *StoreWriter) writePages(entries []uint64, each func(page []uint64)) error {
	buffer := make([]byte, 0, pageBytes)
	number := uint32(0)
	for page := range slices.Chunk(entries, pageEntries) {
		if each != nil {
			each(page)
		}
		if _, err := w.out.Write(appendPage(buffer, number, page)); err != nil {
			return err
		}
		number++
	}
	return nil
}

// sortByID sorts offsets and keys by the passages' ids, unless they were appended in that order. It reads the ids from
// the mapped file, since they are too large to keep in memory. It fails if the file cannot be mapped, or a record in it
// is damaged.
func (w *StoreWriter) sortByID() (err error) {
	if w.ordered {
		return nil
	}
	file, err := w.disk.Map(w.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var damaged error
	old := w.offsets.Values()
	id := func(n uint32) []byte {
		id, err := recordID(file.Data[old[n]+recordBytes : w.at])
		if err != nil {
			damaged = fmt.Errorf("reading back what was written: %w", err)
		}
		return id
	}
	folder := filepath.Dir(w.path)
	order, err := disk.NewArray[uint32](w.disk, folder, len(old), 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, order.Close()) }()
	for n := range order.Values() {
		order.Values()[n] = uint32(n)
	}
	slices.SortFunc(order.Values(), func(a, b uint32) int { return bytes.Compare(id(a), id(b)) })
	offsets, err := disk.NewArray[uint64](w.disk, folder, len(old), 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, offsets.Close()) }() // of the unsorted ones, in the end
	keys, err := disk.NewArray[uint32](w.disk, folder, len(old), 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.Close()) }()
	for ordinal, n := range order.Values() {
		offsets.Values()[ordinal] = old[n]
		keys.Values()[ordinal] = w.keys.Values()[n]
	}
	w.offsets, offsets = offsets, w.offsets
	w.keys, keys = keys, w.keys
	return damaged
}
