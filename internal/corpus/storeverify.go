package corpus

import (
	"context"
	"encoding/binary"
	"fmt"

	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
)

// Verify reads the whole store and returns the first error: a record that does not decode or pass CheckStored, an id
// that is out of order or not found in the id table, a gap between records, or a table that is unsorted or incomplete.
// It calls progress, which may be nil, every 1,024 passages, and ends with ctx.
func (s *Store) Verify(ctx context.Context, progress func(done, total int)) error {
	records := uint64(headerBytes)
	previous := ""
	for ordinal := range rank.Ordinal(s.Len()) {
		if ordinal%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if progress != nil {
				progress(int(ordinal), s.Len())
			}
		}
		body, err := s.checkedBody(ordinal)
		if err != nil {
			return err
		}
		records += recordBytes + uint64(len(body))
		p, err := s.Passage(ordinal)
		if err != nil {
			return err
		}
		if err := p.CheckStored(); err != nil {
			return fmt.Errorf("passage store %s: passage number %d: %w", s.path, ordinal, err)
		}
		// Ascending ids are distinct, so no two ordinals share a record.
		if p.ID <= previous {
			return fmt.Errorf(
				"passage store %s: passage number %d has the id %s, which does not follow %s", s.path, ordinal,
				wording.Quote(p.ID), wording.Quote(previous),
			)
		}
		previous = p.ID
		found, ok, err := s.Ordinal(p.ID)
		if err != nil {
			return err
		}
		if !ok || found != ordinal {
			return fmt.Errorf(
				"passage store %s: passage number %d has the id %s, which the id table does not lead to", s.path,
				ordinal, wording.Quote(p.ID),
			)
		}
	}
	if records != s.header.records {
		return fmt.Errorf(
			"passage store %s: its records end at byte %d, by its header at %d", s.path, records, s.header.records,
		)
	}
	for _, b := range s.file.Data[s.header.records:s.header.offsets] {
		if b != 0 {
			return fmt.Errorf("passage store %s: the gap behind its records is not empty: the file is damaged", s.path)
		}
	}
	return s.verifyTable()
}

// verifyTable returns an error unless the id table is sorted, agrees with the fences, and has an entry for each
// passage.
func (s *Store) verifyTable() error {
	entries := 0
	previous := uint64(0)
	for number := range int(s.header.pages) {
		page, err := s.checkedPage("id table", s.header.table(), number)
		if err != nil {
			return err
		}
		for i := 0; i < len(page); i += 8 {
			entry := binary.LittleEndian.Uint64(page[i:])
			if entries > 0 && entry <= previous {
				return fmt.Errorf("passage store %s: its id table is not in order at page %d", s.path, number)
			}
			if i == 0 && binary.LittleEndian.Uint32(s.fenceBytes()[4*number:]) != uint32(entry>>32) {
				return fmt.Errorf(
					"passage store %s: page %d of its id table does not begin with the key that the fences give",
					s.path, number,
				)
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
