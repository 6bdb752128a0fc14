package handlers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

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
	taken, _ = s.api.admission.AnswerMemory.Taken()
	return taken
}

// roomWanted returns what answers wait for now.
func (s *server) roomWanted() (wanted int64) {
	_, wanted = s.api.admission.AnswerMemory.Taken()
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
				t, engineOptions{library: largeAnswers(), limits: search.Limits{Timeout: 10 * time.Second}},
			),
			AnswerMemory: 24 << 20,
			Admission:    admit(t, 40),
		},
		ServeOptions{WriteTimeout: time.Minute, DrainTimeout: 5 * time.Second},
	)
	var open []net.Conn
	// They come again until one waits for memory: where the machine is busy, those who were
	// first may be refused.
	for end := time.Now().Add(5 * time.Minute); s.roomWanted() == 0; time.Sleep(100 * time.Millisecond) {
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
				t, engineOptions{library: largeAnswers(), limits: search.Limits{Timeout: 10 * time.Second}},
			),
			AnswerMemory: 8 << 20,
		},
	)
	if p := s.post(searchPath, largeQuestion).problem(t); p.Code != "answer_too_large" ||
		!strings.Contains(p.Detail, "limits.memory") {
		t.Errorf("%+v", p)
	}
	all := overload.Share{}
	if !s.api.admission.AnswerMemory.Resize(&all, 8<<20) {
		t.Fatal("there is no room in an idle server")
	}
	for _, path := range []string{searchPath, batchPath} {
		// The time has to run out where the answer waits for room: on a busy machine the sources may need all of a
		// short time themselves, so it is doubled until they do not.
		said := ""
		for timeout := 300; timeout < 10_000 && !strings.Contains(said, "limits.memory"); timeout *= 2 {
			body := fmt.Sprintf(`{"question":"bees","timeout_ms":%d}`, timeout)
			if path == batchPath {
				body = `{"searches":[` + body + `]}`
			}
			r := s.post(path, body)
			said = string(r.body)
			if !strings.Contains(said, `"code":"deadline"`) {
				t.Errorf("%s: %d %s", path, r.StatusCode, said)
			}
		}
		if !strings.Contains(said, "limits.memory") {
			t.Errorf("%s does not say that there was no room: %s", path, said)
		}
	}
	s.api.admission.AnswerMemory.GiveBack(all)
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
	time.Sleep(time.Second + time.Second/2)
	for range 5 {
		if r := s.post(searchPath, `{"question":"bees"}`); r.StatusCode != http.StatusOK {
			t.Errorf("%d", r.StatusCode)
		}
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer reply.Response
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Results) != 16 {
		t.Errorf("%d results, %v", len(answer.Results), err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
}

// roomTakenOf returns what an API's answers take now.
func roomTakenOf(a *API) int64 {
	taken, _ := a.admission.AnswerMemory.Taken()
	return taken
}
