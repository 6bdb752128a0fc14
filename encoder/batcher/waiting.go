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

// waiting holds the entries that no run has taken, by length and then by
// arrival. It belongs to the batcher's goroutine.
//
// Tenants take turns: a batch is formed around the oldest entry of the one that was served longest ago. While
// several ask, each has a share of a batch's tokens, so that a question waits for a short run of the others'
// and shares its own with few of theirs, however many of them wait.
type waiting struct {
	entries []*entry
	lengths []int // of entries, for group
	tenants map[string]*askingTenant
	served  uint64 // batches formed so far
}

// askingTenant is what is known of a tenant that asked lately.
type askingTenant struct {
	entries int // that wait
	served  uint64
	asked   time.Time
	rests   time.Time // until then none of its entries is run
}

// tenantShare is the share of the tokens of a batch that a tenant has while several ask.
const tenantShare = 1. / 8

func (w *waiting) len() int { return len(w.entries) }

// of returns how many entries of a tenant wait.
func (w *waiting) of(tenant string) int {
	if t := w.tenants[tenant]; t != nil {
		return t.entries
	}
	return 0
}

// add adds an entry that came at a time.
func (w *waiting) add(e *entry, now time.Time) {
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

// remove removes an entry whose callers have gone.
func (w *waiting) remove(e *entry) {
	if at := slices.Index(w.entries, e); at >= 0 {
		w.delete([]int{at})
	}
}

// take removes and returns the entries of the next batch.
func (w *waiting) take(budget, start int, now time.Time) []*entry {
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
		if oldest < 0 || w.before(e, w.entries[oldest]) {
			oldest = i
		}
	}
	if oldest < 0 { // they rest, and the batcher closes
		oldest = 0
	}
	among, at := w.among(oldest, budget, now)
	lengths := make([]int, len(among))
	for i, n := range among {
		lengths[i] = w.lengths[n]
	}
	first, last := group(lengths, at, budget, start)
	w.served++
	taken := make([]*entry, 0, last-first)
	for _, n := range among[first:last] {
		taken = append(taken, w.entries[n])
		w.tenants[w.entries[n].tenant].served = w.served
	}
	w.delete(among[first:last])
	return taken
}

// rest returns for how long all that have entries are to rest yet; 0: not all are.
func (w *waiting) rest(now time.Time) time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, t := range w.tenants {
		if t.entries > 0 {
			least = min(least, max(t.rests.Sub(now), 0))
		}
	}
	return least
}

// charge counts a run that has ended, where it was of one tenant alone.
func (w *waiting) charge(r *run, machine *Machine) {
	if len(r.entries) == 0 || r.entries[0].tenant == "" {
		return
	}
	name := r.entries[0].tenant
	if slices.ContainsFunc(r.entries, func(e *entry) bool { return e.tenant != name }) {
		return
	}
	if t := w.tenants[name]; t != nil {
		t.rests = time.Now().Add(machine.rest(name, r.took))
	}
}

// before reports whether an entry is to be run before another one: by when their tenants were served last, and
// then by their arrival.
func (w *waiting) before(a, b *entry) bool {
	if x, y := w.tenants[a.tenant].served, w.tenants[b.tenant].served; x != y {
		return x < y
	}
	return a.arrival < b.arrival
}

// among returns which entries the next batch is chosen from, ascending, and where the oldest, which is one of
// them, stands there: all, where one tenant asks, and else of each tenant the oldest that have its share of the
// tokens, at least one.
func (w *waiting) among(oldest, budget int, now time.Time) (all []int, at int) {
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

// delete removes entries, ascending.
func (w *waiting) delete(all []int) {
	for _, at := range slices.Backward(all) {
		w.tenants[w.entries[at].tenant].entries--
		w.entries = slices.Delete(w.entries, at, at+1)
		w.lengths = slices.Delete(w.lengths, at, at+1)
	}
}
