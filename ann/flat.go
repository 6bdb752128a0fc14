package ann

import (
	"context"

	"example.org/conclave/internal/rank"
)

// flat is no index at all: every search compares the query with every vector.
// It is exact, needs no file but the vectors, and its time is that of reading
// them once.
type flat struct{ *Vectors }

func (f flat) BytesPerVector() float64 { return float64(4 * f.dim) }

// Search compares all vectors whatever the options say; Ef does nothing.
func (f flat) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	if err := f.checkQuery(query, o); err != nil {
		return nil, SearchStats{}, err
	}
	if err := f.Verify(ctx); err != nil {
		return nil, SearchStats{}, err
	}
	return f.scan(ctx, query, o)
}
