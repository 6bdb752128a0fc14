package serving

import "testing"

// TestConnectionsWithin: the store always has its files, or half of a few.
func TestConnectionsWithin(t *testing.T) {
	for files, want := range map[uint64]int{10: 5, 120: 60, 255: 127, 256: 128, 1024: 896, 1 << 20: 4096} {
		if got := connectionsWithin(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}
