package batcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// owner is the state of the batcher's goroutine, the only one that uses it, so it needs no locks. It blocks only in
// the select of runLoop.
type owner struct {
	b        *Batcher
	waiting  waitingQueue
	flights  map[string]*entry // entries that wait or are in a run that has callers, by key
	jobs     []*job
	nextJob  int               // index into jobs where nextJobToRun begins: jobs of one tenant take turns
	rested   map[string]uint64 // value of passages at the last batch of each tenant that has jobs
	passages uint64            // number of batches of passages started
	arrivals uint64

	running      int    // runs under way
	lanes        [2]int // of these, runs of each lane
	asking       int    // requests to the machine under way
	resting      bool   // a timer waits until a tenant has rested
	permitting   bool   // passages wait for the machine's permit
	permitted    bool   // the machine permits one run of passages
	sincePassage int    // batches of questions run while a job waited
	closing      bool
}

// passageEvery is the number of batches of questions after which one of passages runs, if any wait.
const passageEvery = 7

// smallRuns times StartTokens is the least number of tokens of a run of passages, if as many are left. Smaller runs on
// several cores take longer together than one run.
const smallRuns = 4

// run is one batch on its way through the model.
type run struct {
	lane    Lane
	rows    [][]int32
	entries []*entry // of questions, one a row
	job     *job     // of passages
	live    int      // callers that still wait for a result
	cancel  context.CancelFunc
	took    time.Duration
	ended   bool // canceled: its entries can no longer be joined

	vectors [][]float32
	err     error
}

// runLoop runs the batcher until it was closed and all questions are answered. It then closes Batcher.closed.
func (o *owner) runLoop() {
	defer close(o.b.closed)
	stop := o.b.stop
	for {
		select {
		case q := <-o.b.questions:
			o.acceptQuestion(q)
		case j := <-o.b.jobs:
			o.acceptJob(j)
		case q := <-o.b.left:
			o.removeCaller(q)
		case j := <-o.b.dropped:
			o.dropJob(j)
		case <-o.b.granted:
			o.asking--
			o.startBatch()
		case <-o.b.permits:
			o.permitting, o.permitted = false, true
		case r := <-o.b.finished:
			o.finishRun(r)
		case <-o.b.rested:
			o.resting = false
		case <-stop:
			stop = nil
			o.closing = true
			for _, j := range slices.Clone(o.jobs) {
				o.failJob(j, ErrClosed)
			}
		}
		o.startRuns()
		o.b.counters.count(func(s *Stats) { s.Waiting, s.Jobs = int64(o.waiting.len()), int64(len(o.jobs)) })
		if o.permitted && !slices.ContainsFunc(o.jobs, (*job).hasWaitingRows) {
			o.permitted = false
			if o.b.config.Threads > 0 {
				o.b.config.Machine.givePermitBack(0)
			}
		}
		if o.closing && o.running == 0 && o.asking == 0 && o.waiting.len() == 0 && !o.permitting {
			return
		}
	}
}

// acceptQuestion puts a question into the queue, or lets it share an equal one of its tenant that waits or runs. If the
// batcher closes or the queue is full, it answers the question with ErrClosed or an *OverloadedError. A tenant without
// questions in the queue may exceed its limit, so that others cannot fill it for all.
func (o *owner) acceptQuestion(q *question) {
	if e, ok := o.flights[q.key]; ok {
		q.entry = e
		e.callers = append(e.callers, q)
		if e.run != nil {
			e.run.live++
		}
		o.b.counters.count(func(s *Stats) { s.Shared++ })
		return
	}
	if o.closing {
		q.reply <- answer{err: ErrClosed}
		return
	}
	// Who has nothing in a full queue is let in, so that others cannot fill it for all.
	if o.waiting.len() >= o.b.config.Queue && (q.tenant == "" || o.waiting.countOf(q.tenant) > 0) {
		o.b.counters.count(func(s *Stats) { s.Refused++ })
		q.reply <- answer{err: &OverloadedError{What: "questions", Limit: o.b.config.Queue}}
		return
	}
	o.arrivals++
	e := &entry{key: q.key, tenant: q.tenant, tokens: q.tokens, arrival: o.arrivals, callers: []*question{q}}
	q.entry = e
	o.flights[e.key] = e
	o.waiting.add(e, time.Now())
}

// removeCaller removes a caller whose context has ended. Without callers, an entry that waits is removed from the
// queue, and a run is canceled. It does nothing if the question was refused or answered.
func (o *owner) removeCaller(q *question) {
	e := q.entry
	if e == nil {
		return // was refused
	}
	at := slices.Index(e.callers, q)
	if at < 0 {
		return // was answered in the meantime
	}
	e.callers = slices.Delete(e.callers, at, at+1)
	switch {
	case e.run != nil:
		e.run.live--
		o.endIfDeserted(e.run)
	case len(e.callers) == 0:
		o.waiting.remove(e)
		delete(o.flights, e.key)
		o.b.counters.count(func(s *Stats) { s.Abandoned++ })
	}
}

// endIfDeserted cancels a run for whose results no caller waits. Later equal questions do not share it.
func (o *owner) endIfDeserted(r *run) {
	if r.live > 0 || r.ended {
		return
	}
	r.ended = true
	for _, e := range r.entries {
		delete(o.flights, e.key)
	}
	r.cancel()
	o.b.counters.count(func(s *Stats) { s.Ended++ })
}

// acceptJob adds a job, or answers it with ErrClosed or an *OverloadedError if the batcher closes or has too many.
func (o *owner) acceptJob(j *job) {
	switch {
	case o.closing:
		j.reply <- ErrClosed
	case len(o.jobs) >= o.b.config.Queue:
		o.b.counters.count(func(s *Stats) { s.Refused++ })
		j.reply <- &OverloadedError{What: "requests for passages", Limit: o.b.config.Queue}
	default:
		o.jobs = append(o.jobs, j)
	}
}

var errDropped = errors.New("the caller has gone")

// dropJob removes a job whose caller's context has ended, and cancels its runs. It does nothing if the job was
// answered.
func (o *owner) dropJob(j *job) {
	if !slices.Contains(o.jobs, j) {
		return // was answered in the meantime
	}
	if len(j.under) == 0 {
		o.b.counters.count(func(s *Stats) { s.Abandoned++ })
	}
	for r := range j.under {
		r.live = 0
		o.endIfDeserted(r)
	}
	o.failJob(j, errDropped)
}

// failJob stops a job: no further batch of it runs, and it is answered with its first error when its runs have
// ended, at once if there are none.
func (o *owner) failJob(j *job, err error) {
	if j.failed == nil {
		j.failed = err
	}
	o.answerJob(j)
}

// answerJob answers and removes a job that has ended; it does nothing for others.
func (o *owner) answerJob(j *job) {
	if !j.isAnswerable() {
		return
	}
	j.reply <- j.failed
	at := slices.Index(o.jobs, j)
	o.jobs = slices.Delete(o.jobs, at, at+1)
	if !slices.ContainsFunc(o.jobs, func(other *job) bool { return other.tenant == j.tenant }) {
		delete(o.rested, j.tenant)
	}
	if at < o.nextJob {
		o.nextJob--
	}
}

// startRuns starts runs until Config.Runs are under way, or nothing may be run. If cores are not free now, it asks for
// them in the background; the batch is formed when they are granted.
func (o *owner) startRuns() {
	c := &o.b.config
	for o.running+o.asking < c.Runs {
		o.requestPermit()
		if !o.hasWork() {
			return
		}
		if c.Threads == 0 || c.Machine.tryAcquire(c.Threads) {
			o.startBatch()
			continue
		}
		o.asking++
		go func() {
			// The context never ends, so neither does acquire with an error.
			_ = c.Machine.acquireSlots(context.Background(), c.Threads)
			o.b.granted <- struct{}{}
		}()
	}
}

// requestPermit asks the machine for the permit that the next run of passages needs, if a job
// waits and there is no such permit or request yet. Without cores to share, on a GPU, the
// permit is there at once.
func (o *owner) requestPermit() {
	c := &o.b.config
	if o.permitted || o.permitting || !slices.ContainsFunc(o.jobs, (*job).hasWaitingRows) {
		return
	}
	if c.Threads == 0 || c.Machine.tryPermit() {
		o.permitted = true
		return
	}
	o.permitting = true
	go func() {
		c.Machine.takePermit()
		o.b.permits <- struct{}{}
	}()
}

// hasWork reports whether a question or a permitted job of passages can be run now.
func (o *owner) hasWork() bool {
	return o.hasQuestions() || o.permitted && slices.ContainsFunc(o.jobs, (*job).hasWaitingRows)
}

// hasQuestions reports whether a question waits that may be run now. If the tenants of all of them rest, it returns
// false and sets a timer that wakes the owner when the first has rested. When the batcher closes, tenants do not rest.
func (o *owner) hasQuestions() bool {
	if o.waiting.len() == 0 {
		return false
	}
	rest := o.waiting.restTime(time.Now())
	if rest <= 0 || o.closing {
		return true
	}
	if !o.resting {
		o.resting = true
		time.AfterFunc(rest, func() {
			select {
			case o.b.rested <- struct{}{}:
			case <-o.b.closed:
			}
		})
	}
	return false
}

// startBatch forms a batch of questions or passages and runs it in another goroutine, which sends the run to
// Batcher.finished. The caller has acquired the machine's slots for it; if nothing is left to run, startBatch releases
// them.
func (o *owner) startBatch() {
	c := &o.b.config
	r := &run{}
	var j *job
	if o.permitted {
		j = o.nextJobToRun()
	}
	switch {
	case o.hasQuestions() && (j == nil || o.sincePassage < passageEvery):
		if j != nil {
			o.sincePassage++
		}
		r.entries = o.waiting.takeBatch(c.BatchTokens, c.StartTokens, time.Now())
		for _, e := range r.entries {
			e.run = r
			r.live += len(e.callers)
			r.rows = append(r.rows, e.tokens)
		}
	case j != nil:
		budget := c.BusyTokens
		if o.waiting.len() == 0 && c.Machine.isQuiet() {
			budget = min(c.PassageTokens, max(j.shareOfLeft(c.Runs-o.running), smallRuns*c.StartTokens))
		}
		o.sincePassage = 0
		o.nextJob++
		o.passages++
		o.rested[j.tenant] = o.passages
		o.permitted = false
		r.lane, r.job, r.live = Passage, j, 1
		j.takeRows(r, budget)
	default: // everybody has gone while the slots were asked for
		o.releaseCores()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	o.running++
	o.lanes[r.lane]++
	cores := o.lanes[r.lane] * c.Threads
	o.b.counters.count(func(s *Stats) { s.countRun(r.lane, r.rows); s.countBegun(r.lane, cores) })
	go func() {
		began := time.Now()
		r.vectors, r.err = c.Infer(ctx, r.lane, r.rows)
		r.took = time.Since(began)
		if r.err == nil && len(r.vectors) != len(r.rows) {
			r.err = fmt.Errorf("the model gave %d vectors for %d rows", len(r.vectors), len(r.rows))
		}
		o.b.finished <- r
	}()
}

// nextJobToRun returns the job that runs next, and sets nextJob to its index: the next one of the tenant whose last
// batch was longest ago. nil: no job has rows left to run.
func (o *owner) nextJobToRun() (next *job) {
	at := 0
	for i := range o.jobs {
		n := (o.nextJob + i) % len(o.jobs)
		j := o.jobs[n]
		if j.hasWaitingRows() && (next == nil || o.rested[j.tenant] < o.rested[next.tenant]) {
			next, at = j, n
		}
	}
	if next != nil {
		o.nextJob = at
	}
	return next
}

// releaseCores gives back the machine's slots of one run; on another device there are none.
func (o *owner) releaseCores() {
	if c := &o.b.config; c.Threads > 0 {
		c.Machine.releaseSlots(c.Threads)
	}
}

// finishRun ends a run: it releases its cores, and gives the vectors, or the run's error, to the callers of the
// questions or to the job. Vectors of questions are cached.
func (o *owner) finishRun(r *run) {
	o.running--
	o.lanes[r.lane]--
	o.releaseCores()
	r.cancel()
	if r.job != nil {
		if o.b.config.Threads > 0 {
			o.b.config.Machine.givePermitBack(max(r.took, 1))
		}
		r.job.keepVectors(r)
		o.answerJob(r.job)
		return
	}
	o.waiting.chargeTenant(r, o.b.config.Machine)
	for i, e := range r.entries {
		if o.flights[e.key] == e {
			delete(o.flights, e.key)
		}
		if r.err == nil {
			// A copy: the vectors of a run are one piece of memory.
			o.b.cache.put(e.key, slices.Clone(r.vectors[i]))
		}
		for _, q := range e.callers {
			if r.err != nil {
				q.reply <- answer{err: r.err}
				continue
			}
			q.reply <- answer{vector: slices.Clone(r.vectors[i])}
		}
		e.callers = nil
	}
}
