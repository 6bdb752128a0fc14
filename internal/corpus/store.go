package corpus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sort"

	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// Store is the passages of a segment, memory-mapped, numbered in the order of
// their ids' bytes. It does not change and is safe for concurrent use, until it
// is closed.
type Store struct {
	path   string
	file   *disk.Mapping
	header storeHeader
}

// OpenStore maps the passage store at path. It fails if the header or the fences of the id table (4 bytes for 511
// passages) are damaged. Records are checked when they are read, and all of them by Verify. Close unmaps it.
func OpenStore(d disk.Disk, path string) (*Store, error) {
	file, err := d.Map(path)
	if err != nil {
		return nil, err
	}
	s, err := newStore(path, file)
	if err != nil {
		_ = file.Close()
	}
	return s, err
}

// newStore returns the store in a mapped file, which it keeps, or an error if its header or the fences of its id
// table are damaged; the caller then closes the file.
func newStore(path string, file *disk.Mapping) (*Store, error) {
	header, err := decodeHeader(file.Data)
	if err != nil {
		return nil, fmt.Errorf("passage store %s: %w", path, err)
	}
	s := &Store{path: path, file: file, header: header}
	fences := s.fenceBytes()
	if crc32.Checksum(fences[:len(fences)-4], castagnoli) != binary.LittleEndian.Uint32(fences[len(fences)-4:]) {
		return nil, fmt.Errorf("passage store %s: the checksum of its id table is wrong: the file is damaged", path)
	}
	return s, nil
}

// Close unmaps the store, which must not be used afterwards. Passages that were read before stay valid, but not the
// bytes that Texts and Metadata returned. It fails if unmapping does.
func (s *Store) Close() error { return s.file.Close() }

// Len returns the number of passages.
func (s *Store) Len() int { return int(s.header.count) }

// Passage returns a passage. It fails if there is no such ordinal or its record is damaged.
func (s *Store) Passage(ordinal rank.Ordinal) (Passage, error) {
	body, err := s.checkedBody(ordinal)
	if err != nil {
		return Passage{}, err
	}
	p, err := decodeRecord(body)
	if err != nil {
		return Passage{}, fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return p, nil
}

// ID returns the id of a passage. It fails if there is no such ordinal or its record is damaged.
func (s *Store) ID(ordinal rank.Ordinal) (string, error) {
	body, err := s.checkedBody(ordinal)
	if err != nil {
		return "", err
	}
	id, err := recordID(body)
	if err != nil {
		return "", fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return string(id), nil
}

// Size returns how many bytes a passage takes, with its id, title, text, tags and metadata, uncompressed. It does not
// read the record. It fails if there is no such ordinal or its place in the file is damaged.
func (s *Store) Size(ordinal rank.Ordinal) (int, error) {
	record, err := s.recordAt(ordinal)
	if err != nil {
		return 0, err
	}
	return len(record) - recordBytes, nil
}

// Texts returns the title and the text of a passage without decoding the rest. The bytes belong to the mapping, are not
// to be changed, and are valid until Close. It fails if there is no such ordinal or its record is damaged.
func (s *Store) Texts(ordinal rank.Ordinal) (title, text []byte, err error) {
	body, err := s.checkedBody(ordinal)
	if err != nil {
		return nil, nil, err
	}
	title, text, err = recordTexts(body)
	if err != nil {
		return nil, nil, fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return title, text, nil
}

// Tags returns the tags of a passage without decoding the rest. It fails if there is no such ordinal or its record is
// damaged.
func (s *Store) Tags(ordinal rank.Ordinal) ([]string, error) {
	body, err := s.checkedBody(ordinal)
	if err != nil {
		return nil, err
	}
	tags, err := recordTags(body)
	if err != nil {
		return nil, fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return tags, nil
}

// Metadata returns the metadata of a passage as JSON without decoding the rest; empty if it has none. The bytes belong
// to the mapping, are not to be changed, and are valid until Close. It fails if there is no such ordinal or its record
// is damaged.
func (s *Store) Metadata(ordinal rank.Ordinal) ([]byte, error) {
	body, err := s.checkedBody(ordinal)
	if err != nil {
		return nil, err
	}
	metadata, err := recordMetadata(body)
	if err != nil {
		return nil, fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
	}
	return metadata, nil
}

// Ordinal returns the ordinal of the passage with this id; false if there is none. The error says that the id table or
// a record is damaged.
func (s *Store) Ordinal(id string) (rank.Ordinal, bool, error) {
	key := hashKey(id)
	fences := s.fenceBytes()
	// The first page whose first key is not below ours; entries with our key
	// may begin in the page before it.
	page := sort.Search(int(s.header.pages), func(i int) bool {
		return binary.LittleEndian.Uint32(fences[4*i:]) >= key
	})
	for page = max(page-1, 0); page < int(s.header.pages); page++ {
		if binary.LittleEndian.Uint32(fences[4*page:]) > key {
			break
		}
		entries, err := s.checkedPage("id table", s.header.table(), page)
		if err != nil {
			return 0, false, err
		}
		n := len(entries) / 8
		first := sort.Search(n, func(i int) bool {
			return binary.LittleEndian.Uint64(entries[8*i:])>>32 >= uint64(key)
		})
		for i := first; i < n; i++ {
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

// checkedBody returns the body of a record after comparing its checksum. It fails if there is no such ordinal or
// the record is damaged. The bytes belong to the mapping.
func (s *Store) checkedBody(ordinal rank.Ordinal) ([]byte, error) {
	record, err := s.recordAt(ordinal)
	if err != nil {
		return nil, err
	}
	body := record[recordBytes:]
	if binary.LittleEndian.Uint32(record[4:]) != crc32.Checksum(body, castagnoli) {
		return nil, s.damagedError(ordinal)
	}
	return body, nil
}

// recordAt returns a record, head and body, without comparing its checksum. It fails if there is no such ordinal or
// the record does not lie inside the file. The bytes belong to the mapping.
func (s *Store) recordAt(ordinal rank.Ordinal) ([]byte, error) {
	if uint64(ordinal) >= s.header.count {
		return nil, fmt.Errorf("passage store %s: there is no passage number %d among %d", s.path, ordinal, s.header.count)
	}
	offsets, err := s.checkedPage("offsets", s.header.offsets, int(ordinal/pageEntries))
	if err != nil {
		return nil, err
	}
	at := 8 * int(ordinal%pageEntries)
	if at >= len(offsets) {
		return nil, s.damagedError(ordinal)
	}
	start := binary.LittleEndian.Uint64(offsets[at:])
	if start < headerBytes || start > s.header.records || s.header.records-start < recordBytes {
		return nil, s.damagedError(ordinal)
	}
	record := s.file.Data[start:s.header.records]
	n := uint64(binary.LittleEndian.Uint32(record))
	if n > uint64(len(record))-recordBytes {
		return nil, s.damagedError(ordinal)
	}
	return record[:recordBytes+n], nil
}

// damagedError returns the error that the checksum of a passage's record is wrong.
func (s *Store) damagedError(ordinal rank.Ordinal) error {
	return fmt.Errorf("passage store %s: the checksum of passage number %d is wrong: the file is damaged", s.path, ordinal)
}

// checkedPage returns the entries of a page, by its number from 0, of the section that begins at byte section; it
// fails if the page's checksum is wrong. The section must have the page. name is the section's in the error. The
// bytes belong to the mapping.
func (s *Store) checkedPage(name string, section uint64, number int) ([]byte, error) {
	start := section + uint64(number)*pageBytes
	page := s.file.Data[start : start+pageBytes]
	n := binary.LittleEndian.Uint32(page[pageBytes-8:])
	if binary.LittleEndian.Uint32(page[pageBytes-4:]) != pageSum(uint32(number), page[:pageBytes-4]) || n > pageEntries {
		return nil, fmt.Errorf(
			"passage store %s: the checksum of page %d of its %s is wrong: the file is damaged", s.path, number, name,
		)
	}
	return page[:8*n], nil
}

// fenceBytes returns the first key of each page of the id table, followed by their checksum.
func (s *Store) fenceBytes() []byte {
	return s.file.Data[s.header.fences():]
}
