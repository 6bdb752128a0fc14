package bm25

import "testing"

func TestRoundLength(t *testing.T) {
	// What Lucene's SmallFloat.byte4ToInt gives for the bytes 38 to 65, and some more.
	held := []uint32{
		38,
		39,
		40,
		42,
		44,
		46,
		48,
		50,
		52,
		54,
		56,
		60,
		64,
		68,
		72,
		76,
		80,
		84,
		88,
		96,
		104,
		112,
		120,
		128,
		136,
		144,
		152,
		168,
	}
	for n := uint32(0); n < 168; n++ {
		want := n
		if n >= 38 {
			for _, h := range held {
				if h <= n {
					want = h
				}
			}
		}
		if got := roundLength(n); got != want {
			t.Errorf("%d is kept as %d, Lucene keeps %d", n, got, want)
		}
	}
	for n, want := range map[uint32]uint32{1304: 1304, 1431: 1304, 1432: 1432, 1966104: 1966104, 2013265944: 2013265944,
		2013265943: 1879048216} {
		if got := roundLength(n); got != want {
			t.Errorf("%d is kept as %d, Lucene keeps %d", n, got, want)
		}
	}
}
