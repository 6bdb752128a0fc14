package batcher

import (
	"math"
	"slices"
	"time"
)

// entry is one question of a tenant that waits or is in a run. Equal questions of the tenant that arrive
// meanwhile share it.
type entry struct {
	key     string
	tenant  string
	tokens  []int32
	arrival uint64
	callers []*question
	run     *run // nil while it waits
}

// waitingQueue is the queue of entries that are in no run yet, sorted by length in tokens and then by arrival. Only the
// batcher's goroutine uses it.
//
// Tenants take turns: each batch is formed around the oldest entry of the tenant that was served longest ago. While
// several tenants ask, each may fill tenantShare of a batch's tokens. Batches are then short, and a tenant with one
// question does not wait for the long queue of another.
type waitingQueue struct {
	entries []*entry
	lengths []int // tokens of each of entries, for nextBatch
	tenants map[string]*askingTenant
	served  uint64 // number of batches formed
}

// askingTenant is the state of a tenant that has entries in the queue or asked lately.
type askingTenant struct {
	entries int       // that wait
	served  uint64    // waiting.served after its last batch
	asked   time.Time // when its last entry was added
	rests   time.Time // none of its entries is run before
}

// tenantShare is the part of a batch's tokens that one tenant may fill while several ask.
const tenantShare = 1. / 8

// len returns the number of entries in the queue.
func (w *waitingQueue) len() int { return len(w.entries) }

// countOf returns the number of entries of a tenant in the queue.
func (w *waitingQueue) countOf(tenant string) int {
	if t := w.tenants[tenant]; t != nil {
		return t.entries
	}
	return 0
}

// add adds an entry to the queue; now is when its question came.
func (w *waitingQueue) add(e *entry, now time.Time) {
	at, _ := slices.BinarySearch(w.lengths, len(e.tokens)+1)
	w.entries = slices.Insert(w.entries, at, e)
	w.lengths = slices.Insert(w.lengths, at, len(e.tokens))
	t := w.tenants[e.tenant]
	if t == nil {
		t = &askingTenant{}
		if w.tenants == nil {
			w.tenants = map[string]*askingTenant{}
		}
		w.tenants[e.tenant] = t
	}
	t.entries++
	t.asked = now
}

// remove removes an entry from the queue, if it is there.
func (w *waitingQueue) remove(e *entry) {
	if at := slices.Index(w.entries, e); at >= 0 {
		w.deleteEntries([]int{at})
	}
}

// takeBatch removes the entries of the next batch from the queue and returns them. budget is the most padded tokens of
// a batch, and start what a run costs beyond its tokens. The queue must not be empty. Entries of tenants that rest are
// left out, unless all rest.
func (w *waitingQueue) takeBatch(budget, start int, now time.Time) []*entry {
	for name, t := range w.tenants {
		if t.entries == 0 && now.Sub(t.asked) > quietAfter && now.After(t.rests) {
			delete(w.tenants, name)
		}
	}
	oldest := -1
	for i, e := range w.entries {
		if w.tenants[e.tenant].rests.After(now) {
			continue
		}
		if oldest < 0 || w.isBefore(e, w.entries[oldest]) {
			oldest = i
		}
	}
	if oldest < 0 { // they rest, and the batcher closes
		oldest = 0
	}
	among, at := w.batchCandidates(oldest, budget, now)
	lengths := make([]int, len(among))
	for i, n := range among {
		lengths[i] = w.lengths[n]
	}
	first, last := nextBatch(lengths, at, budget, start)
	w.served++
	taken := make([]*entry, 0, last-first)
	for _, n := range among[first:last] {
		taken = append(taken, w.entries[n])
		w.tenants[w.entries[n].tenant].served = w.served
	}
	w.deleteEntries(among[first:last])
	return taken
}

// restTime returns how long it takes until the first tenant with entries has rested; 0: one of them may be run now.
func (w *waitingQueue) restTime(now time.Time) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, t := range w.tenants {
		if t.entries > 0 {
			least = min(least, max(t.rests.Sub(now), 0))
		}
	}
	return least
}

// chargeTenant adds the time of a run that has ended to its tenant's use of the machine, and lets the tenant rest if it
// used much. It does nothing for runs of several tenants, or of the tenant "".
func (w *waitingQueue) chargeTenant(r *run, machine *Machine) {
	if len(r.entries) == 0 || r.entries[0].tenant == "" {
		return
	}
	name := r.entries[0].tenant
	if slices.ContainsFunc(r.entries, func(e *entry) bool { return e.tenant != name }) {
		return
	}
	if t := w.tenants[name]; t != nil {
		t.rests = time.Now().Add(machine.restAfter(name, r.took))
	}
}

// isBefore reports whether entry a is to be run before entry b: the tenant of a was served longer ago, or at the same
// time and a arrived first.
func (w *waitingQueue) isBefore(a, b *entry) bool {
	if x, y := w.tenants[a.tenant].served, w.tenants[b.tenant].served; x != y {
		return x < y
	}
	return a.arrival < b.arrival
}

// batchCandidates returns the indexes, ascending, of the entries that the next batch may be formed of, and the position
// of the index oldest among them. With one tenant these are all entries. With several they are each tenant's oldest
// entries up to its share of budget, at least one, and none of tenants that rest, except for the oldest.
func (w *waitingQueue) batchCandidates(oldest, budget int, now time.Time) (all []int, at int) {
	if len(w.tenants) < 2 {
		for i := range w.entries {
			all = append(all, i)
		}
		return all, oldest
	}
	byAge := make([]int, len(w.entries))
	for i := range byAge {
		byAge[i] = i
	}
	slices.SortFunc(byAge, func(a, b int) int { return int(w.entries[a].arrival) - int(w.entries[b].arrival) })
	taken := map[string]int{}
	for _, i := range byAge {
		e := w.entries[i]
		if i != oldest && w.tenants[e.tenant].rests.After(now) {
			continue
		}
		if had := taken[e.tenant]; had == 0 || had+len(e.tokens) <= int(tenantShare*float64(budget)) {
			taken[e.tenant] += len(e.tokens)
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all, slices.Index(all, oldest)
}

// deleteEntries removes the entries at these indexes, which must be ascending.
func (w *waitingQueue) deleteEntries(all []int) {
	for _, at := range slices.Backward(all) {
		w.tenants[w.entries[at].tenant].entries--
		w.entries = slices.Delete(w.entries, at, at+1)
		w.lengths = slices.Delete(w.lengths, at, at+1)
	}
}
