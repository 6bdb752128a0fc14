package store

import (
	"fmt"

	"example.org/conclave/ann"
)

// Expert says what a collection has of an expert.
type Expert struct {
	Name        string
	Fingerprint string // of the passage encoder that made the vectors
	Dimension   int
	Index       Index
	Passages    int // that have a vector
	Rows        int // vectors, of deleted passages too
	Parts       bool
	Owner       string // whose vectors these are; "": the expert's own
	// Recall is what was measured when the index was built: over several
	// segments, the mean weighted by their passages.
	Recall Recall
	// BytesPerVector is what a search keeps in memory for a passage's vector, or vectors.
	BytesPerVector float64
}

// Warnings returns what an operator should know: the weakness of the index's kind, with its recall. It returns nil if
// the kind has none, or is unknown.
func (x Expert) Warnings() []string {
	kind, err := ann.KindNamed(x.Index.Kind)
	if err != nil || kind.Warning == "" {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"index %s of expert %q: measured recall@10 is %.2f, recall@100 %.2f; %s", kind.Name, x.Name,
			x.Recall.Stored.At10, x.Recall.Stored.At100, kind.Warning,
		),
	}
}
