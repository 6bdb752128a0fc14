package collection

import (
	"time"

	"conclave/corpus"
)

// pending is the changes that are in the log and not yet in a segment. It holds
// no texts, so that a long backlog is not a large one: some 150 bytes a change.
type pending struct {
	latest map[string]pendingChange // by id
	queue  []queued                 // in order of their numbers
}

type pendingChange struct {
	seq     uint64
	kind    changeKind
	version string // of a passage that was put
	at      logged
}

type queued struct {
	id     string
	change pendingChange
	since  time.Time
}

func (p *pending) add(id string, c pendingChange, now time.Time) {
	if p.latest == nil {
		p.latest = map[string]pendingChange{}
	}
	p.latest[id] = c
	p.queue = append(p.queue, queued{id, c, now})
}

// first is the oldest changes that concern up to n passages: for each id the
// last of them, and the number of the last of all.
func (p *pending) first(n int) (changes map[string]pendingChange, last uint64) {
	changes = map[string]pendingChange{}
	for _, q := range p.queue {
		if _, ok := changes[q.id]; !ok && len(changes) == n {
			break
		}
		changes[q.id] = q.change
		last = q.change.seq
	}
	return changes, last
}

// drop forgets the changes up to the number last.
func (p *pending) drop(last uint64) {
	n := 0
	for n < len(p.queue) && p.queue[n].change.seq <= last {
		id := p.queue[n].id
		if p.latest[id].seq <= last {
			delete(p.latest, id)
		}
		n++
	}
	p.queue = append([]queued(nil), p.queue[n:]...)
}

// passage reads a passage that was put.
func (c pendingChange) passage() (corpus.Passage, error) {
	var p corpus.Passage
	content, err := c.at.read()
	if err == nil {
		err = p.UnmarshalBinary(content)
	}
	return p, err
}
