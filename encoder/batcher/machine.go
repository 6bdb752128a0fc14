package batcher

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// Machine is what all batchers of a process share: the processor cores, and the time
// of the last question.
//
// Each session of ONNX Runtime has its own threads, which spin while they
// wait. Two sessions at once on the same cores take more than twice as long
// as one after the other, so a run first takes as many slots as it has
// threads.
//
// While questions come, passages have half of the cores, and of those half of the time:
// after a run they leave the cores alone for as long as it took. So a question finds a
// core, whoever writes how much.
type Machine struct {
	slots        *semaphore.Weighted
	cores        int
	lastQuestion atomic.Int64 // Unix nanoseconds

	mu       sync.Mutex
	usage    usage         // of runs of questions, by tenants
	passages int           // runs of passages that are permitted now, or rest
	queued   int           // callers of permit that wait
	freed    chan struct{} // closed when one has ended
}

// NewMachine describes a machine with this many cores.
func NewMachine(cores int) *Machine {
	cores = max(1, cores)
	return &Machine{slots: semaphore.NewWeighted(int64(cores)), cores: cores, freed: make(chan struct{})}
}

// tryAcquire takes slots for threads if they are free now.
func (m *Machine) tryAcquire(threads int) bool {
	return m.slots.TryAcquire(m.weight(threads))
}

// acquire waits for slots, first come first served.
func (m *Machine) acquire(ctx context.Context, threads int) error {
	return m.slots.Acquire(ctx, m.weight(threads))
}

func (m *Machine) release(threads int) { m.slots.Release(m.weight(threads)) }

func (m *Machine) weight(threads int) int64 { return int64(min(threads, m.cores)) }

// quietAfter is how long nobody must have asked before passages get large
// batches again.
const quietAfter = time.Second

// asked says that a tenant asks a question; "" is of none.
func (m *Machine) asked(tenant string) {
	now := time.Now()
	m.lastQuestion.Store(now.UnixNano())
	if tenant == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.tenant(tenant, now).asked = now
}

// rest counts a run of a tenant's questions, and returns for how long the tenant is to leave the cores to others.
func (m *Machine) rest(tenant string, took time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage.rest(tenant, took, time.Now())
}

func (m *Machine) quiet() bool {
	return time.Now().UnixNano()-m.lastQuestion.Load() > int64(quietAfter)
}

// permit waits until one more run of passages may begin, and counts it as begun. Each permit
// is ended with ran.
func (m *Machine) permit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queued++
	defer func() { m.queued-- }()
	for !m.beginPassages() {
		freed := m.freed
		m.mu.Unlock()
		select {
		case <-freed:
		case <-time.After(quietAfter / 4): // nobody may ask any more
		}
		m.mu.Lock()
	}
}

// tryPermit reports whether one more run of passages may begin now, and if so, counts it as
// begun. It fails while another batcher waits in permit, so that none is passed over for ever.
func (m *Machine) tryPermit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queued == 0 && m.beginPassages()
}

// beginPassages counts one more run of passages, unless there are as many as there may be: one
// for each core while nobody asks questions, and for half of the cores otherwise. mu is held.
func (m *Machine) beginPassages() bool {
	most := m.cores
	if !m.quiet() {
		most = max(1, m.cores/2)
	}
	if m.passages >= most {
		return false
	}
	m.passages++
	return true
}

// ran ends a run of passages that took so long, or that did not take place.
func (m *Machine) ran(took time.Duration) {
	end := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.passages--
		close(m.freed)
		m.freed = make(chan struct{})
	}
	if took == 0 || m.quiet() {
		end()
		return
	}
	time.AfterFunc(took, end)
}
