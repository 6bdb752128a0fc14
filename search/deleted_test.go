package search

import "testing"

// TestDeletedPassages: where passages were deleted, ordinals go beyond the
// number of passages, and a hit there is as good as any.
func TestDeletedPassages(t *testing.T) {
	s := newStage("ab", 60)
	s.library.shelf.deleted = 50 // whichever; the sources of this test return them all the same
	got := s.ask(t, Request{Question: askedOften, Fusion: methodsOf("rrf"), K: 60})
	if len(got.Degraded) > 0 {
		t.Fatalf("left out: %+v", got.Degraded)
	}
	beyond := false
	for _, r := range got.Results {
		beyond = beyond || r.ID > "p010"
	}
	if !beyond {
		t.Errorf("no hit beyond the tenth passage: %v", ids(got.Results))
	}
}
