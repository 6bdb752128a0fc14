package fusion

import (
	"encoding/binary"
	"math"
	"testing"

	"example.org/conclave/internal/rank"
)

// FuzzFusion reads lists, true scores and weights from bytes: whatever they
// are, the answer is an error or a sound ranking.
func FuzzFusion(f *testing.F) {
	f.Add([]byte{2, 3, 0, 0, 160, 66, 1, 0, 0, 156, 66, 2, 0, 0, 152, 66, 3}, uint8(5))
	f.Add([]byte{1, 0}, uint8(0))
	f.Add([]byte{3, 1, 255, 255, 127, 127, 9, 1, 255, 255, 127, 255, 9, 2, 1, 0, 0, 0, 9, 0, 0, 0, 0, 8}, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, k uint8) {
		next := func() byte {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return b
		}
		score := func() float32 {
			return math.Float32frombits(binary.LittleEndian.Uint32([]byte{next(), next(), next(), next()}))
		}
		lists := make([][]rank.Hit, next()%5)
		sources := make([]Source, len(lists))
		for i := range lists {
			for range next() % 8 {
				lists[i] = append(lists[i], rank.Hit{Score: score(), Ordinal: rank.Ordinal(next())})
			}
			rank.Sort(lists[i])
		}
		c := new(Candidates)
		if err := c.Reset(lists); err != nil {
			return
		}
		for i := range lists {
			sources[i] = Source{i, float64(next()) / 16}
			exact := make([]float32, len(c.Missing(i, nil)))
			for j := range exact {
				exact[j] = score()
			}
			_ = c.Complete(i, exact)
		}
		for _, m := range methods() {
			r, err := m.fuse(c, sources, int(k))
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			all, err := m.fuse(c, sources, c.Len())
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			largest := 0.0 // of any candidate: scores are rounded by it
			for _, item := range all.Items {
				for _, p := range item.Parts {
					largest = max(largest, math.Abs(p.Contribution))
				}
			}
			for i, item := range r.Items {
				sum := 0.0
				for _, p := range item.Parts {
					sum += p.Contribution
				}
				if math.IsNaN(item.Score) || math.IsInf(item.Score, 0) || math.Abs(sum-item.Score) > 2e-12*largest {
					t.Fatalf("%s: score %v, contributions %+v", m.name, item.Score, item.Parts)
				}
				if i > 0 && r.Items[i-1].Score < item.Score {
					t.Fatalf("%s: rank %d is out of order", m.name, i+1)
				}
			}
		}
	})
}
