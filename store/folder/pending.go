package folder

import (
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store/folder/internal/wal"
)

// flushBytes is about the most bytes of passages that a flush has in memory.
const flushBytes = 32 << 20

// pending is the changes that are in the log and not yet in a segment. It holds
// no texts, so that a long backlog is not a large one: some 150 bytes a change.
type pending struct {
	latest map[string]pendingChange // by id
	queue  []queuedChange           // in order of their numbers
}

type pendingChange struct {
	seq     uint64
	kind    wal.Kind
	version string // of a passage that was put
	at      wal.ContentPlace
}

type queuedChange struct {
	id     string
	change pendingChange
	since  time.Time
}

// add appends a change, which must have the highest number so far.
func (p *pending) add(id string, c pendingChange, now time.Time) {
	if p.latest == nil {
		p.latest = map[string]pendingChange{}
	}
	p.latest[id] = c
	p.queue = append(p.queue, queuedChange{id, c, now})
}

// oldest returns the oldest changes: the last one of each of up to n passages, and the number of the last of all. They
// are fewer if they have more than flushBytes. Changes of one ApplyTogether are never separated, even if that exceeds
// both bounds.
func (p *pending) oldest(n int) (changes map[string]pendingChange, last uint64) {
	changes = map[string]pendingChange{}
	bytes := 0
	joined := false // to the one before
	for _, q := range p.queue {
		if _, ok := changes[q.id]; !joined && (!ok && len(changes) >= n || bytes > flushBytes) {
			break
		}
		joined = q.change.kind.IsJoined()
		bytes += q.change.at.Length
		changes[q.id] = q.change
		last = q.change.seq
	}
	return changes, last
}

// drop removes the changes with numbers up to last, which searches see by now.
func (p *pending) drop(last uint64) {
	n := 0
	for n < len(p.queue) && p.queue[n].change.seq <= last {
		id := p.queue[n].id
		if p.latest[id].seq <= last {
			delete(p.latest, id)
		}
		n++
	}
	p.queue = append([]queuedChange(nil), p.queue[n:]...)
}

// passage reads the passage of a Put from the log. It fails with os.ErrNotExist if the log file is gone.
func (c pendingChange) passage() (corpus.Passage, error) {
	file, err := c.at.File.Disk.Open(c.at.File.Path)
	if err != nil {
		return corpus.Passage{}, err
	}
	defer func() { _ = file.Close() }() // only read
	return c.at.Passage(file)
}
