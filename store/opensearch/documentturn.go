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

// documentTurn is the place of one change in the queue of a document's changes.
type documentTurn struct {
	register *Register // says whose turn is next
	name     string
	recent   *recentChanges
	patience time.Duration // turnPatience, but in tests
	version  string        // of the register, where the turn is this change's; "": it is not
}

// turnOf returns the place of a change in the queue of its document's changes (documentTurn). intent is the register in
// which the document's changes are written down (intentOf); the register of the queue is named after it. It makes no
// request and claims nothing; claimNext does.
func (w *Writer) turnOf(intent *Register) *documentTurn {
	r := w.store.Register("turn-" + intent.name)
	r.made = &w.registers
	r.patience = turnPatience
	return &documentTurn{register: r, name: intent.name, recent: &w.begun, patience: w.turnPatience}
}

// awaitTurn waits until no other writer claims the next change of the document, or a claim has stayed for t.patience.
// It waits only if this process changed the document in the last half minute. If the claim cannot be read, it does
// not wait. Its only error is that of ctx.
func (t *documentTurn) awaitTurn(ctx context.Context) error {
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

// claimNext writes to the cluster that the next change of the document is this one, unless another writer has claimed
// it. It sets t.version if this change has the claim. Failures are ignored: the change then has no claim.
func (t *documentTurn) claimNext(ctx context.Context) {
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

// giveBack removes the claim, if this change had it, also after ctx has ended. A failure is ignored. begun says that
// the change has begun: the document counts as just changed here.
func (t *documentTurn) giveBack(ctx context.Context, begun bool) {
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

// add notes that the document was changed now. It forgets all others when it has mostRecent.
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
