package encoder

import (
	"math"
	"testing"
)

// TestNoWordsToAnswer: a passage with a title alone is selected by what the graph says of
// the row without text, and has no spans. Without a selection, no answer is as likely as
// its logits say.
func TestNoWordsToAnswer(t *testing.T) {
	rows := []window{{ids: []int32{1, 2, 3}, at: 3}}
	for want, said := range map[float64][]float32{2.5: {2.5, 1, 2, 3, 4, 5, 6}, -5: {1, 2, 3, 4, 5, 6}} {
		read := passageRead{windows: rows, logits: [][]float32{said}}
		got := read.mergeWindows(5)
		if got.Select != want || len(got.Spans) != 0 || !math.IsInf(got.Starts, -1) || !math.IsInf(got.Ends, -1) {
			t.Errorf("%v: %+v, want a selection of %v", said, got, want)
		}
	}
}
