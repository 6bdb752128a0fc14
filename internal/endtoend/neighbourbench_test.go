package endtoend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
)

// BenchmarkCallers prints what one caller can cost another one, as a table for docs/operations.md: for each route and
// tool of the document, 32 callers of one key send the most expensive request that demands knows of it, as fast as they
// are answered, while a caller of another key searches. A route that is new is in the table by itself.
//
//	go test ./internal/endtoend -run '^$' -bench Callers -benchtime 1x
//
// CONCLAVE_ROUTES is a regular expression of the names of the routes that are measured; "": of all.
func BenchmarkCallers(b *testing.B) {
	cache, err := provision.DefaultCache()
	if err != nil {
		b.Fatal(err)
	}
	config := "log: {level: error}\ncache: " + cache.Root + "\ndocs: {open: true}\n" + attackKeys
	s := newSite(b, config, nil, "base", manyDocuments(3000))
	p := s.serve("")
	p.key, p.expert = ownerKey, "base"
	for b.Loop() {
		p.measureNeighbours(b)
	}
	p.stop()
}

// manyDocuments returns passages of 40 words, each of which is a document.
func manyDocuments(n int) string {
	rng := rand.New(rand.NewPCG(3, 3))
	var lines strings.Builder
	for i := range n {
		id := fmt.Sprintf("doc/%d", i)
		line, _ := json.Marshal(map[string]any{
			"id": id + "#1", "title": fmt.Sprint("Title ", i), "text": "large " + someWords(rng, 40),
			"metadata": map[string]any{
				"document": id, "document_title": fmt.Sprint("Title ", i), "document_passages": 1, "year": i,
			},
		})
		lines.Write(append(line, '\n'))
	}
	return lines.String()
}

// attackers is how many callers of one key there are, and neighbourSearches the least number of searches that the
// other one sends beside each route.
const attackers, neighbourSearches = 32, 25

// measureNeighbours prints the table.
func (p *process) measureNeighbours(b *testing.B) {
	b.Helper()
	search := p.rawRequest(demand{method: http.MethodPost, path: "/v1/search", contentType: "application/json",
		body: `{"question":"a large lighthouse of QUESTION"}`}, searcherKey)
	n := 0
	plain := func() []byte {
		n++
		return []byte(strings.Replace(search, "QUESTION", fmt.Sprintf("w%07d", n), 1)) // as long as QUESTION
	}
	wanted := regexp.MustCompile(os.Getenv("CONCLAVE_ROUTES"))
	worst := 0.
	fmt.Printf("| %d callers send | answered, refused | p50 alone | p50 beside | × | p99 | not answered | MiB |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n", attackers)
	for _, d := range p.costlyDemands() {
		if !wanted.MatchString(d.name) {
			continue
		}
		alone, _ := p.askPlain(b, plain, neighbourSearches, 150*time.Millisecond)
		key := ownerKey
		if strings.HasPrefix(d.path, "/guide") {
			key = ""
		}
		stop := p.attack(d, key)
		time.Sleep(100 * time.Millisecond)
		beside, lost := p.askPlain(b, plain, neighbourSearches, 600*time.Millisecond)
		answered, refused := stop()
		resident := p.resident() >> 20
		times := at(beside, .5) / at(alone, .5)
		worst = max(worst, times)
		fmt.Printf("| %s | %d, %d | %.1f | %.1f | %.1f | %.1f | %d | %d |\n",
			d.name, answered, refused, at(alone, .5), at(beside, .5), times, at(beside, .99), lost, resident)
		p.awaitJobs(b)
	}
	b.ReportMetric(worst, "worst-p50-ratio")
}

// costlyDemands returns the demands, and what costs most of single routes.
func (p *process) costlyDemands() []demand {
	many := func(n int, one func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = one(i)
		}
		return strings.Join(all, ",")
	}
	value := func(i int) string { return strconv.Itoa(1_000_000 + i) }
	text := func(i int) string {
		return fmt.Sprintf(`"%s"`, strings.TrimSpace(someWords(rand.New(rand.NewPCG(4, uint64(i))), 60)))
	}
	search := func(i int) string { return fmt.Sprintf(`{"question":%s,"k":50}`, text(i)) }
	post := func(name, path, body string) demand {
		return demand{name: name, method: http.MethodPost, path: path, body: body, contentType: "application/json"}
	}
	return append([]demand{
		post("POST /v1/search", "/v1/search", `{"question":"a large lighthouse"}`),
		{name: "GET /v1/documents?q=", method: http.MethodGet, path: "/v1/documents?q=nowhere&limit=1000"},
		post("POST /v1/embed, 100 texts", "/v1/embed", `{"expert":"base","kind":"question","input":[`+many(100, text)+`]}`),
		post("POST /v1/embed, 100 passages", "/v1/embed", `{"expert":"base","kind":"passage","input":[`+many(100, text)+`]}`),
		post("POST /v1/search/batch, 100 searches", "/v1/search/batch", `{"searches":[`+many(100, search)+`]}`),
		post("POST /v1/search, 16,000 values", "/v1/search",
			`{"question":"large","filter":{"field":"year","in":[`+many(16_000, value)+`]}}`),
		post("POST /v1/search, explain", "/v1/search", `{"question":"large","k":1000,"explain":true}`),
		{
			name: "GET /v1/passages?limit=1000, compressed", method: http.MethodGet, path: "/v1/passages?limit=1000",
			packed: true,
		},
		{name: "GET /guide/search without a key", method: http.MethodGet, path: "/guide/search?q=how+do+I+keep+keys+apart"},
		{name: "GET /livez without a key", method: http.MethodGet, path: "/livez"},
	}, p.demands()...)
}

// rawRequest returns a request as it is sent.
func (p *process) rawRequest(d demand, key string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: localhost\r\n", d.method, d.path)
	if key != "" {
		fmt.Fprintf(&text, "X-API-Key: %s\r\n", key)
	}
	if d.packed {
		text.WriteString("Accept-Encoding: gzip\r\n")
	}
	if d.path == "/mcp" {
		text.WriteString("Accept: application/json, text/event-stream\r\n")
	}
	if d.body != "" {
		fmt.Fprintf(&text, "Content-Type: %s\r\nContent-Length: %d\r\n", d.contentType, len(d.body))
	}
	return text.String() + "\r\n" + d.body
}

// askPlain sends searches, one after the other, until there are so many and so much time has passed, and returns how
// long they took, and how many were not answered. After ten seconds it ends.
func (p *process) askPlain(
	b *testing.B,
	next func() []byte,
	least int,
	long time.Duration,
) (took []time.Duration, lost int) {
	b.Helper()
	var c rawConnection
	defer c.close()
	for began := time.Now(); (len(took) < least || time.Since(began) < long) && time.Since(began) < 10*time.Second; {
		sent := time.Now()
		status, err := c.ask(p.url, next())
		took = append(took, time.Since(sent))
		if err != nil || status != http.StatusOK {
			lost++
		}
	}
	return took, lost
}

// attack sends a request by many callers, again and again, until stop, which returns how many were answered and
// refused.
func (p *process) attack(d demand, key string) (stop func() (answered, refused int)) {
	text := []byte(p.rawRequest(d, key))
	done := make(chan struct{})
	var mu sync.Mutex
	var all sync.WaitGroup
	answered, refused := 0, 0
	for range attackers {
		all.Go(func() {
			var c rawConnection
			defer c.close()
			for {
				select {
				case <-done:
					return
				default:
				}
				status, err := c.ask(p.url, text)
				mu.Lock()
				if err == nil && status != http.StatusTooManyRequests {
					answered++
				} else {
					refused++
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, int) {
		close(done)
		all.Wait()
		return answered, refused
	}
}

// awaitJobs waits until no job is left to do, such as a calibration that was asked for.
func (p *process) awaitJobs(b *testing.B) {
	b.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		_, text, err := p.send(http.MethodGet, "/v1/jobs", "")
		if err == nil && !strings.Contains(string(text), `"queued"`) && !strings.Contains(string(text), `"running"`) {
			return
		}
	}
	b.Log("jobs go on for half a minute")
}

// rawConnection is one of HTTP/1 that is opened again when it was closed.
type rawConnection struct {
	conn net.Conn
	in   *bufio.Reader
}

// ask sends a request and reads its answer, and returns the answer's status.
func (c *rawConnection) ask(url string, request []byte) (status int, err error) {
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.conn == nil {
		c.conn, err = net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return 0, err
		}
		c.in = bufio.NewReaderSize(c.conn, 16<<10)
	}
	_ = c.conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.conn.Write(request); err != nil {
		// The server may have refused the request, and read no more of it.
		if response, err := http.ReadResponse(c.in, nil); err == nil {
			status = response.StatusCode
		}
		return status, err
	}
	response, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if response.Close {
		c.close()
	}
	return response.StatusCode, err
}

// close closes the connection, if there is one.
func (c *rawConnection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
