package handlers

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/handlers/schema"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestMutations sends 10,000 requests that were valid before something was
// changed in them at random: bytes, pieces of JSON, numbers, the path, the
// header. Each gets an answer that the contract allows, and never a 500; a request whose
// time was cut to a millisecond may be too late.
func TestMutations(t *testing.T) {
	s := start(t, Options{})
	const seed, workers = 20261101, 4
	each := 2500
	if testing.Short() { // with the race detector
		each = 250
	}
	var group sync.WaitGroup
	counts := make([]map[int]int, workers)
	for worker := range workers {
		counts[worker] = map[int]int{}
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for range each {
				m := mutate(rng)
				status, err := s.try(m)
				counts[worker][status]++
				late := status == http.StatusGatewayTimeout && strings.Contains(m.body, `"timeout_ms":`) // it may be 1 now
				if err != nil || status >= 500 && !late {
					t.Errorf("seed %d: %s %s %q %q: %d %v", seed, m.method, m.path, m.header, m.body, status, err)
				}
			}
		})
	}
	group.Wait()
	total := map[int]int{}
	for _, c := range counts {
		for status, n := range c {
			total[status] += n
		}
	}
	t.Logf("statuses: %v", total)
	if least := each / 250; total[200] < 50*least || total[400] < 50*least || total[422] < least {
		t.Errorf("the mutations are too tame or too wild: %v", total)
	}
}

type mutation struct {
	method, path, body string
	header             []string
}

// try sends a request as it is, and checks the answer.
func (s *server) try(m mutation) (int, error) {
	request, err := http.NewRequest(m.method, "http://"+s.address+"/", strings.NewReader(m.body))
	if err != nil {
		return 0, nil // not a method: nothing to send
	}
	if m.body == "" {
		request.Body, request.ContentLength = nil, 0
	}
	path, query, _ := strings.Cut(m.path, "?")
	request.URL.Opaque = "//" + s.address + path // as it is, unescaped
	request.URL.RawQuery = query
	for i := 0; i+1 < len(m.header); i += 2 {
		request.Header.Add(m.header[i], m.header[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil // the client would not send it
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusBadRequest && response.Header.Get("X-Request-ID") == "" {
		return response.StatusCode, nil // no HTTP, as net/http says
	}
	body, err := readAll(response)
	provoked(body)
	if err != nil {
		return response.StatusCode, err
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return response.StatusCode, nil
	}
	c, err := theContract()
	if err != nil {
		return 0, err
	}
	r := received{response, body}
	if response.StatusCode >= 400 && response.Header.Get("Content-Type") != schema.TypeProblem {
		return response.StatusCode, fmt.Errorf("no problem but %q", body)
	}
	return response.StatusCode, c.checkReply(m.method, path, r)
}

// mutate makes one request out of a valid one.
func mutate(rng *rand.Rand) mutation {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	m := mutation{method: http.MethodPost, path: "/v1/search", header: []string{"Content-Type", "application/json"}}
	m.body = pick(
		`{"question":"how do bees find the hive","k":3,"fusion":"muf","experts":["wiki","health"],"bm25":true,"candidates":20,"exact":false,"missing":"min","explain":true,"fields":["title","text"]}`,
		`{"question":"everything","fusion":["rrf","sum"],"weights":{"bm25":0.8,"wiki":1},"timeout_ms":1000}`,
		`{"question":"été \ud83d\ude00 \u0000","experts":[]}`,
		`{"question":"x","fusion":"hybrid","normalisation":"minmax","experts":["wiki"]}`,
	)
	switch rng.IntN(8) {
	case 0:
		m.path = "/v1/search/batch"
		m.body = `{"searches":[` + m.body + `,{"question":"y","k":1}]}`
	case 1:
		m.path, m.body = "/v1/embed", `{"expert":"wiki","input":["one","two"],"kind":"question"}`
	case 2:
		m.method = http.MethodGet
		m.body = ""
		m.header = nil
		m.path = pick(
			"/v1/search?q=bees&k=3&fusion=rrf,sum&experts=wiki&exact=true",
			"/v1/passages/bees",
			"/v1/passages/wiki%2F42",
			"/v1/experts/wiki",
			"/v1/limits",
			"/readyz",
		)
	}
	for range rng.IntN(4) {
		switch target := rng.IntN(10); {
		case target < 8 && m.body != "":
			m.body = damage(rng, m.body)
		case target < 9:
			m.path = "/" + damage(rng, m.path[1:])
		default:
			m.header = append(
				m.header,
				pick(
					"Accept",
					"Content-Type",
					"Content-Encoding",
					"X-Request-ID",
					"Traceparent",
					"If-None-Match",
					"Accept-Encoding",
					"Origin",
					"Authorization",
					"Range",
					"Connection",
				),
				pick(
					"application/json",
					"*/*;q=0",
					"gzip",
					"\"x\"",
					"W/\"",
					"http://evil.example",
					"bytes=0-1",
					"close",
					"00-00-00-00",
					"é",
					strings.Repeat("a", 300),
				),
			)
		}
	}
	return m
}

// damage changes text in one place.
func damage(rng *rand.Rand, s string) string {
	if s == "" {
		return s
	}
	i := rng.IntN(len(s))
	j := i + rng.IntN(min(len(s)-i, 12)+1)
	insert := []string{
		`"`, `\`, `{`, `}`, `[`, `]`, `:`, `,`, "null", "true", "-1", "0", "1e999", "1.0", "99999999999999999999", `"k":1,`, `"":`, "\x00", "\xff", "\xed\xa0\x80",
		`\ud800`, `\u0000`, "\u202e", "[SEP]", "%", "%00", "%2f", "..", "/", "?", "&", "=", ";", "#", " ", "\t", "é", "question", "Question", strings.Repeat("[", 50), strings.Repeat("w", 9000),
	}
	switch rng.IntN(5) {
	case 0:
		return s[:i] + s[j:]
	case 1:
		return s[:i] + string([]byte{byte(rng.IntN(256))}) + s[min(i+1, len(s)):]
	case 2:
		return s[:j] + s[i:]
	case 3:
		return s[:i] + insert[rng.IntN(len(insert))] + s[i:]
	default:
		return s[:i] + insert[rng.IntN(len(insert))] + s[j:]
	}
}
