package batcher

// nextBatch returns which of the waiting sequences make the next batch: those from index first up to, not
// including, last. lengths are their lengths in tokens, ascending, at least one; the batch is the group that holds
// the one at index oldest, so that nothing waits forever. budget is the most padded tokens of a batch, and start is
// as in runCost.
//
// Rows of a batch are padded to its longest, and on a processor a padded token costs as much as a real one, whereas
// one more run costs only what runCost says. So the waiting sequences are divided where the sum of the costs is
// least, by dynamic programming over the sorted lengths, with rows × longest at most budget; a sequence longer than
// budget is a batch by itself.
func nextBatch(lengths []int, oldest, budget, start int) (first, last int) {
	best := make([]float64, len(lengths)+1) // cost of the sequences before an index
	from := make([]int, len(lengths)+1)     // where the group that ends there begins
	for end := 1; end <= len(lengths); end++ {
		longest := lengths[end-1]
		best[end] = best[end-1] + runCost(longest, start)
		from[end] = end - 1
		for begin := end - 2; begin >= 0 && (end-begin)*longest <= budget; begin-- {
			if cost := best[begin] + runCost((end-begin)*longest, start); cost <= best[end] {
				best[end], from[end] = cost, begin
			}
		}
	}
	for last = len(lengths); ; last = first {
		first = from[last]
		if first <= oldest {
			return first, last
		}
	}
}

// runCost returns what a run of this many padded tokens takes, in the time of a token in a large batch; 0 for none.
// Small runs use the cores badly: beyond its tokens a run costs up to start, and less when it is small itself.
// Measured with MiniLM-L6 on two cores, what 12, 48, 96, 384 and 768 tokens cost beyond themselves: 9, 17, 29, 30
// and 29 in fp32, 20, 30, 50, 37 and 50 in int8.
func runCost(tokens, start int) float64 {
	n, s := float64(tokens), float64(start)
	if n == 0 {
		return 0
	}
	return n + s*n/(s+n)
}

// rowsWithin returns how many of the first rows with these lengths, descending, make one batch: as many as stay within
// budget when all are padded to the first, but at least one; 0 without rows.
func rowsWithin(lengths []int, budget int) int {
	if len(lengths) == 0 {
		return 0
	}
	return min(len(lengths), max(1, budget/max(1, lengths[0])))
}
