package endtoend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is what writers know of the passages: what was acknowledged, and what
// was sent and not answered. A passage has a number, 0 is deleted.
type ledger struct {
	mu           sync.Mutex
	acknowledged map[string]int
	begun        map[string][]int // in the order in which they were sent
	answers      int
}

func (l *ledger) begin(id string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[id] = append(l.begun[id], n)
}

// done notes that the oldest change of a passage that was not answered is
// durable, and with it those that came before.
func (l *ledger) done(id string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged[id] = n
	l.answers++
	if waiting := l.begun[id]; len(waiting) > 1 {
		l.begun[id] = waiting[1:]
	} else {
		delete(l.begun, id)
	}
}

// settle compares what is there with what may be, and remembers it. is is the
// passage's number.
func (l *ledger) settle(id string, is int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fine := is == l.acknowledged[id]
	for _, n := range l.begun[id] {
		fine = fine || n == is
	}
	if !fine {
		return fmt.Errorf("%s is %d; acknowledged was %d, and sent after that %v", id, is, l.acknowledged[id], l.begun[id])
	}
	l.acknowledged[id] = is
	delete(l.begun, id)
	return nil
}

func (l *ledger) ids() (ids []string) {
	for id := range l.acknowledged {
		ids = append(ids, id)
	}
	for id := range l.begun {
		if _, both := l.acknowledged[id]; !both {
			ids = append(ids, id)
		}
	}
	return ids
}

// textOf returns the text of a passage with a number. No other number has its last
// word.
func textOf(n int) string { return fmt.Sprintf("a text of the word%d number%d", n%7, n) }

func numberOf(text string) int {
	n := 0
	_, _ = fmt.Sscanf(text[strings.LastIndex(text, " ")+1:], "number%d", &n)
	return n
}

// The three kinds of writers have ids of their own, some of them with
// characters that need care. Each ends when the server does.

func putter(p *process, l *ledger, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 1))
	for {
		id := fmt.Sprintf("put/%d é", rng.IntN(25))
		path := "/v1/passages/" + url.PathEscape(id)
		if rng.IntN(10) == 0 {
			path += "?refresh=wait"
		}
		n := 1 + rng.IntN(1_000_000)
		method := http.MethodPut
		body := ""
		if rng.IntN(3) == 0 {
			n = 0
			method = http.MethodDelete
		} else {
			body = fmt.Sprintf(`{"text":%q}`, textOf(n))
		}
		l.begin(id, n)
		status, answer, err := p.send(method, path, body)
		switch {
		case err != nil:
			return errStopped
		case status == http.StatusOK,
			status == http.StatusCreated,
			status == http.StatusNotFound && method == http.MethodDelete:
			l.done(id, n)
		default:
			return fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		}
	}
}

// streamer sends lines and reads their answers at the same time.
func streamer(p *process, l *ledger, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 2))
	in, out := io.Pipe()
	var mu sync.Mutex
	sent := map[int][2]string{} // by line: id and number
	window, ended, sender := make(chan struct{}, 30), make(chan struct{}), make(chan struct{})
	defer func() { <-sender }() // it writes into the ledger, which is read when all have ended
	defer close(ended)
	go func() {
		defer close(sender)
		for line := 1; ; line++ {
			select {
			case window <- struct{}{}:
			case <-ended:
				return
			case err := <-p.done: // the server was killed before it answered: Do returns when the body has ended
				p.done <- err
				_ = out.CloseWithError(errStopped)
				return
			}
			id := fmt.Sprintf("stream/%d", rng.IntN(25))
			n := 1 + rng.IntN(1_000_000)
			mu.Lock()
			sent[line] = [2]string{id, strconv.Itoa(n)}
			mu.Unlock()
			l.begin(id, n)
			if _, err := fmt.Fprintf(out, "{\"id\":%q,\"text\":%q}\n", id, textOf(n)); err != nil {
				return
			}
		}
	}()
	defer func() { _ = in.CloseWithError(errStopped) }()
	request, err := http.NewRequest(http.MethodPost, p.url+"/v1/passages?stream=true", in)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	response, err := p.client.Do(request)
	if err != nil {
		return errStopped
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		var a struct {
			Line   int
			ID     string
			Status string
			Error  any
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			break // cut off by the kill
		}
		if a.Error != nil || a.Status == "" {
			return fmt.Errorf("the answer %s", lines.Bytes())
		}
		mu.Lock()
		was := sent[a.Line]
		delete(sent, a.Line)
		mu.Unlock()
		n, _ := strconv.Atoi(was[1])
		if was[0] != a.ID {
			return fmt.Errorf("line %d is %s, and was sent as %s", a.Line, a.ID, was[0])
		}
		l.done(a.ID, n)
		<-window
	}
	return errStopped
}

// bulker sends uploads of some lines, the ids of each all different.
func bulker(p *process, l *ledger, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	for {
		var body strings.Builder
		numbers := map[string]int{}
		for i := range 1 + rng.IntN(40) {
			id := fmt.Sprintf("bulk/%d", i)
			n := 1 + rng.IntN(1_000_000)
			numbers[id] = n
			l.begin(id, n)
			fmt.Fprintf(&body, "{\"id\":%q,\"text\":%q}\n", id, textOf(n))
		}
		status, answer, err := p.send(http.MethodPost, "/v1/passages", body.String())
		if err != nil {
			return errStopped
		}
		if status != http.StatusOK || strings.Count(string(answer), "\n") != len(numbers) ||
			strings.Contains(string(answer), "error") {
			return fmt.Errorf("an upload: %d %s", status, answer)
		}
		for id, n := range numbers {
			l.done(id, n)
		}
	}
}

// TestServerKilled kills a server under write load at random instants. After
// each kill the collection is verified, and the next server has every
// acknowledged passage, by its id, by its words and by its vector, and no
// deleted one.
func TestServerKilled(t *testing.T) {
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("CONCLAVE_TEST_KILLS")); err == nil {
		kills = n
	}
	const seed = 20261121
	rng := rand.New(rand.NewPCG(seed, 6))
	s := newSite(
		t,
		"ingest: {flush_after: 3ms, flush_passages: 60}\nlog: {level: warn}\n",
		[]string{"small"},
		"small",
		`{"id":"first","text":"`+textOf(1)+"\"}\n",
	)
	l := &ledger{acknowledged: map[string]int{"first": 1}, begun: map[string][]int{}}
	generation := uint64(0)
	undecided := 0
	for kill := 0; ; kill++ {
		p := s.serve("")
		p.visible()
		checkAfterKill(t, kill, p, l)
		if kill == kills {
			var health struct{ Generation uint64 }
			p.get(http.MethodGet, "/readyz", "", http.StatusOK, &health)
			generation = health.Generation
			p.stop()
			break
		}
		failed := make(chan error, 3)
		for i, work := range []func(*process, *ledger, uint64) error{putter, streamer, bulker} {
			go func() { failed <- work(p, l, uint64(10*kill+i)) }()
		}
		time.Sleep(time.Duration(20+rng.IntN(400)) * time.Millisecond)
		p.kill()
		for range 3 {
			if err := <-failed; err != errStopped {
				t.Fatalf("kill %d: %v\n%s", kill, err, p.log.String())
			}
		}
		if !p.killed() {
			t.Fatalf("kill %d: the server ended by itself: %v\n%s", kill, p.cmd.ProcessState, p.log.String())
		}
		undecided += len(l.begun)
		s.command("verify", "--collection", "c")
	}
	t.Logf(
		"%d kills (seed %d): %d changes acknowledged, %d passages undecided when killed, generation %d",
		kills,
		seed,
		l.answers,
		undecided,
		generation,
	)
	if l.answers < 20*kills || generation < uint64(kills) {
		t.Errorf("only %d changes were acknowledged in %d generations", l.answers, generation)
	}
}

func checkAfterKill(t *testing.T, kill int, p *process, l *ledger) {
	t.Helper()
	byVector := p.search("a text", "small")
	byWord := p.search("text", "")
	live := 0
	for _, id := range l.ids() {
		var passage struct{ Text string }
		is := 0
		status, answer, err := p.send(http.MethodGet, "/v1/passages/"+url.PathEscape(id), "")
		switch {
		case err != nil:
			t.Fatalf("kill %d: %v", kill, err)
		case status == http.StatusOK:
			if err := json.Unmarshal(answer, &passage); err != nil {
				t.Fatal(err)
			}
			is = numberOf(passage.Text)
			live++
		case status != http.StatusNotFound:
			t.Fatalf("kill %d: %s: %d %s", kill, id, status, answer)
		}
		if err := l.settle(id, is); err != nil {
			t.Errorf("kill %d: %v", kill, err)
		}
		for how, found := range map[string]map[string]string{"vector": byVector, "word": byWord} {
			text, there := found[id]
			if there != (is != 0) || there && text != passage.Text {
				t.Errorf("kill %d: %s is %d, and the search by its %s finds %q", kill, id, is, how, text)
			}
		}
	}
	if len(byVector) != live || len(byWord) != live {
		t.Errorf(
			"kill %d: %d passages are there; searches find %d by vectors and %d by words",
			kill,
			live,
			len(byVector),
			len(byWord),
		)
	}
	if t.Failed() {
		t.FailNow()
	}
}
