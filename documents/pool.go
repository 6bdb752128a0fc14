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

// PoolOptions are the bounds of a Pool.
type PoolOptions struct {
	Start   Worker
	Workers int           // processes that read at the same time; less than 1: one
	Idle    time.Duration // after which a process that reads nothing is ended; 0: half a minute
	// Converters makes files of other formats readable; nil: they are not read.
	Converters *Converters
	OCR        *Recogniser // of pictures and of pages without letters; nil: they are not read
	Grown      int64       // bytes of memory beyond which a process is ended behind its file; 0: 96 MiB
}

const (
	defaultIdle  = 30 * time.Second
	defaultGrown = 96 << 20
)

// Pool keeps the processes that read files. A server has one, whatever number of collections it
// serves: who waits for a process is taken in turn by group, such as a collection. Its methods are
// safe for concurrent use.
type Pool struct {
	options PoolOptions

	mu       sync.Mutex
	free     int // processes that may read beside those that do
	idle     []*worker
	waiting  map[string][]chan struct{} // by group, in their order; closed when one may read
	order    []string                   // groups of which somebody waits, the next one first
	starting chan func()                // run by the thread that starts processes; nil: there is none yet
	closed   bool

	held *semaphore.Weighted // bytes of documents that are not stored yet
}

// NewPool returns a Pool. It starts no process before there is a file to read.
func NewPool(o PoolOptions) *Pool {
	o.Workers = max(o.Workers, 1)
	if o.Idle == 0 {
		o.Idle = defaultIdle
	}
	if o.Grown == 0 {
		o.Grown = defaultGrown
	}
	return &Pool{
		options: o, free: o.Workers, waiting: map[string][]chan struct{}{}, held: semaphore.NewWeighted(heldBytes),
	}
}

// Workers returns how many processes read at the same time, at most.
func (p *Pool) Workers() int { return p.options.Workers }

var errClosed = errors.New("documents: the readers of files are closed")

// Close ends the processes that wait for files. Those that read are ended when they have read.
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

// ask has a request answered by a process of the pool, once it is the group's turn. Errors are
// *UnreadableError where the file is to blame, and ctx's where that ends first: the process that
// reads the file is ended then.
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

// askMany has small requests of a group answered together. After an error each has to be asked by itself.
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

// enter waits until one more process may read, and returns ctx's error when that ends first.
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

// leave lets the next group read in the place of a process that has read.
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

// forget takes a group of which nobody waits out of the order. It expects that mu is held.
func (p *Pool) forget(group string) {
	if len(p.waiting[group]) > 0 {
		return
	}
	delete(p.waiting, group)
	p.order = slices.DeleteFunc(p.order, func(g string) bool { return g == group })
}

// take returns the process that read last, of those that read nothing, or a new one.
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

type startedWorker struct {
	w   *worker
	err error
}

// send reports whether a channel took a value; false where it was closed.
func send(to chan<- func(), do func()) (sent bool) {
	defer func() { _ = recover() }() // it was closed meanwhile
	to <- do
	return true
}

// runOnOneThread runs functions until there are no more. A process ends with the thread that started
// it, where the system can do that, so this one stays as long as its pool.
func runOnOneThread(functions <-chan func()) {
	runtime.LockOSThread() // and ends with it
	for do := range functions {
		do()
	}
}

// put keeps a process for the next file.
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

// expire ends a process that read nothing for a while.
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
