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
// after a run they leave the cores alone for as long as it took. So a question finds a free
// core, however many passages are being written.
type Machine struct {
	slots        *semaphore.Weighted
	cores        int
	lastQuestion atomic.Int64 // Unix nanoseconds

	mu       sync.Mutex
	usage    usage         // recent time of runs of questions, by tenant
	passages int           // permits of runs of passages that were not given back
	queued   int           // callers that wait in takePermit
	freed    chan struct{} // closed when a permit was given back
}

// NewMachine returns a Machine with this many cores, at least one.
func NewMachine(cores int) *Machine {
	cores = max(1, cores)
	return &Machine{slots: semaphore.NewWeighted(int64(cores)), cores: cores, freed: make(chan struct{})}
}

// tryAcquire takes one slot for each of threads, at most all, and returns true. If they are not free now, it takes none
// and returns false. The caller gives them back with releaseSlots(threads).
func (m *Machine) tryAcquire(threads int) bool {
	return m.slots.TryAcquire(m.slotsFor(threads))
}

// acquireSlots waits for one slot for each of threads, at most all, first come, first served. It returns ctx's error if
// that ends first. The caller gives them back with releaseSlots(threads).
func (m *Machine) acquireSlots(ctx context.Context, threads int) error {
	return m.slots.Acquire(ctx, m.slotsFor(threads))
}

// releaseSlots gives back the slots that acquireSlots or tryAcquire took for as many threads.
func (m *Machine) releaseSlots(threads int) { m.slots.Release(m.slotsFor(threads)) }

// slotsFor returns the number of slots for threads: at most one for each core.
func (m *Machine) slotsFor(threads int) int64 { return int64(min(threads, m.cores)) }

// quietAfter is the time without questions after which the machine is quiet: passages then get all cores and large
// batches. It is also the time constant of usage.
const quietAfter = time.Second

// noteQuestion records that a tenant asks a question now, so that the machine is not quiet. "" is no tenant.
func (m *Machine) noteQuestion(tenant string) {
	now := time.Now()
	m.lastQuestion.Store(now.UnixNano())
	if tenant == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.useOf(tenant, now).asked = now
}

// restAfter adds a run of a tenant's questions to its use, and returns how long the tenant must not start another run;
// 0: it may at once. It is safe for concurrent use (usage.addRun).
func (m *Machine) restAfter(tenant string, took time.Duration) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage.addRun(tenant, took, time.Now())
}

// isQuiet reports whether no question came within the last quietAfter.
func (m *Machine) isQuiet() bool {
	return time.Now().UnixNano()-m.lastQuestion.Load() > int64(quietAfter)
}

// takePermit waits until one more run of passages may begin, and counts it. The caller gives each permit back with
// givePermitBack. It does not end early: there is no context.
func (m *Machine) takePermit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queued++
	defer func() { m.queued-- }()
	for !m.beginPassages() {
		freed := m.freed
		m.mu.Unlock()
		select {
		case <-freed:
		case <-time.After(quietAfter / 4): // it may be quiet by now
		}
		m.mu.Lock()
	}
}

// tryPermit counts one more run of passages and returns true if it may begin now; the caller gives the permit back with
// givePermitBack. It returns false, and counts nothing, if it may not, or while another batcher waits in takePermit, so
// that no batcher starves.
func (m *Machine) tryPermit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.queued == 0 && m.beginPassages()
}

// beginPassages counts one more run of passages and returns true. It returns false if there are as many as allowed: one
// for each core while the machine is quiet, otherwise one for every two cores, at least one. mu must be held.
func (m *Machine) beginPassages() bool {
	most := m.cores
	if !m.isQuiet() {
		most = max(1, m.cores/2)
	}
	if m.passages >= most {
		return false
	}
	m.passages++
	return true
}

// givePermitBack gives back the permit of a run of passages that took this long; 0: the run did not take place. While
// questions come, the permit becomes free only after a pause as long as the run, so that passages use their cores half
// of the time. It does not wait for that.
func (m *Machine) givePermitBack(took time.Duration) {
	end := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.passages--
		close(m.freed)
		m.freed = make(chan struct{})
	}
	if took == 0 || m.isQuiet() {
		end()
		return
	}
	time.AfterFunc(took, end)
}
