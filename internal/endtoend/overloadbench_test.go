package endtoend

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
	"example.org/conclave/shipped/demo"

	"golang.org/x/sys/unix"
)

// BenchmarkOverload floods a server for five seconds with ten times as many questions
// a second as it can answer, 100 results each, and reports what becomes of them, in
// milliseconds from when a question was to be sent: refused-p99, answered-p50 and -p99,
// how many answers came after their two seconds (late), what was offered, answered and
// refused a second, the most memory that was resident, with mapped files (MB), how long
// after the flood a lone question takes as long as before again (recovery), and what of
// the processors a request cost the server and its callers. The callers share the machine,
// and their own waiting is part of these times; what the server's log says (server-…) is
// not. With words alone the questions are long and the collection is large, so that ten
// times as many questions as the server can answer are no work for the callers.
//
//	go test ./internal/endtoend -run '^$' -bench Overload -benchtime 1x
func BenchmarkOverload(b *testing.B) {
	var short strings.Builder
	for _, domain := range demo.Domains() {
		data, err := demo.FS.ReadFile("passages/" + domain + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		short.Write(data)
	}
	moons := func(n int) string {
		return fmt.Sprintf("how many of the %d moons did the fox and the battery see in the %d hours of rice", n, n*7919)
	}
	for _, set := range []struct {
		name, experts string
		lines         func() string
		question      func(n int) string
	}{
		{"words", "none", manyWords, longQuestion},
		{"base", "base", short.String, moons},
		{"seven", "base,amazon,covid,fairytale,medquad,nq,policy,wiki", short.String, moons},
	} {
		b.Run(set.name, func(b *testing.B) {
			cache, err := provision.DefaultCache()
			if err != nil {
				b.Fatal(err)
			}
			s := newSite(b, "log: {format: json}\ncache: "+cache.Root+"\n", nil, set.experts, set.lines())
			p := s.serve("")
			for b.Loop() {
				p.flood(b, set.question)
			}
			p.stop()
		})
	}
}

// someWords returns words by how often they are in a language: Zipf's law.
func someWords(rng *rand.Rand, n int) string {
	zipf := rand.NewZipf(rng, 1.1, 20, 20_000)
	var text strings.Builder
	for range n {
		fmt.Fprintf(&text, "w%d ", zipf.Uint64())
	}
	return text.String()
}

// manyWords returns 100,000 passages of fifty words.
func manyWords() string {
	rng := rand.New(rand.NewPCG(1, 1))
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",\"text\":%q}\n", i, someWords(rng, 50))
	}
	return lines.String()
}

// longQuestion has three hundred words of that language.
func longQuestion(n int) string { return someWords(rand.New(rand.NewPCG(2, uint64(n))), 300) }

const floodTimeout = 2 * time.Second

func at(all []time.Duration, share float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[min(int(share*float64(len(all))), len(all)-1)].Microseconds()) / 1000
}

// floodConnections are enough for what the server admits and refuses at a time.
const floodConnections = 512

func (p *process) flood(b *testing.B, question func(n int) string) {
	const phase, long, tick = 3 * time.Second, 5 * time.Second, time.Millisecond
	n := 0
	next := func() []byte { n++; return floodRequest(question(n)) }

	// What it can do: sixteen callers, who always have something to ask.
	can := p.callers(16)
	for end := time.Now().Add(phase); time.Now().Before(end); {
		if len(can.due) < 16 {
			can.due <- request{next(), time.Now()}
			continue
		}
		time.Sleep(tick)
	}
	done := can.outcomes()
	capacity := float64(len(done.answered)) / phase.Seconds()
	lone := func() time.Duration {
		one := p.callers(1)
		one.due <- request{next(), time.Now()}
		outcome := one.outcomes()
		if len(outcome.answered) == 0 {
			return time.Hour
		}
		return outcome.answered[0]
	}
	var quiet []time.Duration
	for range 50 {
		quiet = append(quiet, lone())
	}

	rate := 10 * capacity
	requests := make([][]byte, int(rate*long.Seconds()))
	for i := range requests {
		requests[i] = next()
	}
	flood := p.callers(floodConnections)
	p.log.Reset()
	used := p.processorTime(b)
	own := ownProcessorTime(b)
	sent := 0
	for began := time.Now(); sent < len(requests); time.Sleep(tick) {
		for most := min(int(rate*time.Since(began).Seconds()), len(requests)); sent < most; sent++ {
			flood.due <- request{requests[sent], began.Add(time.Duration(float64(sent) / rate * float64(time.Second)))}
		}
	}
	ended := time.Now()
	for usual := max(3*at(quiet, .5), 20); at([]time.Duration{lone()}, .5) > usual; {
		if time.Since(ended) > 30*time.Second {
			b.Fatal("no lone question was answered as before for half a minute after the flood")
		}
	}
	recovery := time.Since(ended)
	all := flood.outcomes()
	used, own = p.processorTime(b)-used, ownProcessorTime(b)-own
	answered, refused := p.took()
	if len(all.odd) > 0 {
		b.Errorf("%d requests ended in another way than answered or refused, the first with %s", len(all.odd), all.odd[0])
	}
	for _, m := range []struct {
		name  string
		value float64
	}{
		{"capacity/s", capacity}, {"offered/s", rate},
		{"answered/s", float64(len(all.answered)) / long.Seconds()},
		{"refused/s", float64(len(all.refused)) / long.Seconds()},
		{"lone-p50-ms", at(quiet, .5)}, {"refused-p99-ms", at(all.refused, .99)},
		{"answered-p50-ms", at(all.answered, .5)}, {"answered-p99-ms", at(all.answered, .99)},
		{"server-answered-p99-ms", at(answered, .99)}, {"server-refused-p99-ms", at(refused, .99)},
		{"processor-µs/request", used.Seconds() * 1e6 / float64(sent)},
		{"callers-µs/request", own.Seconds() * 1e6 / float64(sent)},
		{"late", float64(all.late)}, {"recovery-ms", float64(recovery.Milliseconds())}, {"resident-MB", p.mostResident(b)},
	} {
		b.ReportMetric(m.value, m.name)
	}
}

// ownProcessorTime returns what this process used so far.
func ownProcessorTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// took returns how long the server itself saw requests take, from its log: from their
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

// processorTime returns what the process used so far, in ticks of 10 ms.
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

// mostResident returns the most memory that the process, which still runs, had resident, in MB; 0 if the system does
// not tell.
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
