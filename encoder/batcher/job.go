package batcher

import "slices"

// job is one call of Passages: the rows to encode, and which of them were run.
type job struct {
	tenant  string
	rows    [][]int32
	order   []int // indexes into rows, as they are run
	lengths []int // of rows, in order
	vectors [][]float32
	reply   chan error // the result, nil when vectors is complete; buffered

	// Used only by the owner:
	next   int          // index into order of the first row that is in no run yet
	left   int          // tokens of the rows from there on
	under  map[*run]int // runs under way, and the index into order of their first row
	failed error        // the first error; nil: none
}

// window is how many passages are sorted by length together: enough that the
// rows of a batch are of almost one length.
const window = 2048

// newJob returns the job of encoding rows for a tenant. Rows are ordered longest first within each window.
func newJob(tenant string, rows [][]int32) *job {
	j := &job{
		tenant:  tenant,
		rows:    rows,
		order:   make([]int, len(rows)),
		lengths: make([]int, len(rows)),
		vectors: make([][]float32, len(rows)),
		reply:   make(chan error, 1),
		under:   make(map[*run]int),
	}
	for i := range j.order {
		j.order[i] = i
	}
	for part := range slices.Chunk(j.order, window) {
		slices.SortStableFunc(part, func(a, b int) int { return len(rows[b]) - len(rows[a]) })
	}
	for i, row := range j.order {
		j.lengths[i] = len(rows[row])
		j.left += len(rows[row])
	}
	return j
}

// takeRows appends the job's next rows to run r: as many as fit into budget padded tokens, at least one, and none
// beyond the current window. There must be rows left.
func (j *job) takeRows(r *run, budget int) {
	end := min(len(j.order), (j.next/window+1)*window)
	n := rowsWithin(j.lengths[j.next:end], budget)
	for _, row := range j.order[j.next : j.next+n] {
		r.rows = append(r.rows, j.rows[row])
		j.left -= len(j.rows[row])
	}
	j.under[r] = j.next
	j.next += n
}

// shareOfLeft returns the tokens that are left divided by a number of runs, rounded up, so that the last batches of a
// job keep every core busy. runs must not be 0.
func (j *job) shareOfLeft(runs int) int { return (j.left + runs - 1) / runs }

// keepVectors stores the vectors of run r, which has ended, in the job; if r failed, its error becomes the job's.
func (j *job) keepVectors(r *run) {
	begin := j.under[r]
	delete(j.under, r)
	if r.err != nil {
		j.failed = r.err
		return
	}
	for i, vector := range r.vectors {
		j.vectors[j.order[begin+i]] = vector
	}
}

// hasWaitingRows reports whether the job has rows that are in no run yet, and has not failed.
func (j *job) hasWaitingRows() bool { return j.failed == nil && j.next < len(j.order) }

// isAnswerable reports whether the job can be answered: none of its runs is under way, and it failed or has no rows
// that wait for one.
func (j *job) isAnswerable() bool { return !j.hasWaitingRows() && len(j.under) == 0 }
