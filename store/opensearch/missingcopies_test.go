package opensearch

import "testing"

// TestMissingCopies: what is said of copies tells those that are being made from those that have no node.
func TestMissingCopies(t *testing.T) {
	for _, c := range []struct {
		health Health
		want   string
	}{
		{Health{Status: "green"}, ""},
		{Health{Status: "yellow", Unassigned: 3}, "3 copies of shards are on no node"},
		{Health{Status: "yellow", Initializing: 2}, "2 copies of shards are being made"},
		{Health{Status: "red", Unassigned: 1, Initializing: 2}, "1 copy of a shard is on no node, 2 copies of shards are being made"},
	} {
		if got := c.health.MissingCopies(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.health, got, c.want)
		}
	}
}
