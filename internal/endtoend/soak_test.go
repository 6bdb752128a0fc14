package endtoend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/jobs"
)

// TestSoak lets writers, readers, snapshots, jobs and floods of connections work
// on one server that has few file descriptors. Memory, goroutines and open files
// must be as flat in the last quarter of the run as in the second, the server
// must answer to the end, and nothing that was acknowledged may be lost.
//
//	CONCLAVE_TEST_SOAK=30m go test ./internal/endtoend -run TestSoak -v -timeout 40m
func TestSoak(t *testing.T) {
	length := 4 * time.Second
	if d, err := time.ParseDuration(os.Getenv("CONCLAVE_TEST_SOAK")); err == nil {
		length = d
	}
	const seed = 20261122
	var lines strings.Builder
	for i := range 200 {
		fmt.Fprintf(&lines, "{\"id\":\"old/%d\",\"text\":%q}\n", i, textOf(i+1))
	}
	s := newSite(
		t, "ingest: {flush_after: 200ms}\nlog: {level: error}\n", []string{"small", "other"}, "small", lines.String(),
	)
	p := s.serve("ulimit -n 256;")
	l := &ledger{acknowledged: map[string]int{}, begun: map[string][]int{}}
	for i := range 200 {
		l.acknowledged[fmt.Sprintf("old/%d", i)] = i + 1
	}

	work := soak{p: p, ledger: l, ended: make(chan struct{}), counts: map[string]int{}}
	var running sync.WaitGroup
	for i, do := range []func(*rand.Rand) error{work.writes("a"), work.writes("b"), work.upload, work.search,
		work.search, work.snapshot, work.job, work.flood} {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		running.Go(func() {
			if err := work.repeat(rng, do); err != nil {
				t.Error(err)
			}
		})
	}
	var samples []sample
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); time.Sleep(length / 200) {
		at, err := p.sample()
		if err != nil {
			t.Error(err)
			break
		}
		samples = append(samples, at)
	}
	close(work.ended)
	running.Wait()
	if t.Failed() {
		t.Fatal(p.log.String())
	}
	p.visible()
	checkAfterKill(t, 0, p, l)
	p.stop()
	s.command("verify", "--collection", "c")

	t.Logf("%v (seed %d): %v", length, seed, work.counts)
	quarter := len(samples) / 4
	before, after := medians(samples[quarter:2*quarter]), medians(samples[3*quarter:])
	t.Logf("medians of the second and the last quarter: %v, %v", before, after)
	if length < time.Minute {
		return // too short to say anything of growth
	}
	for name, room := range map[string]float64{"resident MiB": 16, "goroutines": 20, "open files": 20} {
		if was, is := before[name], after[name]; is > was*1.1+room {
			t.Errorf("%s grew from %v to %v", name, was, is)
		}
	}
}

// soak is what works on the server; each kind of work paces itself, so that all
// of them find room on two processors.
type soak struct {
	p      *process
	ledger *ledger
	ended  chan struct{}

	mu     sync.Mutex
	counts map[string]int
}

func (w *soak) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

func (w *soak) repeat(rng *rand.Rand, do func(*rand.Rand) error) error {
	for {
		select {
		case <-w.ended:
			return nil
		default:
		}
		if err := do(rng); err != nil {
			return err
		}
	}
}

// writes puts or deletes passages of its own, one of 300 each time. Changes of one
// passage must not be under way together: nobody could say which came last.
func (w *soak) writes(prefix string) func(*rand.Rand) error {
	return func(rng *rand.Rand) error {
		id := fmt.Sprintf("%s/%d", prefix, rng.IntN(300))
		n := 1 + rng.IntN(1_000_000)
		method := http.MethodPut
		body := ""
		if rng.IntN(3) == 0 {
			n = 0
			method = http.MethodDelete
		} else {
			body = fmt.Sprintf(`{"text":%q}`, textOf(n))
		}
		w.ledger.begin(id, n)
		status, answer, err := w.p.send(method, "/v1/passages/"+url.PathEscape(id), body)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, id, err)
		}
		if status/100 != 2 && (status != http.StatusNotFound || method != http.MethodDelete) {
			return fmt.Errorf("%s %s: %d %s", method, id, status, answer)
		}
		w.ledger.done(id, n)
		w.count(method)
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		return nil
	}
}

// upload replaces the hundred passages bulk/0 to bulk/99 at once, notes it in the ledger, and pauses a little. It fails
// if the server refuses one of them; the ledger has them as begun then. Uploads must not be under way together.
func (w *soak) upload(rng *rand.Rand) error {
	var body strings.Builder
	numbers := map[string]int{}
	for i := range 100 {
		id := fmt.Sprintf("bulk/%d", i)
		n := 1 + rng.IntN(1_000_000)
		numbers[id] = n
		w.ledger.begin(id, n)
		fmt.Fprintf(&body, "{\"id\":%q,\"text\":%q}\n", id, textOf(n))
	}
	status, answer, err := w.p.send(http.MethodPost, "/v1/passages", body.String())
	if err != nil || status != http.StatusOK || strings.Contains(string(answer), "error") {
		return fmt.Errorf("an upload: %d %v %.300s", status, err, answer)
	}
	for id, n := range numbers {
		w.ledger.done(id, n)
	}
	w.count("uploads")
	time.Sleep(time.Duration(100+rng.IntN(300)) * time.Millisecond)
	return nil
}

func (w *soak) search(rng *rand.Rand) error {
	body := fmt.Sprintf(
		`{"question":"a text of the word%d number%d","k":20,"explain":true,"timeout_ms":10000,"fusion":"rrf"}`,
		rng.IntN(7),
		rng.IntN(1_000_000),
	)
	status, answer, err := w.p.send(http.MethodPost, "/v1/search", body)
	if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"rank"`) {
		return fmt.Errorf("a search: %d %v %.300s", status, err, answer)
	}
	w.count("searches")
	time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	return nil
}

// snapshot makes one, verifies its answer and removes it.
func (w *soak) snapshot(rng *rand.Rand) error {
	name := fmt.Sprintf("s%d", rng.Uint64())
	if err := w.finish(http.MethodPost, "/v1/admin/snapshots", fmt.Sprintf(`{"name":%q}`, name)); err != nil {
		return err
	}
	w.count("snapshots")
	time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	return os.RemoveAll(filepath.Join(w.p.dir, "c-snapshots", name))
}

// job adds an expert and takes it out again.
func (w *soak) job(rng *rand.Rand) error {
	if err := w.finish(http.MethodPost, "/v1/admin/experts", `{"name":"other","index":"flat"}`); err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	w.count("experts added and removed")
	return w.finish(http.MethodDelete, "/v1/admin/experts/other", "")
}

// finish asks for a job and waits for its end.
func (w *soak) finish(method, path, body string) error {
	status, answer, err := w.p.send(method, path, body)
	if err != nil || status != http.StatusAccepted {
		return fmt.Errorf("%s %s: %d %v %s", method, path, status, err, answer)
	}
	var job jobs.Job
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if err := json.Unmarshal(answer, &job); err != nil {
			return fmt.Errorf("%w in %s", err, answer)
		}
		switch {
		case job.State == jobs.Done:
			return nil
		case job.State.Ended() || time.Now().After(deadline):
			return fmt.Errorf("%s %s: %+v", method, path, job)
		}
		status, answer, err = w.p.send(http.MethodGet, "/v1/jobs/"+job.ID, "")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("job %s: %d %v %s", job.ID, status, err, answer)
		}
	}
}

// flood opens more connections than the server has file descriptors, and says
// nothing on them. Those that work keep theirs.
func (w *soak) flood(rng *rand.Rand) error {
	var all []net.Conn
	for range 300 {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(w.p.url, "http://"), time.Second)
		if err != nil {
			break // the server's queue of connections is full, as is meant
		}
		all = append(all, c)
	}
	time.Sleep(time.Duration(rng.IntN(1000)) * time.Millisecond)
	for _, c := range all {
		_ = c.Close()
	}
	w.count("floods")
	time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
	return nil
}

// sample is what the server has in use, by what it is.
type sample map[string]float64

func (p *process) sample() (sample, error) {
	folder := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	files, err := os.ReadDir(folder + "fd")
	if err != nil {
		return nil, err
	}
	status, err := os.ReadFile(folder + "status")
	if err != nil {
		return nil, err
	}
	resident := 0.0
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); fields[0] == "RssAnon:" { // without mapped files
			kB, err := strconv.ParseFloat(fields[1], 64)
			if err != nil {
				return nil, err
			}
			resident = kB / 1024
		}
	}
	code, metrics, err := p.send(http.MethodGet, "/metrics", "")
	if err != nil || code != http.StatusOK {
		return nil, fmt.Errorf("/metrics: %d %w", code, err)
	}
	at := sample{"resident MiB": resident, "open files": float64(len(files))}
	for lines := bufio.NewScanner(strings.NewReader(string(metrics))); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			at["goroutines"], err = strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, err
			}
		}
	}
	return at, nil
}

func medians(samples []sample) sample {
	out := sample{}
	for _, name := range []string{"resident MiB", "goroutines", "open files"} {
		var all []float64
		for _, s := range samples {
			all = append(all, s[name])
		}
		slices.Sort(all)
		if len(all) > 0 {
			out[name] = all[len(all)/2]
		}
	}
	return out
}
