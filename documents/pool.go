package documents

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Worker returns the command of a process that runs Serve on its standard input and output.
type Worker func() *exec.Cmd

// PoolOptions configure a Pool.
type PoolOptions struct {
	Start   Worker
	Workers int           // most processes that read at the same time; less than 1: one
	Idle    time.Duration // how long a process may wait for a file before it is ended; 0: 30 seconds
	// Converters makes files of other formats readable; nil: they are not read.
	Converters *Converters
	OCR        *Recogniser // reads pictures and scanned pages; nil: they are not read
	Grown      int64       // a process whose memory grew by more bytes is ended after its file; 0: 96 MiB
}

const (
	defaultIdle  = 30 * time.Second
	defaultGrown = 96 << 20
)

// Pool keeps the worker processes that read files. A server has one Pool for all its collections. If all processes are
// busy, requests wait in queues, one for each group (such as a collection), and the groups take turns. The methods of a
// Pool are safe for concurrent use.
type Pool struct {
	options PoolOptions

	mu       sync.Mutex
	free     int // how many more processes may read now
	idle     []*worker
	waiting  map[string][]chan struct{} // the queue of each group; a channel is closed when its request may go on
	order    []string                   // groups with a queue, the next one first
	starting chan func()                // to the thread that starts processes; nil: not started yet
	closed   bool

	results *semaphore.Weighted // memory of documents that are read and not stored yet (HoldResults)
}

// NewPool returns a Pool with the defaults of PoolOptions filled in. Its processes are started when there are files
// to read. The caller closes it.
func NewPool(o PoolOptions) *Pool {
	o.Workers = max(o.Workers, 1)
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Grown == 0 {
		o.Grown = defaultGrown
	}
	return &Pool{
		options: o, free: o.Workers, waiting: map[string][]chan struct{}{}, results: semaphore.NewWeighted(heldBytes),
	}
}

// Workers returns the largest number of processes that read at the same time.
func (p *Pool) Workers() int { return p.options.Workers }

// spare returns how many more processes may read now; 0 if requests wait or after Close.
func (p *Pool) spare() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.order) > 0 {
		return 0
	}
	return p.free
}

var errClosed = errors.New("documents: the readers of files are closed")

// Close ends the idle processes at once, and the busy ones after the file that they are reading; it does not wait
// for these. Requests that come later fail. The error is always nil.
func (p *Pool) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.starting != nil {
		close(p.starting)
		p.starting = nil
	}
	p.mu.Unlock()
	for _, w := range idle {
		w.kill()
	}
	return nil
}

// ask waits for the group's turn, sends a request to a process and returns the answer; within HoldResults it also
// waits for memory for the document. The error is an *UnreadableError if the file is to blame and the answer has
// nothing else to tell, ctx's error if ctx ends first (the process is killed then), errClosed after Close, or why
// no process starts. An answer with members or blank pages may have refused set: that is no error.
func (p *Pool) ask(ctx context.Context, group string, r *request) (*answer, error) {
	if err := p.enter(ctx, group); err != nil {
		return nil, err
	}
	defer p.leave()
	w, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	a, err := w.ask(ctx, r)
	if err != nil || a.leaves || a.grown > p.options.Grown {
		w.kill()
	} else {
		p.put(w)
	}
	if err == nil && a.document != nil {
		err = p.holdResult(ctx, a.document)
	}
	if err == nil && a.refused != nil && a.document == nil && len(a.members) == 0 && len(a.blank) == 0 {
		return nil, a.refused
	}
	return a, err
}

// askMany waits for the group's turn, sends several small requests to one process and returns their answers in the
// same order. There must be at least one request, and at most mostAtOnce. Files that are refused are told in their
// answers; an error does not tell which file caused it: ask for each file by itself then.
func (p *Pool) askMany(ctx context.Context, group string, requests []*request) ([]*answer, error) {
	if err := p.enter(ctx, group); err != nil {
		return nil, err
	}
	defer p.leave()
	w, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := w.askMany(ctx, requests)
	if err != nil || answers[len(answers)-1].leaves || answers[len(answers)-1].grown > p.options.Grown {
		w.kill()
	} else {
		p.put(w)
	}
	return answers, err
}

// enter waits until the group may use one more process; groups that wait take turns, and requests of one are served
// in order. The caller calls leave afterwards. It returns errClosed after Close, and ctx's error if ctx ends first;
// leave must not be called then.
func (p *Pool) enter(ctx context.Context, group string) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	if len(p.waiting[group]) == 0 {
		p.order = append(p.order, group)
	}
	p.waiting[group] = append(p.waiting[group], mine)
	p.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	at := slices.Index(p.waiting[group], mine)
	if at >= 0 {
		p.waiting[group] = slices.Delete(p.waiting[group], at, at+1)
		p.forget(group)
	}
	p.mu.Unlock()
	if at < 0 { // its turn had come by then
		p.leave()
	}
	return ctx.Err()
}

// leave gives back the use of a process that enter took. It wakes the caller that waits first in the next group in
// turn; if none waits, the process is free.
func (p *Pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.order) == 0 {
		p.free++
		return
	}
	group := p.order[0]
	p.order = append(p.order[1:], group) // behind the others
	next := p.waiting[group][0]
	p.waiting[group] = p.waiting[group][1:]
	p.forget(group)
	close(next)
}

// forget removes a group whose queue is empty from the turns. The caller holds mu.
func (p *Pool) forget(group string) {
	if len(p.waiting[group]) > 0 {
		return
	}
	delete(p.waiting, group)
	p.order = slices.DeleteFunc(p.order, func(g string) bool { return g == group })
}

// take returns the idle process that was used last, or starts a new one and waits until it is ready. It returns
// errClosed after Close, ctx's error, or why the process did not start. The caller gives the process to put, or
// kills it.
func (p *Pool) take(ctx context.Context) (*worker, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		w.expiry.Stop()
		p.mu.Unlock()
		return w, nil
	}
	if p.starting == nil {
		p.starting = make(chan func())
		go runOnOneThread(p.starting)
	}
	starting := p.starting
	started := make(chan startedWorker, 1)
	p.mu.Unlock()
	if !send(starting, func() {
		w, err := startWorker(p.options.Start)
		started <- startedWorker{w, err}
	}) {
		return nil, errClosed
	}
	s := <-started
	if s.err != nil {
		return nil, s.err
	}
	if err := s.w.await(ctx); err != nil {
		s.w.kill()
		return nil, err
	}
	return s.w, nil
}

// startedWorker is the result of startWorker.
type startedWorker struct {
	w   *worker
	err error
}

// send passes a function to a channel and returns true, as soon as it is received; it returns false if the channel
// is closed, also meanwhile.
func send(to chan<- func(), do func()) (sent bool) {
	defer func() { _ = recover() }() // it was closed meanwhile
	to <- do
	return true
}

// runOnOneThread runs the functions that it receives, all on one thread, until the channel is closed. Linux kills a
// process when the thread that started it ends, so this thread lives as long as its pool.
func runOnOneThread(functions <-chan func()) {
	runtime.LockOSThread() // and ends with it
	for do := range functions {
		do()
	}
}

// put makes a process idle, for the next file, and ends it after PoolOptions.Idle. After Close it ends it at once.
func (p *Pool) put(w *worker) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		w.kill()
		return
	}
	p.idle = append(p.idle, w)
	w.expiry = time.AfterFunc(p.options.Idle, func() { p.expire(w) })
	p.mu.Unlock()
}

// expire kills a process if it is still idle, else it does nothing.
func (p *Pool) expire(w *worker) {
	p.mu.Lock()
	at := slices.Index(p.idle, w)
	if at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		w.kill()
	}
}
