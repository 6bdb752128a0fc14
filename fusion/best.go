package fusion

import (
	"cmp"
	"math"
	"slices"

	"example.org/conclave/internal/rank"
)

// OrderTies sets how passages with equal scores rank: byID sorts passages by their ids.
// byID is called only for passages that tie, and only where their order affects the result.
// Until OrderTies is called, and after Reset, the lower ordinal ranks first, which is the order
// of ids in a collection of one segment.
func (c *Candidates) OrderTies(byID func(passages []rank.Ordinal)) { c.byID = byID }

// orderTied puts rows with equal scores in order: by their passages' ids, or, without OrderTies, by their ordinals.
func (c *Candidates) orderTied(rows []int32) {
	if len(rows) < 2 {
		return
	}
	slices.Sort(rows)
	if c.byID == nil {
		return
	}
	passages := make([]rank.Ordinal, len(rows))
	for i, row := range rows {
		passages[i] = c.ordinals[row]
	}
	c.byID(passages)
	for i, p := range passages {
		row, _ := slices.BinarySearch(c.ordinals, p)
		rows[i] = int32(row)
	}
}

// sumBits is the number of binary digits of a fused score that count, from the first
// digit of the largest contribution to any candidate. A sum of float64 is inexact in its
// last ten digits, so scores that should be equal may differ there. Scores that should
// differ do so by far more, since their terms come from float32.
const sumBits = 40

// roundScores rounds c.scores to the precision of their sums, so that scores that should be equal are equal. magnitude
// is the largest contribution to any candidate. It changes nothing if magnitude is 0 or near the limits of a float64.
func (c *Candidates) roundScores(magnitude float64) {
	_, exponent := math.Frexp(magnitude)
	unit, each := math.Ldexp(1, exponent-sumBits), math.Ldexp(1, sumBits-exponent)
	if unit == 0 || math.IsInf(each, 0) {
		return
	}
	for row, score := range c.scores {
		c.scores[row] = math.RoundToEven(score*each) * unit
	}
}

// bestRows returns the rows of the k highest c.scores, best first, among the rows
// that candidate accepts. The slice is scratch of c.
func (c *Candidates) bestRows(k int, candidate func(row int) bool) []int32 {
	return c.highestRows(k, func(row int32) float64 { return c.scores[row] }, candidate)
}

// highestRows returns the k rows with the highest scores, best first, among those that candidate accepts; equal ones by
// the passages' ids. The slice is scratch of c. There are none if k is 0 or less. It may call candidate more than once
// for a row.
func (c *Candidates) highestRows(k int, score func(row int32) float64, candidate func(row int) bool) []int32 {
	before := func(a, b int32) bool {
		if x, y := score(a), score(b); x != y {
			return x > y
		}
		return a < b
	}
	// A heap with the worst kept row at the root, as in rank.TopK, which
	// cannot serve because its scores are float32: rounding would make ties.
	heap := c.kept[:0]
	accepted := 0
	for row := range c.ordinals {
		if !candidate(row) {
			continue
		}
		accepted++
		r := int32(row)
		if len(heap) < k {
			heap = append(heap, r)
			for i := len(heap) - 1; i > 0; {
				parent := (i - 1) / 2
				if !before(heap[parent], heap[i]) {
					break
				}
				heap[parent], heap[i] = heap[i], heap[parent]
				i = parent
			}
			continue
		}
		if k <= 0 || !before(r, heap[0]) {
			continue
		}
		heap[0] = r
		for i := 0; ; {
			worst := i
			for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
				if before(heap[worst], heap[child]) {
					worst = child
				}
			}
			if worst == i {
				break
			}
			heap[i], heap[worst] = heap[worst], heap[i]
			i = worst
		}
	}
	slices.SortFunc(heap, func(a, b int32) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(a, b))
	})
	if accepted > len(heap) && len(heap) > 0 && c.byID != nil {
		heap = c.addTied(heap, score, candidate)
	}
	for from, to := 0, 0; from < len(heap); from = to {
		for to = from + 1; to < len(heap) && score(heap[to]) == score(heap[from]); to++ {
		}
		c.orderTied(heap[from:to])
	}
	c.kept = heap
	return heap[:min(len(heap), max(k, 0))]
}

// addTied appends to best the candidates that have the score of its last row and were not kept, so that the order of
// ids can decide which of them stay. best must not be empty.
func (c *Candidates) addTied(best []int32, score func(row int32) float64, candidate func(row int) bool) []int32 {
	last := score(best[len(best)-1])
	kept := best[len(best)-1] // of equal ones the lowest rows are kept
	for row := kept + 1; int(row) < len(c.ordinals); row++ {
		if score(row) == last && candidate(int(row)) {
			best = append(best, row)
		}
	}
	return best
}
