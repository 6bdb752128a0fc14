package experts

import (
	"slices"
	"testing"
)

// TestSharedProgress: several imports under one bar, which never goes back
// once all have begun.
func TestSharedProgress(t *testing.T) {
	var seen [][2]int64
	s := &sharedProgress{parts: make([][2]int64, 2), show: func(done, total int64) { seen = append(seen, [2]int64{done, total}) }}
	s.report(0, 10, 100)
	s.report(1, 5, 60)
	s.report(0, 100, 100)
	s.report(1, 60, 60)
	if want := [][2]int64{{10, 200}, {15, 160}, {105, 160}, {160, 160}}; !slices.Equal(seen, want) {
		t.Errorf("%v, not %v", seen, want)
	}
}
