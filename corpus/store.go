package corpus

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sort"

	"conclave/rank"
)

// Store is the passages of a segment, memory-mapped. It does not change and is
// safe for concurrent use, until it is closed.
type Store struct {
	path   string
	file   *mapping
	header storeHeader
}

// OpenStore maps a store. It checks the header and the fences of the id table,
// so its cost is that of 4 bytes for 511 passages; records are checked when
// they are read. See Verify.
func OpenStore(path string) (*Store, error) {
	file, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	s, err := newStore(path, file)
	if err != nil {
		_ = file.close()
	}
	return s, err
}

func newStore(path string, file *mapping) (*Store, error) {
	header, err := decodeHeader(file.data)
	if err != nil {
		return nil, fmt.Errorf("passage store %s: %w", path, err)
	}
	s := &Store{path: path, file: file, header: header}
	fences := s.fences()
	if crc32.Checksum(fences[:len(fences)-4], castagnoli) != binary.LittleEndian.Uint32(fences[len(fences)-4:]) {
		return nil, fmt.Errorf("passage store %s: the checksum of its id table is wrong: the file is damaged", path)
	}
	return s, nil
}

// Close unmaps the store. Nothing may use it afterwards; passages that were
// read stay valid.
func (s *Store) Close() error { return s.file.close() }

// Len is the number of passages.
func (s *Store) Len() int { return int(s.header.count) }

// Passage reads a passage. A damaged record is an error.
func (s *Store) Passage(ordinal rank.Ordinal) (Passage, error) {
	body, err := s.body(ordinal)
	if err != nil {
		return Passage{}, err
	}
	p, err := decodeRecord(body)
	if err != nil {
		return Passage{}, fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return p, nil
}

// ID reads the id of a passage.
func (s *Store) ID(ordinal rank.Ordinal) (string, error) {
	body, err := s.body(ordinal)
	if err != nil {
		return "", err
	}
	id, err := recordID(body)
	if err != nil {
		return "", fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return string(id), nil
}

// Ordinal finds the passage that has an id.
func (s *Store) Ordinal(id string) (rank.Ordinal, bool, error) {
	key := hashKey(id)
	fences := s.fences()
	// The first page whose first key is not below ours; entries with our key
	// may begin in the page before it.
	page := sort.Search(int(s.header.pages), func(i int) bool {
		return binary.LittleEndian.Uint32(fences[4*i:]) >= key
	})
	for page = max(page-1, 0); page < int(s.header.pages); page++ {
		if binary.LittleEndian.Uint32(fences[4*page:]) > key {
			break
		}
		entries, err := s.page(page)
		if err != nil {
			return 0, false, err
		}
		n := len(entries) / 8
		for i := sort.Search(n, func(i int) bool { return binary.LittleEndian.Uint64(entries[8*i:])>>32 >= uint64(key) }); i < n; i++ {
			entry := binary.LittleEndian.Uint64(entries[8*i:])
			if entry>>32 != uint64(key) {
				return 0, false, nil
			}
			found, err := s.ID(rank.Ordinal(uint32(entry)))
			if err != nil {
				return 0, false, err
			}
			if found == id {
				return rank.Ordinal(uint32(entry)), true, nil
			}
		}
	}
	return 0, false, nil
}

// body is the checked body of a record, in the mapping.
func (s *Store) body(ordinal rank.Ordinal) ([]byte, error) {
	if uint64(ordinal) >= s.header.count {
		return nil, fmt.Errorf("passage store %s: there is no passage number %d among %d", s.path, ordinal, s.header.count)
	}
	at := s.file.data[s.header.offsets+8*uint64(ordinal):]
	start, end := binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])
	if start < headerBytes || end > s.header.offsets || end < start+4 || start > end {
		return nil, fmt.Errorf("passage store %s: passage number %d lies outside the file: the file is damaged", s.path, ordinal)
	}
	record := s.file.data[start:end]
	if binary.LittleEndian.Uint32(record) != recordSum(uint32(ordinal), record[4:]) {
		return nil, fmt.Errorf("passage store %s: the checksum of passage number %d is wrong: the file is damaged", s.path, ordinal)
	}
	return record[4:], nil
}

// page is the checked entries of a page of the id table.
func (s *Store) page(number int) ([]byte, error) {
	start := s.header.table + uint64(number)*pageBytes
	page := s.file.data[start : start+pageBytes]
	n := binary.LittleEndian.Uint32(page[pageBytes-8:])
	if binary.LittleEndian.Uint32(page[pageBytes-4:]) != recordSum(uint32(number), page[:pageBytes-4]) || n > pageEntries {
		return nil, fmt.Errorf("passage store %s: the checksum of page %d of its id table is wrong: the file is damaged", s.path, number)
	}
	return page[:8*n], nil
}

// fences are the first keys of the pages, and their checksum.
func (s *Store) fences() []byte {
	return s.file.data[s.header.table+s.header.pages*pageBytes:]
}

// Verify reads everything: every record decodes, passes Passage.Check and is
// found under its id and no other, the records fill the file without gaps, and
// the id table is sorted and complete. progress may be nil.
func (s *Store) Verify(ctx context.Context, progress func(done, total int)) error {
	expected := uint64(headerBytes)
	for ordinal := range s.Len() {
		if ordinal%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(ordinal, s.Len())
			}
		}
		p, err := s.Passage(rank.Ordinal(ordinal))
		if err != nil {
			return err
		}
		if err := p.Check(); err != nil {
			return fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
		}
		at := s.file.data[s.header.offsets+8*uint64(ordinal):]
		if start := binary.LittleEndian.Uint64(at); start != expected {
			return fmt.Errorf("passage store %s: passage number %d begins at byte %d, the one before it ends at %d", s.path, ordinal, start, expected)
		}
		expected = binary.LittleEndian.Uint64(at[8:])
		found, ok, err := s.Ordinal(p.ID)
		if err != nil {
			return err
		}
		if !ok || int(found) != ordinal {
			return fmt.Errorf("passage store %s: passage number %d has the id %s, which the id table does not lead to", s.path, ordinal, excerpt(p.ID))
		}
	}
	if expected != s.header.offsets {
		return fmt.Errorf("passage store %s: its records end at byte %d, not %d", s.path, expected, s.header.offsets)
	}
	for _, b := range s.file.data[s.header.offsets+8*(s.header.count+1) : s.header.table] {
		if b != 0 {
			return fmt.Errorf("passage store %s: the gap before its id table is not empty: the file is damaged", s.path)
		}
	}
	return s.verifyTable()
}

func (s *Store) verifyTable() error {
	entries, previous := 0, uint64(0)
	for number := range int(s.header.pages) {
		page, err := s.page(number)
		if err != nil {
			return err
		}
		for i := 0; i < len(page); i += 8 {
			entry := binary.LittleEndian.Uint64(page[i:])
			if entries > 0 && entry <= previous {
				return fmt.Errorf("passage store %s: its id table is not in order at page %d", s.path, number)
			}
			previous = entry
			entries++
		}
	}
	if entries != s.Len() {
		return fmt.Errorf("passage store %s: its id table has %d entries for %d passages", s.path, entries, s.Len())
	}
	return nil
}
