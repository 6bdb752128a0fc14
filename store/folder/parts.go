package folder

import (
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// checkVectors reads a whole index and returns an error if it is damaged or has a part beyond the end of a passage's
// text. It stops without an error at a passage that cannot be read, which the check of texts reports.
func checkVectors(ix ann.Index, texts *corpus.Store) error {
	err := ix.Check()
	grouped, ok := ix.(*ann.GroupedIndex)
	if err != nil || !ok {
		return err
	}
	for o := range rank.Ordinal(texts.Len()) {
		p, err := texts.Passage(o)
		if err != nil {
			return nil // told by the store's own check
		}
		for _, s := range grouped.Spans(o) {
			if int(s.End) > len(p.Text) {
				return fmt.Errorf("passage %q has %d bytes, and a part from byte %d to byte %d", p.ID, len(p.Text), s.Begin, s.End)
			}
		}
	}
	return nil
}
