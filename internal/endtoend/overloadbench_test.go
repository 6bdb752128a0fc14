package endtoend

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"conclave/demo"
	"conclave/provision"
)

// BenchmarkOverload floods a server for five seconds with ten times as many
// questions a second as it can answer (4,000 at the most), 100 results each, and
// reports what becomes of them, in milliseconds: refused-p99, answered-p50 and -p99,
// how many answers came after their two seconds (late), what was offered, answered
// and refused a second, the most memory that was resident (MB), how long after the flood
// a lone question takes as long as before again (recovery), and what of the
// processors a request cost. The one who asks shares the machine, and its own
// waiting is part of these times; what the server's log says (server-…) is not.
//
//	go test ./internal/endtoend -run '^$' -bench Overload -benchtime 1x
func BenchmarkOverload(b *testing.B) {
	var lines strings.Builder
	for _, domain := range demo.Domains() {
		data, err := demo.FS.ReadFile("passages/" + domain + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		lines.Write(data)
	}
	for _, set := range []struct{ name, experts string }{
		{"words", "none"}, {"base", "base"}, {"seven", "base,amazon,covid,fairytale,medquad,nq,policy,wiki"},
	} {
		b.Run(set.name, func(b *testing.B) {
			cache, err := provision.DefaultCache()
			if err != nil {
				b.Fatal(err)
			}
			s := newSite(b, "log: {format: json}\ncache: "+cache.Root+"\n", nil, set.experts, lines.String())
			p := s.serve("")
			for b.Loop() {
				p.flood(b)
			}
			p.stop()
		})
	}
}

// asks are one after another's outcomes.
type asks struct {
	mu                sync.Mutex
	answered, refused []time.Duration
	late              int
	odd               []string // what else came
}

const floodTimeout = 2 * time.Second

// ask asks one question that nobody asked before.
func (p *process) ask(client *http.Client, n int64, into *asks) {
	body := fmt.Sprintf(`{"question":"how many of the %d moons did the fox and the battery see in the %d hours of rice","k":100,"timeout_ms":%d}`,
		n, n*7919, floodTimeout.Milliseconds())
	began := time.Now()
	response, err := client.Post(p.url+"/v1/search", "application/json", strings.NewReader(body))
	status := 0
	if err == nil {
		status = response.StatusCode
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	took := time.Since(began)
	into.mu.Lock()
	defer into.mu.Unlock()
	switch {
	case err != nil:
		into.odd = append(into.odd, err.Error())
	case status == http.StatusOK:
		into.answered = append(into.answered, took)
		if took > floodTimeout {
			into.late++
		}
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		into.refused = append(into.refused, took)
	default:
		into.odd = append(into.odd, fmt.Sprint("status ", status))
	}
}

func at(all []time.Duration, share float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(int(share*float64(len(all))), len(all)-1)].Microseconds()) / 1000
}

func (p *process) flood(b *testing.B) {
	transport := &http.Transport{MaxIdleConnsPerHost: 2000, MaxConnsPerHost: 2000, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	var n atomic.Int64

	// What it can do: sixteen callers, one after the other each.
	const phase = 3 * time.Second
	var can asks
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for end := time.Now().Add(phase); time.Now().Before(end); {
				p.ask(client, n.Add(1), &can)
			}
		})
	}
	callers.Wait()
	capacity := float64(len(can.answered)) / phase.Seconds()
	var quiet asks
	for range 50 {
		p.ask(client, n.Add(1), &quiet)
	}

	p.log.Reset()
	used := p.processorTime(b)
	var flood asks
	const long, tick = 5 * time.Second, 5 * time.Millisecond
	rate := min(10*capacity, 4000)
	began, sent := time.Now(), 0
	for time.Since(began) < long {
		for most := int(rate * time.Since(began).Seconds()); sent < most; sent++ {
			callers.Go(func() { p.ask(client, n.Add(1), &flood) })
		}
		time.Sleep(tick)
	}
	ended := time.Now()
	usual := max(3*at(quiet.answered, .5), 20)
	for {
		var one asks
		if p.ask(client, n.Add(1), &one); at(one.answered, .5) > 0 && at(one.answered, .5) <= usual {
			break
		}
		if time.Since(ended) > 30*time.Second {
			b.Fatal("no lone question was answered as before for half a minute after the flood")
		}
	}
	recovery := time.Since(ended)
	callers.Wait()
	used = p.processorTime(b) - used
	answered, refused := p.took()
	if len(flood.odd) > 0 {
		b.Errorf("%d requests ended in another way than answered or refused, the first with %s", len(flood.odd), flood.odd[0])
	}
	for _, m := range []struct {
		name  string
		value float64
	}{
		{"capacity/s", capacity}, {"offered/s", float64(sent) / long.Seconds()},
		{"answered/s", float64(len(flood.answered)) / long.Seconds()}, {"refused/s", float64(len(flood.refused)) / long.Seconds()},
		{"lone-p50-ms", at(quiet.answered, .5)}, {"refused-p99-ms", at(flood.refused, .99)},
		{"answered-p50-ms", at(flood.answered, .5)}, {"answered-p99-ms", at(flood.answered, .99)},
		{"server-answered-p99-ms", at(answered, .99)}, {"server-refused-p99-ms", at(refused, .99)},
		{"processor-µs/request", used.Seconds() * 1e6 / float64(sent)},
		{"late", float64(flood.late)}, {"recovery-ms", float64(recovery.Milliseconds())}, {"resident-MB", p.mostResident(b)},
	} {
		b.ReportMetric(m.value, m.name)
	}
}

// took is how long the server itself saw requests take, from its log: from their
// headers to the end of their answers.
func (p *process) took() (answered, refused []time.Duration) {
	for line := range strings.Lines(p.log.String()) {
		var entry struct {
			Status int     `json:"status"`
			Took   float64 `json:"took_ms"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		took := time.Duration(entry.Took * float64(time.Millisecond))
		switch entry.Status {
		case http.StatusOK:
			answered = append(answered, took)
		case http.StatusTooManyRequests:
			refused = append(refused, took)
		}
	}
	return answered, refused
}

// processorTime is what the process used so far, in ticks of 10 ms.
func (p *process) processorTime(b *testing.B) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		b.Log(err)
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] { // user, system
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// mostResident is the most memory that the process had resident, in MB.
func (p *process) mostResident(b *testing.B) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		b.Log(err)
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kB, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				b.Fatal(err)
			}
			return float64(kB) / 1000
		}
	}
	return 0
}
