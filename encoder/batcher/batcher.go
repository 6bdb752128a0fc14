// Package batcher brings concurrent requests for one model together into
// batches.
//
// One goroutine owns the queue. Questions wait while the model runs. When a run
// ends, the next batch is formed of what waits. So batches grow with the load, and a
// question that finds the model idle is run at once and alone. There is no timer.
//
// Words used here: a row is one sequence of token ids; a batch is the rows of
// one run, padded to the longest; an entry is a question in the queue, shared
// by all callers of one tenant that asked it; a job is one call for the vectors of
// many passages, cut into batches as they run. Questions go first; jobs get
// every eighth run at most when questions keep coming, small batches then, and
// half of the cores for half of the time (Machine).
package batcher

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"example.org/conclave/internal/identity"
)

// Lane says which encoder of a pair a batch is for.
type Lane int

// The lanes. Where question and passage share a model it is the same session.
const (
	Question Lane = iota
	Passage
)

// Infer computes the vectors of rows, in their order. It returns early when
// ctx ends, with any error. Rows are not empty and there is at least one.
type Infer func(ctx context.Context, lane Lane, rows [][]int32) ([][]float32, error)

// Config says how batches are formed. Every number must be set.
type Config struct {
	Infer   Infer
	Machine *Machine // shared by all batchers of the process

	Threads       int // cores that a run occupies; 0 where it runs on another device
	Runs          int // runs of this model at a time, at least 1
	Queue         int // questions that may wait, and calls for passages; more are refused
	BatchTokens   int // padded tokens in a batch of questions
	PassageTokens int // padded tokens in a batch of passages while no questions come
	BusyTokens    int // padded tokens in a batch of passages while questions come
	StartTokens   int // what a run costs beyond its tokens, in tokens; see runCost
	Cache         int // vectors of questions to remember, of whatever lengths
	CacheNumbers  int // and how many numbers they may have together; 0: any
}

// Batcher is safe for concurrent use. Close it to end its goroutine.
type Batcher struct {
	config   Config
	cache    *vectorCache
	counters counters

	questions chan *question
	jobs      chan *job
	left      chan *question
	dropped   chan *job
	granted   chan struct{} // slots of the machine, asked for in the background
	permits   chan struct{} // the machine's, for a run of passages
	finished  chan *run
	rested    chan struct{} // a tenant has rested (waiting.restTime)

	stop     chan struct{} // closed by Close
	stopOnce sync.Once
	closed   chan struct{} // closed when the owner has ended
}

// question is one caller's request. The owner sets entry.
type question struct {
	key    string
	tenant string
	tokens []int32
	reply  chan answer // buffered, so that the owner never waits for a caller
	entry  *entry
}

// answer is the result of a question: its vector, or err.
type answer struct {
	vector []float32
	err    error
}

// New returns a Batcher and starts its goroutine; c must be complete. Close ends it.
func New(c Config) *Batcher {
	b := &Batcher{
		config:    c,
		cache:     newVectorCache(c.Cache, c.CacheNumbers),
		questions: make(chan *question),
		jobs:      make(chan *job),
		left:      make(chan *question),
		dropped:   make(chan *job),
		granted:   make(chan struct{}),
		permits:   make(chan struct{}),
		finished:  make(chan *run),
		rested:    make(chan struct{}),
		stop:      make(chan struct{}),
		closed:    make(chan struct{}),
	}
	o := &owner{b: b, flights: make(map[string]*entry), rested: make(map[string]uint64)}
	go o.runLoop()
	return b
}

// Question returns the vector of a question given as token ids, which must not be empty or change. It waits for a
// run of the model, unless the vector is cached. The vector is the caller's own. Results are cached and shared
// within one tenant (identity.Of(ctx).Name) only, so that the response time does not reveal the questions of
// another tenant. The error is ctx's if that ends first, ErrClosed, an *OverloadedError, or Infer's.
func (b *Batcher) Question(ctx context.Context, tokens []int32) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.counters.count(func(s *Stats) { s.Questions++ })
	whose := identity.Of(ctx).Name
	b.config.Machine.noteQuestion(whose)
	key := keyOf(whose, tokens)
	if vector, ok := b.cache.get(key); ok {
		b.counters.count(func(s *Stats) { s.Hits++ })
		return slices.Clone(vector), nil
	}
	q := &question{key: key, tenant: whose, tokens: tokens, reply: make(chan answer, 1)}
	select {
	case b.questions <- q:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.closed:
		return nil, ErrClosed
	}
	select {
	case a := <-q.reply:
		return a.vector, a.err
	case <-ctx.Done():
	}
	select {
	case b.left <- q:
	case <-b.closed:
	}
	return nil, ctx.Err()
}

// keyOf returns the cache key of a question's tokens for the tenant of this name. For the tenant "" it is the
// memory of tokens, not a copy, so tokens must not change. For others it is a copy followed by the tenant's name
// and its length, so that no two tenants share a key.
func keyOf(name string, tokens []int32) string {
	key := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(tokens))), 4*len(tokens))
	if name == "" {
		return key
	}
	return key + name + string(binary.LittleEndian.AppendUint32(nil, uint32(len(name))))
}

// Passages returns the vectors of rows, in their order; nil if there are no rows. No row may be empty. Errors are as
// for Question. If ctx ends, its runs under way are canceled.
func (b *Batcher) Passages(ctx context.Context, rows [][]int32) ([][]float32, error) {
	if err := ctx.Err(); err != nil || len(rows) == 0 {
		return nil, err
	}
	j := newJob(identity.Of(ctx).Name, rows)
	select {
	case b.jobs <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.closed:
		return nil, ErrClosed
	}
	select {
	case err := <-j.reply:
		if err != nil {
			return nil, err
		}
		return j.vectors, nil
	case <-ctx.Done():
	}
	select {
	case b.dropped <- j:
	case <-b.closed:
	}
	return nil, ctx.Err()
}

// Close refuses new work, answers the questions that wait, and ends calls of Passages with ErrClosed after the batch
// that runs. It returns when the batcher's goroutines have ended. It may be called again.
func (b *Batcher) Close() {
	b.stopOnce.Do(func() { close(b.stop) })
	<-b.closed
}

// ErrClosed answers work that comes after Close.
var ErrClosed = errors.New("the encoder is closed")

// OverloadedError answers work that finds the queue full. Nothing was done
// for it; trying again a moment later may succeed.
type OverloadedError struct {
	What  string // "questions" or "requests for passages"
	Limit int
}

// Error says which queue is full and to try again in a moment.
func (e *OverloadedError) Error() string {
	return fmt.Sprintf(
		"the encoder's queue is full: %d %s are waiting, which is the limit; try again in a moment", e.Limit, e.What,
	)
}

// Overloaded returns true. Callers that must not import this package find the method with errors.As and an
// interface, and so tell a full queue from other errors.
func (e *OverloadedError) Overloaded() bool { return true }
