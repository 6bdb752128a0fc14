package sources

import (
	"context"
	"slices"
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/storage"
)

// SymbolSample is how many passages SymbolShare reads.
const SymbolSample = 64

// SymbolShare returns and remembers the share of symbols in the texts of a collection (fusion.Symbols), for one
// generation and sample. Several goroutines may use it. The zero SymbolShare is ready to use.
type SymbolShare struct {
	mu         sync.Mutex
	known      bool
	generation uint64
	sample     []rank.Ordinal
	share      float64
}

// Read returns fusion.Symbols of a sample of the passages of a view. It returns 0 if reading them is slow (they are not
// storage.AtHand) or fails.
func (s *SymbolShare) Read(ctx context.Context, view *snapshot.PinnedView) float64 {
	if _, quick := view.Passages().(storage.AtHand); !quick {
		return 0
	}
	sample := view.Passages().Sample(SymbolSample)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known && s.generation == view.Generation() && slices.Equal(s.sample, sample) {
		return s.share
	}
	passages, err := view.Passages().Read(ctx, sample)
	if err != nil {
		return 0
	}
	var texts []string
	for _, p := range passages {
		if !storage.IsDeleted(p) {
			texts = append(texts, p.Text)
		}
	}
	s.known = true
	s.generation = view.Generation()
	s.sample = slices.Clone(sample)
	s.share = fusion.Symbols(texts)
	return s.share
}
