package search

import (
	"context"
	"errors"
	"slices"
	"testing"

	"conclave/rank"
)

// distant is a corpus whose indexes score nothing that was not fetched before.
type distant struct {
	*library
	fetched *[][]rank.Ordinal
	fails   error
}

func (d distant) Acquire() View { return distantView{d.library.Acquire(), d} }

type distantView struct {
	View
	of distant
}

func (v distantView) Prefetch(_ context.Context, passages []rank.Ordinal) error {
	*v.of.fetched = append(*v.of.fetched, slices.Clone(passages))
	return v.of.fails
}

// TestPrefetch: before scores are asked for, the view is told once of all candidates. It
// is told nothing where no source is asked for more, and an answer without what it could
// not fetch is an error.
func TestPrefetch(t *testing.T) {
	s := newStage("ab", 60)
	var fetched [][]rank.Ordinal
	d := distant{library: s.library, fetched: &fetched}
	s.config.Corpus = d
	all := s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), Candidates: 20, K: 100})
	if len(fetched) != 1 || len(fetched[0]) != len(all.Results) || !slices.IsSorted(fetched[0]) {
		t.Errorf("of %d candidates it was told %v", len(all.Results), fetched)
	}
	fetched = nil
	s.ask(t, Request{Question: question, Fusion: methodsOf("sum"), Candidates: 20, Missing: "min"})
	if len(fetched) != 0 {
		t.Errorf("nothing is missing, and it was told %v", fetched)
	}
	d.fails = errors.New("no such node")
	s.config.Corpus = d
	if e := s.refused(t, Request{Question: question, Fusion: methodsOf("sum")}); e.Kind != Unavailable || !errors.Is(e, d.fails) {
		t.Errorf("%+v", e)
	}
}
