package bm25

import (
	"slices"
	"sync"
)

// recent holds what a Searcher worked out for the last questions, since one answer asks several things of one question:
// what it finds, the scores of other passages, which terms a passage has. The zero value is empty. It is safe for
// concurrent use.
type recent struct {
	mutex      sync.Mutex
	understood []*understood // the newest first
	nearness   []*Nearness   // that nobody uses, the newest last
}

const (
	// mostRecent is how many questions are kept of each kind.
	mostRecent = 16
	// longestRecent is the length in bytes of the longest question that is kept.
	longestRecent = 4096
)

// find returns what was understood of a question; nil if it is not kept.
func (r *recent) find(question string) *understood {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, u := range r.understood {
		if u.question == question {
			return u
		}
	}
	return nil
}

// keep keeps what was understood of a question, which must not change any more, in place of the oldest.
func (r *recent) keep(u *understood) {
	if len(u.question) > longestRecent {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.understood) == mostRecent {
		r.understood = r.understood[:mostRecent-1]
	}
	r.understood = slices.Insert(r.understood, 0, u)
}

// takeNearness removes and returns a Nearness of a question; nil if none is kept.
func (r *recent) takeNearness(question string) *Nearness {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i, n := range r.nearness {
		if n.question == question {
			r.nearness = slices.Delete(r.nearness, i, i+1)
			return n
		}
	}
	return nil
}

// keepNearness keeps a Nearness that its caller does not use any more, in place of the oldest.
func (r *recent) keepNearness(n *Nearness) {
	if len(n.question) > longestRecent {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.nearness) == mostRecent {
		r.nearness = slices.Delete(r.nearness, 0, 1)
	}
	r.nearness = append(r.nearness, n)
}
