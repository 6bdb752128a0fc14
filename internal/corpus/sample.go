package corpus

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"example.org/conclave/internal/rank"
)

// SampleKey returns the upper half of the XXH3 hash of an id. The n passages with the lowest keys, and of equal keys
// those with the lowest ids, are a random sample that depends neither on the texts nor on their order or place. It
// changes only if one of them is deleted or a passage with a lower key is added: where a corpus grows from N to M
// passages, about n·(M-N)/M of them are new.
func SampleKey(id string) uint32 { return uint32(xxh3.HashString(id) >> 32) }

// SampledPassage is a passage of a store with its SampleKey.
type SampledPassage struct {
	Key     uint32
	Ordinal rank.Ordinal
}

// Sample returns the n passages with the lowest sample keys (SampleKey) among those for which skip, which must not
// be nil, returns false, in the order of their keys; all of them if there are fewer. It reads only as much of the
// id table as it needs. The error says that the table is damaged.
func (s *Store) Sample(n int, skip func(rank.Ordinal) bool) ([]SampledPassage, error) {
	var out []SampledPassage
	for page := 0; page < int(s.header.pages); page++ {
		entries, err := s.checkedPage("id table", s.header.table(), page)
		if err != nil {
			return nil, err
		}
		for ; len(entries) > 0; entries = entries[8:] {
			if len(out) >= n {
				return out, nil
			}
			entry := binary.LittleEndian.Uint64(entries)
			if o := rank.Ordinal(uint32(entry)); !skip(o) {
				out = append(out, SampledPassage{uint32(entry >> 32), o})
			}
		}
	}
	return out, nil
}
