package opensearch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"example.org/conclave/store/opensearch/cluster"
	"sync"
	"time"
)

// Changes of one document wait for each other by looking again and again, so a writer that makes one change after the
// other would always be first. A writer that waits therefore writes down that the next turn is its own, and one that
// has just changed the document leaves it the turn.

// turnPatience is how long a turn is left to a writer that does not take it.
const turnPatience = 3 * time.Second

// documentTurn is the turn of one change of a document.
type documentTurn struct {
	register *Register // says whose turn is next
	name     string
	recent   *recentChanges
	patience time.Duration // turnPatience, but in tests
	version  string        // of the register, where the turn is this change's; "": it is not
}

// turnAt returns the turn of a change that has this intent.
func (w *Writer) turnAt(intent *Register) *documentTurn {
	r := w.store.Register("turn-" + intent.name)
	r.made = &w.registers
	r.patience = turnPatience
	return &documentTurn{register: r, name: intent.name, recent: &w.begun, patience: w.turnPatience}
}

// await waits until no other writer has the next turn, where a change of the document was made here just now. What
// cannot be read keeps nobody waiting.
func (t *documentTurn) await(ctx context.Context) error {
	if !t.recent.has(t.name) {
		return nil
	}
	for watched, since := "", time.Now(); ; {
		_, version, err := t.register.Read(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || version == "":
			return nil
		case version != watched:
			watched = version
			since = time.Now()
		case time.Since(since) > t.patience:
			return nil
		}
		if err := cluster.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// take writes down that the next turn is this change's, where it is nobody's, or left by a writer that is gone.
func (t *documentTurn) take(ctx context.Context) {
	if t.version != "" {
		return
	}
	data, err := json.Marshal(rand.Text())
	if err != nil {
		return
	}
	if version, done, err := t.register.Write(ctx, data, ""); err == nil && done {
		t.version = version
	}
}

// end gives the turn back. begun: the change of the document has begun.
func (t *documentTurn) end(ctx context.Context, begun bool) {
	if begun {
		t.recent.add(t.name)
	}
	if t.version != "" {
		_ = t.register.remove(context.WithoutCancel(ctx), t.version)
	}
}

// recentChanges are documents that were changed a moment ago. The zero value has none.
type recentChanges struct {
	mu sync.Mutex
	at map[string]time.Time
}

// mostRecent is how many are kept.
const mostRecent = 1024

func (r *recentChanges) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil || len(r.at) >= mostRecent {
		r.at = map[string]time.Time{}
	}
	r.at[name] = time.Now()
}

// has reports whether a document was changed in the last half minute.
func (r *recentChanges) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.at[name]
	return ok && time.Since(at) < 30*time.Second
}
