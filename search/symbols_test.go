package search

import (
	"math"
	"testing"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// TestWordsCountLessAmongSymbols: in a collection of source code the gate's weight of words is e^coefficient of what it
// is otherwise; its texts are read once for a generation.
func TestWordsCountLessAmongSymbols(t *testing.T) {
	const code = "if (x[i] >= 0) { f(x[i]); }"
	weight := func(s *stage) float64 {
		t.Helper()
		for _, source := range s.ask(t, Request{Question: askedOften, Fusion: methodsOf(fusion.MethodGate)}).Sources {
			if source.Name == reply.WordSource {
				return *source.Weight
			}
		}
		t.Fatal("words were not asked")
		return 0
	}
	s := newStage("ab", 60)
	s.library.shelf.near = true
	s.config.Defaults.Gate.Symbols = -1.4
	usual := weight(s)
	for i := range s.library.shelf.passages {
		s.library.shelf.passages[i].Text = code // the sources score what they did before
	}
	s.library.shelf.number++
	if got, want := weight(s), usual*math.Exp(-1.4); math.Abs(got-want) > 1e-8*want {
		t.Errorf("a weight of %v among symbols, want %v", got, want)
	}
}

// TestSymbolsAreReadOnce for a generation, and again for the next one; not at all where that takes a request.
func TestSymbolsAreReadOnce(t *testing.T) {
	s := newStage("ab", 100)
	s.library.shelf.near = true
	s.config.Defaults.Gate.Symbols = -1.4
	e := s.engine(t)
	var share sources.SymbolShare
	before := s.library.shelf.reads.Load()
	read := func() {
		view := e.pin()
		share.Read(t.Context(), view)
		view.Release()
	}
	for range 3 {
		read()
	}
	if n := s.library.shelf.reads.Load() - before; n != sources.SymbolSample {
		t.Errorf("%d passages were read for one generation, want %d", n, sources.SymbolSample)
	}
	s.library.shelf.number++
	read()
	if n := s.library.shelf.reads.Load() - before; n != 2*sources.SymbolSample {
		t.Errorf("%d passages were read for two generations, want %d", n, 2*sources.SymbolSample)
	}
	s.library.shelf.near = false
	s.library.shelf.number++
	read()
	if n := s.library.shelf.reads.Load() - before; n != 2*sources.SymbolSample {
		t.Errorf("%d passages were read, of others that are far %d", n, n-2*sources.SymbolSample)
	}
}
