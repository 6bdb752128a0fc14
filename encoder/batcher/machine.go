package batcher

import (
	"context"
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
type Machine struct {
	slots        *semaphore.Weighted
	cores        int
	lastQuestion atomic.Int64 // Unix nanoseconds
}

// NewMachine describes a machine with this many cores.
func NewMachine(cores int) *Machine {
	cores = max(1, cores)
	return &Machine{slots: semaphore.NewWeighted(int64(cores)), cores: cores}
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

func (m *Machine) asked() { m.lastQuestion.Store(time.Now().UnixNano()) }

func (m *Machine) quiet() bool {
	return time.Now().UnixNano()-m.lastQuestion.Load() > int64(quietAfter)
}
