package bm25

import (
	"errors"
	"io"
)

// checkPhrases reads all phrases, whose blocks follow so many of terms, and
// returns how many blocks there are with theirs. (That phrases ascend, that they
// are of terms of the segment, and that they and their blocks fill their run up to
// the next one, is checked wherever all are read.)
func (x *Index) checkPhrases(blocks uint32, lengths []uint32, counts []uint64) (uint32, error) {
	if !x.params.Phrases {
		if x.phrases > 0 || x.sections[sectionPhrases].length > 0 {
			return 0, x.damaged("there are phrases, and it was indexed without")
		}
		return blocks, nil
	}
	found := make([]uint32, x.passages) // phrases found in each passage
	reader := phraseReader{index: x}
	for {
		err := reader.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
		run := &reader.run
		if run.number == 0 && run.start != 0 {
			return 0, x.damaged("the first phrases begin at %d", run.start)
		}
		r, err := run.record()
		if err != nil {
			return 0, err
		}
		if run.first != blocks {
			return 0, x.damaged("the blocks of %s do not follow those before", r)
		}
		blocks = run.block
		if err := x.checkPostings(r, lengths, found, counts); err != nil {
			return 0, err
		}
	}
	if x.phrases == 0 && x.sections[sectionPhrases].length > 0 {
		return 0, x.damaged("there are no phrases in %d bytes of them", x.sections[sectionPhrases].length)
	}
	for passage, n := range found {
		// One fewer than the terms, or two when title and text both have some.
		if length := lengths[passage]; n+1 != length && n+2 != length && n+length != 0 {
			return 0, x.damaged("passage %d has %d terms and %d phrases", passage, length, n)
		}
	}
	return blocks, nil
}
