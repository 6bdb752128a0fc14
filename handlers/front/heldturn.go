package front

import (
	"sync"
)

// heldTurn is the processor that a call keeps for several pieces of work (holdTurn). It has a lock, since an MCP tool
// gives it back and takes it again in another goroutine than the one that serves the request.
type heldTurn struct {
	Mu   sync.Mutex
	Done func() // gives the processor back; nil: the call has none now
	Held bool   // between holdTurn and letGo: the call gets a processor again after each pause
}

// IsHeld reports whether the call has a processor now.
func (t *heldTurn) IsHeld() bool {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return t.Done != nil
}

// GiveBack gives the processor back; it does nothing without one. The caller must hold t.Mu.
func (t *heldTurn) GiveBack() {
	if t.Done != nil {
		t.Done()
		t.Done = nil
	}
}
