package capacity

import "testing"

// TestPlacesWithin: the store always has its files, or half of a few, and health checks
// and those that wait have theirs.
func TestPlacesWithin(t *testing.T) {
	for files, want := range map[uint64]Places{
		10: {3, 1, 1}, 120: {45, 8, 7}, 255: {96, 16, 15}, 256: {96, 16, 16}, 1024: {672, 208, 16}, 1 << 20: {4096, 1024, 16},
	} {
		got := placesWithin(files)
		if got != want {
			t.Errorf("%d files: %v, want %v", files, got, want)
		}
		if all := got.Open + got.Waiting + got.Probes + min(StoreFiles, int(files+1)/2); all > int(files) {
			t.Errorf("%d files: %d are taken", files, all)
		}
	}
}
