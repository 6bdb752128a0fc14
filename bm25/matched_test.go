package bm25

import (
	"context"
	"math/bits"
)

// matched returns the number of passages that have a term of the question.
func (s *Searcher) matched(ctx context.Context, question string) (int, error) {
	u, err := s.understand(question)
	if err != nil || len(u.terms) == 0 {
		return 0, err
	}
	w := new(scratch) // rare, and nobody else's
	w.stats = &searchStats{}
	matched := 0
	for i, g := range s.segments {
		if err := w.openCursors(g, u.terms, i); err != nil {
			return 0, err
		}
		for from := uint32(0); from < g.Index.passages; from += window {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			for _, c := range w.cursors {
				if err := w.addTerm(c, from, min(from+window, g.Index.passages), none); err != nil {
					w.forget()
					return 0, err
				}
			}
			for at, word := range w.touched {
				at += int(from / 64)
				if at < len(g.Deleted) {
					word &^= g.Deleted[at]
				}
				matched += bits.OnesCount64(word)
			}
			w.forget()
		}
	}
	return matched, nil
}
