package overload

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

// AnswerMemory is the memory that answers may take, in bytes, all together. It is taken
// for an answer before its texts are read and given back when it has been sent.
// Whoever finds none waits, first come first served.
//
// Ordinary answers do not wait for large ones, which leave them a quarter of the room;
// and as long as those who wait have half of all places, others that would have to
// wait with a large answer are refused.
//
// While somebody waits, readers that are too slow give way: those who have taken
// nothing for as long as patience, and those whose answer would take longer than
// SendWithin at the pace so far, the slowest first, as many as it takes. Where nobody
// waits, everyone may read as slowly as the connection's deadline lets them.
type AnswerMemory struct {
	size    int64
	free    *semaphore.Weighted
	large   *semaphore.Weighted // of it, what large answers may take
	places  int                 // that large answers may have while they wait
	cutOffs *prometheus.CounterVec

	mu      sync.Mutex
	taken   int64
	wanted  int64 // by those that wait
	waiting int   // places of the large among them
	leaving int64 // of those that were given up and are not gone yet
	sending map[*transfer]struct{}
}

// ordinaryBytes is the greatest size of an ordinary answer; answers that take more are large.
const ordinaryBytes = 2 << 20

// Share is the part of an AnswerMemory that one answer has taken, and whether it counts as a large answer.
type Share struct {
	bytes int64
	large bool
}

// Bytes returns how many bytes the share has.
func (s Share) Bytes() int64 { return s.bytes }

// SendWithin is how long sending an answer may take while others wait for memory or a place.
const SendWithin = 10 * time.Second

// NewAnswerMemory returns a memory of size bytes, all free, for a server that admits at most this many places
// (requests' costs) at a time. Large answers may take three quarters of it.
func NewAnswerMemory(size int64, places int) *AnswerMemory {
	return &AnswerMemory{
		size:    size,
		free:    semaphore.NewWeighted(size),
		large:   semaphore.NewWeighted(size - size/4),
		places:  (places + 1) / 2,
		sending: map[*transfer]struct{}{},
		cutOffs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_answers_given_up_total", Help: "Answers that were broken off because they were read too slowly while others waited: for memory, or for a place.",
		}, []string{"for"}),
	}
}

var (
	ErrTooLarge = errors.New("the answer is larger than answers may be")
	ErrCrowded  = errors.New("as many requests wait as may")
)

// Take waits until so many bytes are free and takes them; GiveBack returns them. places is what the caller holds of
// the server's admission while it waits. It returns ErrTooLarge if an answer may never have so much, ErrCrowded
// without waiting if large answers that wait hold half of all places, or ctx's error. While it waits, it cuts off
// readers that are too slow.
func (r *AnswerMemory) Take(ctx context.Context, bytes int64, places int) (Share, error) {
	s := Share{bytes, bytes > ordinaryBytes}
	if bytes > r.size || s.large && bytes > r.size-r.size/4 {
		return Share{}, ErrTooLarge
	}
	if r.acquireShare(s, func(w *semaphore.Weighted) error {
		if !w.TryAcquire(bytes) {
			return ErrCrowded
		}
		return nil
	}) == nil {
		return s, nil
	}
	if !s.large {
		places = 0
	}
	crowded := false
	r.withLock(func() {
		crowded = s.large && r.waiting > 0 && r.waiting+places > r.places
		if !crowded {
			r.waiting += places
			r.wanted += bytes
		}
	})
	if crowded {
		return Share{}, ErrCrowded
	}
	stop := r.evictSlow()
	defer stop()
	defer r.withLock(func() {
		r.waiting -= places
		r.wanted -= bytes
	})
	if err := r.acquireShare(s, func(w *semaphore.Weighted) error { return w.Acquire(ctx, bytes) }); err != nil {
		return Share{}, err
	}
	return s, nil
}

// acquireShare takes the bytes of s with acquire, from the whole memory and, if s is large, from the part for large
// answers. It takes nothing if acquire returns an error, which it returns.
func (r *AnswerMemory) acquireShare(s Share, acquire func(*semaphore.Weighted) error) error {
	if s.large {
		if err := acquire(r.large); err != nil {
			return err
		}
	}
	if err := acquire(r.free); err != nil {
		if s.large {
			r.large.Release(s.bytes)
		}
		return err
	}
	r.withLock(func() { r.taken += s.bytes })
	return nil
}

// Resize changes a share, and s, to this many bytes. It returns false, without waiting, if a larger share needs
// more than is free: the share then stays as it is. It does not wait because others may wait for what the caller
// holds.
func (r *AnswerMemory) Resize(s *Share, bytes int64) bool {
	change := Share{bytes - s.bytes, s.large}
	if change.bytes <= 0 {
		r.GiveBack(Share{-change.bytes, s.large})
	} else if err := r.acquireShare(change, func(w *semaphore.Weighted) error {
		if !w.TryAcquire(change.bytes) {
			return ErrCrowded
		}
		return nil
	}); err != nil {
		return false
	}
	s.bytes = bytes
	return true
}

// GiveBack frees the bytes of a share. Call it once for each share that Take returned.
func (r *AnswerMemory) GiveBack(s Share) {
	r.withLock(func() { r.taken -= s.bytes })
	r.free.Release(s.bytes)
	if s.large {
		r.large.Release(s.bytes)
	}
}

// withLock calls do with r.mu held.
func (r *AnswerMemory) withLock(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// evictSlow starts a goroutine that cuts off the slowest readers, again and again, until as much memory is being freed
// as callers wait for. stop ends it.
func (r *AnswerMemory) evictSlow() (stop func()) {
	ended := make(chan struct{})
	go func() {
		again := time.NewTicker(patience / 4) // somebody may be late by then
		defer again.Stop()
		for {
			r.cutOff("memory", func(*transfer) bool { return r.leaving < r.wanted })
			select {
			case <-again.C:
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// cutOff ends overdue transfers, the slowest first, until `which` returns false for all that are left. It lets
// their write deadline pass, so that their Send fails, and counts them in the metric. what is the label of the
// metric ("memory" or "place"). which is called with mu held.
func (r *AnswerMemory) cutOff(what string, which func(*transfer) bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var slowest *transfer
		for s := range r.sending {
			if s.overdueSeconds(now) > 0 && which(s) && (slowest == nil ||
				s.overdueSeconds(now) > slowest.overdueSeconds(now)) {
				slowest = s
			}
		}
		if slowest == nil {
			return
		}
		slowest.cut = true
		r.leaving += slowest.memory
		r.cutOffs.WithLabelValues(what).Inc()
		// Its write fails, with HTTP/2 too, and with it its handler.
		_ = slowest.control.SetWriteDeadline(now)
	}
}

// transfer is an answer that is being sent. Its fields are guarded by AnswerMemory.mu.
type transfer struct {
	control      *http.ResponseController
	began, moved time.Time // moved: when some of it was taken last
	bytes, sent  int
	memory       int64
	placed       bool // it holds a place while it is sent
	cut          bool // up
}

// overdueSeconds returns how many seconds the whole answer will take at the pace so far, as a measure of how slow its
// reader is. It returns 0 in the first patience, for a transfer that was cut off, and for a reader that took bytes
// within patience and will be done in SendWithin.
func (s *transfer) overdueSeconds(now time.Time) float64 {
	took, idle := now.Sub(s.began), now.Sub(s.moved)
	whole := took.Seconds() * float64(s.bytes) / float64(max(s.sent, 1))
	switch {
	case s.cut || took < patience:
		return 0
	case idle < patience && whole < SendWithin.Seconds():
		return 0
	}
	return whole
}

// pieceBytes is how much of an answer is written between two updates of its pace.
const pieceBytes = 32 << 10

// Send writes an answer's text in pieces and flushes it. memory is how many bytes of memory the answer takes, and
// placed whether it keeps its place while it is sent. It returns a *SlowError if the transfer was cut off because
// others waited, or the error of the write. Flushing keeps the buffers of the connection and the compression from
// holding bytes that are no longer counted.
func (r *AnswerMemory) Send(w http.ResponseWriter, text []byte, memory int64, placed bool) error {
	now := time.Now()
	s := &transfer{
		control: http.NewResponseController(w),
		began:   now,
		moved:   now,
		bytes:   len(text),
		memory:  memory,
		placed:  placed,
	}
	r.withLock(func() { r.sending[s] = struct{}{} })
	defer r.withLock(func() {
		delete(r.sending, s)
		if s.cut {
			r.leaving -= s.memory
		}
	})
	write := func() error {
		for len(text) > 0 {
			n, err := w.Write(text[:min(len(text), pieceBytes)])
			if err != nil {
				return err
			}
			text = text[n:]
			r.withLock(func() {
				s.sent += n
				s.moved = time.Now()
			})
		}
		return s.control.Flush()
	}
	err := write()
	r.withLock(func() {
		if err != nil && s.cut {
			err = &SlowError{"the answer was read too slowly while others waited", err}
		}
	})
	return err
}

// GiveUpPlaces cuts off the overdue transfers that keep a place while they are sent.
func (r *AnswerMemory) GiveUpPlaces() {
	r.cutOff("place", func(s *transfer) bool { return s.placed })
}

// Taken returns how many bytes answers have taken, and how many more callers of Take wait for.
func (r *AnswerMemory) Taken() (taken, wanted int64) {
	r.withLock(func() { taken, wanted = r.taken, r.wanted })
	return taken, wanted
}

// Collectors returns the Prometheus metrics of the memory.
func (r *AnswerMemory) Collectors() []prometheus.Collector {
	for _, what := range []string{"memory", "place"} {
		r.cutOffs.WithLabelValues(what)
	}
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			r.withLock(func() { v = float64(value()) })
			return v
		})
	}
	return []prometheus.Collector{
		r.cutOffs,
		gauge(
			"conclave_answer_bytes", "Memory taken for answers that are made or sent.", func() int64 { return r.taken },
		),
		gauge("conclave_answer_wanted_bytes", "Memory that answers wait for.", func() int64 { return r.wanted }),
		gauge("conclave_answer_bytes_limit", "Memory that answers may take.", func() int64 { return r.size }),
	}
}

// RoomFor returns the smallest size of an AnswerMemory in which an answer that takes so many bytes while it is made,
// and is compressed, still fits.
func RoomFor(bytes int64) int64 { return (bytes+compressingBytes)*4/3 + 4 }

// What an answer takes beside its text while it is sent: a goroutine and a connection's
// buffers, and with compression its tables.
const (
	sendingBytes     = 64 << 10
	compressingBytes = sendingBytes + 1<<20
)

// Overhead returns how many bytes of memory the answer to a request takes in addition to its text: more if the
// client accepts gzip.
func Overhead(r *http.Request) int64 {
	if strings.Contains(strings.Join(r.Header.Values("Accept-Encoding"), ","), "gzip") {
		return compressingBytes
	}
	return sendingBytes
}
