package batcher

import "slices"

// job is one call for the vectors of passages.
type job struct {
	tenant  string
	rows    [][]int32
	order   []int // indexes into rows, as they are run
	lengths []int // of rows, in order
	vectors [][]float32
	reply   chan error // buffered

	// The owner's:
	next   int          // into order: what has not been run
	left   int          // tokens of that
	under  map[*run]int // runs under way, and where in order they begin
	failed error
}

// window is how many passages are sorted by length together: enough that the
// rows of a batch are of almost one length.
const window = 2048

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

// take takes the rows of the next batch.
func (j *job) take(r *run, budget int) {
	end := min(len(j.order), (j.next/window+1)*window)
	n := rowsWithin(j.lengths[j.next:end], budget)
	for _, row := range j.order[j.next : j.next+n] {
		r.rows = append(r.rows, j.rows[row])
		j.left -= len(j.rows[row])
	}
	j.under[r] = j.next
	j.next += n
}

// share returns how many tokens each of so many runs has if what is left is divided evenly among them, so that the
// last batches of a job, or the only ones of a small one, keep every core busy.
func (j *job) share(runs int) int { return (j.left + runs - 1) / runs }

// keep puts a run's vectors in their places.
func (j *job) keep(r *run) {
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

// waits reports whether a batch of the job can still be run.
func (j *job) waits() bool { return j.failed == nil && j.next < len(j.order) }

// ended says that nothing of the job is left to do.
func (j *job) ended() bool { return !j.waits() && len(j.under) == 0 }
