package batcher

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// cheapest tries every division of lengths into groups.
func cheapest(lengths []int, budget, start int) float64 {
	best := -1.0
	for division := range 1 << max(0, len(lengths)-1) {
		cost, begin := 0.0, 0
		for end := 1; end <= len(lengths); end++ {
			if end < len(lengths) && division&(1<<(end-1)) == 0 {
				continue
			}
			size := (end - begin) * lengths[end-1]
			if size > budget && end-begin > 1 {
				cost = -1
				break
			}
			cost += runCost(size, start)
			begin = end
		}
		if cost >= 0 && (best < 0 || cost < best) {
			best = cost
		}
	}
	return best
}

func TestGroupIsCheapest(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 400 {
		n := 1 + random.IntN(9)
		lengths := make([]int, n)
		for i := range lengths {
			lengths[i] = 2 + random.IntN(30)
		}
		slices.Sort(lengths)
		budget := 10 + random.IntN(120)
		start := random.IntN(60)
		// The groups of all places, put together, are a division; its cost
		// must be the least there is.
		cost := 0.0
		for at := 0; at < n; {
			first, last := nextBatch(lengths, at, budget, start)
			if first != at || last <= first {
				t.Fatalf("%v, budget %d, start %d: the group of %d is %d to %d", lengths, budget, start, at, first, last)
			}
			for inside := first; inside < last; inside++ {
				if f, l := nextBatch(lengths, inside, budget, start); f != first || l != last {
					t.Fatalf("%v: %d and %d are of one group and of two", lengths, at, inside)
				}
			}
			size := (last - first) * lengths[last-1]
			if size > budget && last-first > 1 {
				t.Fatalf("%v, budget %d: %d to %d has %d padded tokens", lengths, budget, first, last, size)
			}
			cost += runCost(size, start)
			at = last
		}
		if want := cheapest(lengths, budget, start); math.Abs(cost-want) > 1e-9 {
			t.Fatalf("%v, budget %d, start %d: cost %g, the least is %g", lengths, budget, start, cost, want)
		}
	}
}

func TestGroupByHand(t *testing.T) {
	for _, c := range []struct {
		lengths               []int
		oldest, budget, start int
		first, last           int
	}{
		{[]int{5}, 0, 1, 32, 0, 1},               // longer than the budget: alone
		{[]int{8, 8, 8, 8}, 2, 100, 32, 0, 4},    // equal: together
		{[]int{8, 8, 8, 8}, 0, 16, 32, 0, 2},     // as the budget allows
		{[]int{4, 4, 60, 60}, 0, 1000, 32, 0, 2}, // 112 padding or 6 for a second run
		{[]int{4, 4, 60, 60}, 3, 1000, 32, 2, 4}, // the oldest decides which
		{[]int{12, 14}, 0, 1000, 32, 0, 2},       // 28 + 14.9 together, 12 + 8.7 + 14 + 9.7 apart
		{[]int{10, 14}, 0, 1000, 32, 0, 1},       // 28 + 14.9 together, 10 + 7.6 + 14 + 9.7 apart
		{[]int{10, 11, 12, 13}, 1, 1000, 32, 0, 4},
		{[]int{3, 512}, 0, 512, 32, 0, 1},
	} {
		if first, last := nextBatch(c.lengths, c.oldest, c.budget, c.start); first != c.first || last != c.last {
			t.Errorf("%+v: %d to %d", c, first, last)
		}
	}
}

func TestRowsWithin(t *testing.T) {
	for _, c := range []struct {
		lengths      []int
		budget, want int
	}{
		{nil, 10, 0}, {[]int{20}, 10, 1}, {[]int{5, 5, 4}, 10, 2}, {[]int{5, 1, 1}, 16, 3}, {[]int{3, 2, 1}, 100, 3},
	} {
		if got := rowsWithin(c.lengths, c.budget); got != c.want {
			t.Errorf("%v within %d: %d, want %d", c.lengths, c.budget, got, c.want)
		}
	}
}

func TestWaitingStaysSorted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var w waitingQueue
	var all []*entry
	for i := range 300 {
		e := &entry{tokens: make([]int32, 1+random.IntN(20)), arrival: uint64(i)}
		w.add(e, time.Time{})
		all = append(all, e)
		if i%3 == 2 {
			at := random.IntN(len(all))
			w.remove(all[at])
			all = slices.Delete(all, at, at+1)
		}
		if !slices.IsSorted(w.lengths) || len(w.entries) != len(all) {
			t.Fatalf("after %d: %v", i, w.lengths)
		}
		for k, e := range w.entries {
			if len(e.tokens) != w.lengths[k] {
				t.Fatalf("after %d: the length of entry %d is %d, not %d", i, k, len(e.tokens), w.lengths[k])
			}
		}
	}
	for w.len() > 0 {
		oldest := slices.MinFunc(w.entries, func(a, b *entry) int { return int(a.arrival) - int(b.arrival) })
		if !slices.Contains(w.takeBatch(64, 6, time.Time{}), oldest) {
			t.Fatal("a batch leaves the oldest entry behind")
		}
	}
}
