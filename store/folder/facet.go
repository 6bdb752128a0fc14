package folder

import (
	"example.org/conclave/store/folder/fields"
)

// Counts returns the values that a field has in the selected passages and the number of selected passages with each, in
// no particular order. Values without a selected passage are left out. A nil selection stands for all passages; one
// that was made for another generation is an error.
func (g *Generation) Counts(s *Selection, field string) ([]fields.Count, error) {
	if s == nil {
		s = g.everything
	}
	if err := s.checkGeneration(g); err != nil {
		return nil, err
	}
	at := map[fields.Count]int{} // with a Count of 0
	var out []fields.Count
	for i, segment := range g.segments {
		chosen := s.segments[i]
		if chosen.count == 0 {
			continue
		}
		var among []uint64
		if chosen.filter != nil {
			among = make([]uint64, (segment.store.Len()+63)/64)
			copy(among, chosen.words)
			if chosen.words == nil { // all that is alive
				copy(among, segment.dead.Alive(segment.store.Len()))
			}
		}
		err := segment.fields.Counts(field, among, func(c fields.Count) {
			n := c.Count
			c.Count = 0
			place, known := at[c]
			if !known {
				place = len(out)
				at[c] = place
				out = append(out, c)
			}
			out[place].Count += n
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
