package handlers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
)

// TestRoom: whatever a hundred callers take, keep for a while and take more of, it is
// never more than there is; whoever waits gets room or its time is up; in the end
// everything is free. The clock is the test's.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1000
		r := newRoom(size, 8)
		var mu sync.Mutex
		inUse := int64(0)
		had := 0
		missed := 0
		use := func(bytes int64) {
			mu.Lock()
			defer mu.Unlock()
			inUse += bytes
			if inUse > size || inUse < 0 {
				t.Errorf("%d of %d bytes are in use", inUse, size)
			}
		}
		var all sync.WaitGroup
		for i := range 100 {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			all.Go(func() {
				for range 20 {
					bytes := 1 + rng.Int64N(size/2)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(2000))*time.Millisecond)
					held, err := r.take(ctx, bytes, 1)
					cancel()
					if err != nil {
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
						mu.Lock()
						missed++
						mu.Unlock()
						continue
					}
					use(bytes)
					if other := rng.Int64N(size / 2); other <= bytes {
						use(other - bytes) // before anybody else may have it
						bytes = other
						if !r.resize(&held, bytes) {
							t.Error("no less may be had")
						}
					} else if r.resize(&held, other) {
						use(other - bytes)
						bytes = other
					}
					time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
					use(-bytes)
					r.giveBack(held)
					mu.Lock()
					had++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if had < 200 || missed < 200 {
			t.Errorf("%d had room and %d missed it: the test tries too little", had, missed)
		}
		if _, err := r.take(t.Context(), size, 1); err != nil || r.taken != size || r.wanted != 0 {
			t.Errorf("after all: %v, %d taken and %d wanted", err, r.taken, r.wanted)
		}
		if _, err := r.take(t.Context(), size+1, 1); !errors.Is(err, errTooLarge) {
			t.Errorf("more than there is: %v", err)
		}
	})
}

// TestLargeAnswers leave a quarter of the room and half of the places to others. The
// clock is the test's.
func TestLargeAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(40<<20, 10)
		take := func(bytes int64, places int) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := r.take(ctx, bytes, places)
			return err
		}
		if err := take(31<<20, 1); !errors.Is(err, errTooLarge) {
			t.Errorf("31 of 40 MiB: %v", err)
		}
		if err := take(30<<20, 1); err != nil {
			t.Errorf("30 of 40 MiB: %v", err)
		}
		waited := make(chan error)
		for range 5 {
			go func() { waited <- take(3<<20, 1) }()
		}
		synctest.Wait()
		if err := take(3<<20, 1); !errors.Is(err, errCrowded) {
			t.Errorf("a sixth that would have to wait: %v", err)
		}
		for range 5 {
			if err := take(2<<20, 5); err != nil {
				t.Errorf("an ordinary answer beside large ones: %v", err)
			}
		}
		for range 5 {
			if err := <-waited; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one that waits: %v", err)
			}
		}
		if r.waiting != 0 || r.wanted != 0 || r.taken != 40<<20 {
			t.Errorf("%d places and %d bytes are waited for, %d are taken", r.waiting, r.wanted, r.taken)
		}
	})
}

// TestLate: who takes nothing for a second, or too little, is late; by hand.
func TestLate(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		began, moved time.Duration // ago
		bytes, sent  int
		want         float64
	}{
		{900 * time.Millisecond, 900 * time.Millisecond, 1000, 0, 0}, // its first second
		{time.Second, time.Second, 1000, 0, 1000},
		{2 * time.Second, time.Millisecond, 1000, 300, 0}, // within seven seconds
		{2 * time.Second, time.Millisecond, 1000, 100, 20},
		{2 * time.Second, time.Second, 1000, 500, 4}, // at a stop
	} {
		s := sending{began: now.Add(-c.began), moved: now.Add(-c.moved), bytes: c.bytes, sent: c.sent}
		if got := s.late(now); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// largeAnswers returns a library whose fifty passages "large" have a quarter of a MiB each.
func largeAnswers() *library {
	l := testLibrary()
	l.vectors = map[string][][]float32{}
	for i := range 50 {
		l.passages = append(
			l.passages,
			corpus.Passage{ID: fmt.Sprintf("large%02d", i), Text: strings.Repeat("large words ", 256<<10/12)},
		)
	}
	for _, expert := range []string{"wiki", "health", "plain"} {
		l.vectors[expert] = make([][]float32, len(l.passages))
		for i := range l.passages {
			l.vectors[expert][i] = vectorOf(expert, l.passages[i].ID)
		}
	}
	return l
}

// neverRead asks and reads nothing of the answer.
func (s *server) neverRead(path, body string) net.Conn {
	s.t.Helper()
	return s.drip(
		fmt.Sprintf(
			"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			path,
			len(body),
			body,
		),
	)
}

const searchPath, batchPath = "/v1/search", "/v1/search/batch"

const largeQuestion = `{"question":"large words","k":16,"experts":[],"fusion":"sum","timeout_ms":10000}`

// roomTaken returns what answers take now.
func (s *server) roomTaken() (taken int64) {
	s.api.room.locked(func() { taken = s.api.room.taken })
	return taken
}

// roomWanted returns what answers wait for now.
func (s *server) roomWanted() (wanted int64) {
	s.api.room.locked(func() { wanted = s.api.room.wanted })
	return wanted
}

// TestReadersGiveWay: readers of large answers who read nothing, of searches and of
// batches, take all the memory that there is for answers and all places. Others are
// answered for all that, and what the slow ones took is free when they are gone.
func TestReadersGiveWay(t *testing.T) {
	s := start(
		t,
		Options{
			Engine: testEngine(
				t,
				engineOptions{library: largeAnswers(), limits: search.Limits{Timeout: 10 * time.Second}},
			),
			AnswerMemory: 24 << 20,
			Admission:    admit(t, 40),
		},
		ServeOptions{WriteTimeout: time.Minute, DrainTimeout: 5 * time.Second},
	)
	var open []net.Conn
	// They come again until one waits for memory: where the machine is busy, those who were
	// first may be refused.
	for end := time.Now().Add(time.Minute); s.roomWanted() == 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nobody waits for memory, of which %d bytes are taken", s.roomTaken())
		}
		for range 60 {
			open = append(open, s.neverRead(searchPath, largeQuestion))
		}
		for range 10 {
			open = append(open, s.neverRead(batchPath, `{"searches":[`+largeQuestion+`,`+largeQuestion+`]}`))
		}
	}
	answered := 0
	given := func() bool {
		return !strings.Contains(
			string(s.send(http.MethodGet, "/metrics", "").body),
			`conclave_answers_given_up_total{for="memory"} 0`,
		)
	}
	for end := time.Now().Add(30 * time.Second); (answered < 10 || !given()) &&
		time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		switch r := s.post(searchPath, `{"question":"bees","k":1,"timeout_ms":10000}`); r.StatusCode {
		case http.StatusOK:
			answered++
		case http.StatusTooManyRequests: // a place is free a moment later
			time.Sleep(time.Second)
		default:
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	if answered < 10 {
		t.Errorf("%d of 10 others were answered within half a minute", answered)
	}
	if !given() {
		t.Error("nobody gave way")
	}
	for _, c := range open {
		_ = c.Close()
	}
	s.untilIdle()
	if taken := s.roomTaken(); taken != 0 {
		t.Errorf("%d bytes are taken, and nobody is left", taken)
	}
}

// TestAnswerAboveMemory: one that all the memory for answers does not hold is refused
// at once, and one for which none comes free in time ends with its deadline.
func TestAnswerAboveMemory(t *testing.T) {
	s := start(
		t,
		Options{
			Engine: testEngine(
				t,
				engineOptions{library: largeAnswers(), limits: search.Limits{Timeout: 10 * time.Second}},
			),
			AnswerMemory: 8 << 20,
		},
	)
	if p := s.post(searchPath, largeQuestion).problem(t); p.Code != "answer_too_large" ||
		!strings.Contains(p.Detail, "limits.memory") {
		t.Errorf("%+v", p)
	}
	all := share{}
	if !s.api.room.resize(&all, 8<<20) {
		t.Fatal("there is no room in an idle server")
	}
	for _, path := range []string{searchPath, batchPath} {
		body := `{"question":"bees","timeout_ms":300}`
		if path == batchPath {
			body = `{"searches":[` + body + `]}`
		}
		if r := s.post(path, body); !strings.Contains(string(r.body), `"code":"deadline"`) ||
			!strings.Contains(string(r.body), "limits.memory") {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	s.api.room.giveBack(all)
	if r := s.post(searchPath, `{"question":"bees"}`); r.StatusCode != http.StatusOK {
		t.Errorf("with room again: %d", r.StatusCode)
	}
}

// TestNobodyWaits: while there is room, a reader may be slow.
func TestNobodyWaits(t *testing.T) {
	s := start(
		t,
		Options{
			Engine: testEngine(t, engineOptions{library: largeAnswers(), limits: search.Limits{Timeout: 10 * time.Second}}),
		},
		ServeOptions{WriteTimeout: time.Minute, DrainTimeout: 5 * time.Second},
	)
	c := s.neverRead(searchPath, largeQuestion)
	for s.roomTaken() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(patience + patience/2)
	for range 5 {
		if r := s.post(searchPath, `{"question":"bees"}`); r.StatusCode != http.StatusOK {
			t.Errorf("%d", r.StatusCode)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer search.Response
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Results) != 16 {
		t.Errorf("%d results, %v", len(answer.Results), err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
}
