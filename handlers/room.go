package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

// room is the memory that answers may take, in bytes, all together. It is taken
// for an answer before its texts are read and given back when it has been sent.
// Whoever finds none waits, first come first served.
//
// Ordinary answers do not wait for large ones, which leave them a quarter of the room;
// and as long as those who wait have half of all places, others that would have to
// wait with a large answer are refused.
//
// While somebody waits, readers that are too slow give way: those who have taken
// nothing for as long as patience, and those whose answer would take longer than
// sendWithin at the pace so far, the slowest first, as many as it takes. Where nobody
// waits, everyone may read as slowly as the connection's deadline lets them.
type room struct {
	size   int64
	free   *semaphore.Weighted
	large  *semaphore.Weighted // of it, what large answers may take
	places int                 // that large answers may have while they wait
	given  *prometheus.CounterVec

	mu      sync.Mutex
	taken   int64
	wanted  int64 // by those that wait
	waiting int   // places of the large among them
	leaving int64 // of those that were given up and are not gone yet
	sending map[*sending]struct{}
}

// ordinary is the most that an answer takes which is not large.
const ordinary = 2 << 20

// share is what an answer has taken of the room, and whether it counts as large.
type share struct {
	bytes int64
	large bool
}

// sendWithin is how long an answer may take its reader while others wait.
const sendWithin = 10 * time.Second

// newRoom makes room of some bytes, in a server of so many places.
func newRoom(size int64, places int) *room {
	return &room{
		size:    size,
		free:    semaphore.NewWeighted(size),
		large:   semaphore.NewWeighted(size - size/4),
		places:  (places + 1) / 2,
		sending: map[*sending]struct{}{},
		given: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "conclave_answers_given_up_total", Help: "Answers that were broken off because they were read too slowly while others waited: for memory, or for a place.",
		}, []string{"for"}),
	}
}

var (
	errTooLarge = errors.New("the answer is larger than answers may be")
	errCrowded  = errors.New("as many wait as may")
)

// take waits until there is room for so many bytes, for a caller that holds some
// places. The error is the context's, errTooLarge or errCrowded.
func (r *room) take(ctx context.Context, bytes int64, places int) (share, error) {
	s := share{bytes, bytes > ordinary}
	if bytes > r.size || s.large && bytes > r.size-r.size/4 {
		return share{}, errTooLarge
	}
	if r.at(s, func(w *semaphore.Weighted) error {
		if !w.TryAcquire(bytes) {
			return errCrowded
		}
		return nil
	}) == nil {
		return s, nil
	}
	if !s.large {
		places = 0
	}
	crowded := false
	r.locked(func() {
		crowded = s.large && r.waiting > 0 && r.waiting+places > r.places
		if !crowded {
			r.waiting += places
			r.wanted += bytes
		}
	})
	if crowded {
		return share{}, errCrowded
	}
	stop := r.press()
	defer stop()
	defer r.locked(func() {
		r.waiting -= places
		r.wanted -= bytes
	})
	if err := r.at(s, func(w *semaphore.Weighted) error { return w.Acquire(ctx, bytes) }); err != nil {
		return share{}, err
	}
	return s, nil
}

// at takes a share of the room, and a large one of what large answers may take too, or
// nothing.
func (r *room) at(s share, acquire func(*semaphore.Weighted) error) error {
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
	r.locked(func() { r.taken += s.bytes })
	return nil
}

// resize makes a share as large as is needed, if there is room. It does not wait,
// since others may wait for what the caller holds.
func (r *room) resize(s *share, bytes int64) bool {
	change := share{bytes - s.bytes, s.large}
	if change.bytes <= 0 {
		r.giveBack(share{-change.bytes, s.large})
	} else if err := r.at(change, func(w *semaphore.Weighted) error {
		if !w.TryAcquire(change.bytes) {
			return errCrowded
		}
		return nil
	}); err != nil {
		return false
	}
	s.bytes = bytes
	return true
}

func (r *room) giveBack(s share) {
	r.locked(func() { r.taken -= s.bytes })
	r.free.Release(s.bytes)
	if s.large {
		r.large.Release(s.bytes)
	}
}

func (r *room) locked(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// press makes slow readers give way until it is stopped.
func (r *room) press() (stop func()) {
	ended := make(chan struct{})
	go func() {
		again := time.NewTicker(patience / 4) // somebody may be late by then
		defer again.Stop()
		for {
			r.giveUp("memory", func(*sending) bool { return r.leaving < r.wanted })
			select {
			case <-again.C:
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// giveUp breaks off the late answers that which names, the slowest first.
func (r *room) giveUp(what string, which func(*sending) bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var slowest *sending
		for s := range r.sending {
			if s.late(now) > 0 && which(s) && (slowest == nil || s.late(now) > slowest.late(now)) {
				slowest = s
			}
		}
		if slowest == nil {
			return
		}
		slowest.given = true
		r.leaving += slowest.held
		r.given.WithLabelValues(what).Inc()
		// Its write fails, with HTTP/2 too, and with it its handler.
		_ = slowest.control.SetWriteDeadline(now)
	}
}

// sending is one answer on its way to its reader. Its fields are guarded by its room.
type sending struct {
	control      *http.ResponseController
	began, moved time.Time // moved: when some of it was taken last
	bytes, sent  int
	held         int64
	placed       bool // it holds a place while it is sent
	given        bool // up
}

// late returns how many seconds the whole answer will have taken at the pace so far, when
// that is too long; else 0.
func (s *sending) late(now time.Time) float64 {
	took, still := now.Sub(s.began), now.Sub(s.moved)
	whole := took.Seconds() * float64(s.bytes) / float64(max(s.sent, 1))
	switch {
	case s.given || took < patience:
		return 0
	case still < patience && whole < sendWithin.Seconds():
		return 0
	}
	return whole
}

// piece is how much of an answer is written before its pace is looked at.
const piece = 32 << 10

// send writes an answer's text in pieces, so that a slow reader is noticed, and flushes
// it, so that no buffer of the connection or the compression holds bytes that are no
// longer counted. An error says that it could not be written whole.
func (r *room) send(w http.ResponseWriter, text []byte, held int64, placed bool) error {
	now := time.Now()
	s := &sending{
		control: http.NewResponseController(w),
		began:   now,
		moved:   now,
		bytes:   len(text),
		held:    held,
		placed:  placed,
	}
	r.locked(func() { r.sending[s] = struct{}{} })
	defer r.locked(func() {
		delete(r.sending, s)
		if s.given {
			r.leaving -= s.held
		}
	})
	write := func() error {
		for len(text) > 0 {
			n, err := w.Write(text[:min(len(text), piece)])
			if err != nil {
				return err
			}
			text = text[n:]
			r.locked(func() {
				s.sent += n
				s.moved = time.Now()
			})
		}
		return s.control.Flush()
	}
	err := write()
	r.locked(func() {
		if err != nil && s.given {
			err = fmt.Errorf("the answer was read too slowly while others waited: %w", err)
		}
	})
	return err
}

// watch shows the room in /metrics.
func (r *room) watch(m *Metrics) error {
	for _, what := range []string{"memory", "place"} {
		r.given.WithLabelValues(what)
	}
	gauge := func(name, help string, value func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() (v float64) {
			r.locked(func() { v = float64(value()) })
			return v
		})
	}
	return errors.Join(
		m.Register(r.given),
		m.Register(
			gauge("conclave_answer_bytes", "Memory taken for answers that are made or sent.", func() int64 { return r.taken }),
		),
		m.Register(gauge("conclave_answer_wanted_bytes", "Memory that answers wait for.", func() int64 { return r.wanted })),
		m.Register(gauge("conclave_answer_bytes_limit", "Memory that answers may take.", func() int64 { return r.size })),
	)
}

// RoomFor returns the least room for answers in which one that takes so many bytes while it
// is made finds some.
func RoomFor(bytes int64) int64 { return (bytes+compressingBytes)*4/3 + 4 }

// What an answer takes beside its text while it is sent: a goroutine and a connection's
// buffers, and with compression its tables.
const (
	sendingBytes     = 64 << 10
	compressingBytes = sendingBytes + 1<<20
)

// overhead returns what the answer to a request takes beside its text.
func overhead(r *http.Request) int64 {
	if strings.Contains(strings.Join(r.Header.Values("Accept-Encoding"), ","), "gzip") {
		return compressingBytes
	}
	return sendingBytes
}
