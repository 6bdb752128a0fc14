package handlers

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestHeadAndOptions(t *testing.T) {
	s := start(t, Options{})
	for _, path := range []string{"/v1/search?q=bees", "/v1/passages/bees", "/livez", "/openapi.json", "/docs"} {
		get, head := s.send(http.MethodGet, path, ""), s.send(http.MethodHead, path, "")
		if head.StatusCode != get.StatusCode || len(head.body) != 0 ||
			head.Header.Get("Content-Type") != get.Header.Get("Content-Type") {
			t.Errorf("%s: %d %v", path, head.StatusCode, head.Header)
		}
	}
	for path, allow := range map[string]string{
		"/v1/search": "GET, HEAD, OPTIONS, POST", "/v1/embed": "OPTIONS, POST", "/v1/passages/a/b": "DELETE, GET, HEAD, OPTIONS, PUT", "/livez": "GET, HEAD, OPTIONS",
	} {
		if r := s.send(http.MethodOptions, path, ""); r.StatusCode != http.StatusNoContent || r.Header.Get("Allow") != allow {
			t.Errorf("%s: %d %q", path, r.StatusCode, r.Header.Get("Allow"))
		}
		r := s.send(http.MethodPatch, path, "")
		if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != allow {
			t.Errorf("%s: %d %q", path, r.StatusCode, r.Header.Get("Allow"))
		}
	}
	if r := s.send(http.MethodOptions, "/nowhere", ""); r.StatusCode != http.StatusNotFound {
		t.Errorf("%d", r.StatusCode)
	}
}

func TestAccept(t *testing.T) {
	for accept, want := range map[string]bool{
		"application/json": true, "*/*": true, "application/*;q=0.1": true, "text/html, */*;q=0.1": true,
		"APPLICATION/JSON":               true,
		"application/json;charset=utf-8": true, "text/html": false, "*/*;q=0": false, "application/json;q=0, */*;q=1": false,
		"application/*;q=0, */*": false, "application/json;q=0.0": false, "application/json;q=2": false, ";": false, "application/jsonx": false,
		"application/json;charset=latin1": false, "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true,
	} {
		if got := acceptQuality(accept, schema.TypeJSON) > 0; got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}

func TestRequestID(t *testing.T) {
	s := start(t, Options{})
	made := regexp.MustCompile(`^[0-9a-f]{32}$`)
	for given, kept := range map[string]bool{
		"abc-DEF_123": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a b": false, "a\tb": false, "é": false, "a;b": false, "": false,
	} {
		r := s.send(http.MethodGet, "/livez", "", "X-Request-ID", given)
		if got := r.Header.Get("X-Request-ID"); (got == given) != kept || !kept && !made.MatchString(got) {
			t.Errorf("%q became %q", given, got)
		}
	}
	if r := s.send(http.MethodGet, "/livez", "", "X-Request-ID", "a", "X-Request-ID", "b"); !made.MatchString(
		r.Header.Get("X-Request-ID"),
	) {
		t.Errorf("two ids became %q", r.Header.Get("X-Request-ID"))
	}
	if a, b := front.RequestID(nil), front.RequestID(nil); a == b {
		t.Error("the same id twice")
	}
}

func TestTraceParent(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for given, want := range map[string]bool{
		"00-" + trace + "-" + parent + "-01":                   true,
		"01-" + trace + "-" + parent + "-01-more":              true, // a later version
		"00-" + trace + "-" + parent + "-01-more":              false,
		"ff-" + trace + "-" + parent + "-01":                   false,
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": false,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01":  false,
		"00-" + strings.ToUpper(trace) + "-" + parent + "-01":  false,
		"00-" + trace + "-" + parent:                           false,
		"00-" + trace[1:] + "-" + parent + "-01":               false,
		"x":                                                    false, "": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Traceparent", given)
		span := spanOf(r)
		if (span.TraceID().String() == trace && span.SpanID().String() == parent) != want || span.IsValid() != want {
			t.Errorf("%q: %q %q", given, span.TraceID(), span.SpanID())
		}
		if r.Header.Add("Traceparent", given); spanOf(r).IsValid() {
			t.Errorf("%q twice is taken", given)
		}
	}
	s := start(t, Options{})
	s.send(http.MethodGet, "/v1/limits", "", "Traceparent", "00-"+trace+"-"+parent+"-01")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if log := s.log.String(); !strings.Contains(log, `"trace_id":"`+trace+`"`) ||
		!strings.Contains(log, `"parent_id":"`+parent+`"`) ||
		!regexp.MustCompile(`"span_id":"[0-9a-f]{16}"`).MatchString(log) {
		t.Errorf("%s", log)
	}
}

func TestLog(t *testing.T) {
	const secret = "what nobody should read"
	for _, questions := range []bool{false, true} {
		s := start(t, Options{LogQuestions: questions})
		s.post("/v1/search", `{"question":"`+secret+`","k":2}`, "X-Request-ID", "id-1")
		s.send(http.MethodGet, "/v1/search?q="+strings.ReplaceAll(secret, " ", "+")+"&zzz=1", "", "X-Request-ID", "id-2")
		s.post("/v1/search/batch", `{"searches":[{"question":"`+secret+`"}]}`)
		s.post("/v1/embed", `{"expert":"wiki","input":["`+secret+`"]}`)
		s.post("/v1/search", `{"question":"`+secret+`", rubbish`)
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		log := s.log.String()
		if strings.Contains(log, "nobody") != questions {
			t.Errorf("questions %v:\n%s", questions, log)
		}
		for _, want := range []string{`"request_id":"id-1"`, `"status":200`, `"fusion":"rrf"`, `"generation":12`, `"results":2`, `"request_id":"id-2"`, `"code":"unknown_parameter"`, `"client":"127.0.0.1"`, `"took_ms":`} {
			if !strings.Contains(log, want) {
				t.Errorf("no %s in\n%s", want, log)
			}
		}
	}
}

// TestLogInjection has a caller try to write lines of its own.
func TestLogInjection(t *testing.T) {
	s := start(t, Options{})
	s.send(http.MethodGet, "/x%0a%7b%22level%22:%22ERROR%22%7d%1b[31m", "")
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, `{"time":`) || strings.Contains(line, "\x1b") {
			t.Errorf("%q", line)
		}
	}
}

func TestMetrics(t *testing.T) {
	metrics := NewMetrics()
	engine := testEngine(t, engineOptions{observer: Observer{Metrics: metrics}})
	s := start(t, Options{Metrics: metrics, Engine: engine})
	const secret = "unspeakable"
	s.post("/v1/search", `{"question":"`+secret+`","fusion":"muf","experts":["wiki","health"]}`)
	s.send(http.MethodGet, "/v1/passages/"+secret, "")
	s.send(http.MethodGet, "/"+secret, "")
	s.send("BREW", "/v1/search", "")
	s.send(strings.ToUpper(secret), "/"+secret, "")
	s.post("/v1/search", `{"question":"x","`+secret+`":1}`)
	r := s.send(http.MethodGet, "/metrics", "")
	text := string(r.body)
	if strings.Contains(strings.ToLower(text), secret) {
		t.Error("the metrics hold what a caller sent")
	}
	for _, want := range []string{
		`conclave_http_requests_total{method="POST",route="/v1/search",status="200"} 1`,
		`conclave_http_requests_total{method="POST",route="/v1/search",status="400"} 1`,
		`conclave_http_requests_total{method="GET",route="/v1/passages/{id}",status="404"} 1`,
		`conclave_http_requests_total{method="GET",route="none",status="404"} 1`,
		`conclave_http_requests_total{method="other",route="none",status="405"} 1`,
		`conclave_problems_total{code="unknown_field"} 1`,
		`conclave_stage_seconds_count{source="wiki",stage="encode"} 1`,
		`conclave_stage_seconds_count{source="health",stage="confidence"} 1`,
		`conclave_stage_seconds_count{source="",stage="fuse"} 1`,
		`conclave_source_answers_total{source="wiki",status="ok"} 1`,
		`conclave_answers_total{outcome="complete"} 1`,
		`conclave_http_requests_in_flight 1`,
		`conclave_ready 1`,
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if problems, err := testutil.GatherAndLint(metrics.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

func TestCompression(t *testing.T) {
	s := start(t, Options{})
	fetch := func(path, encoding string) (*http.Response, []byte) {
		request, err := http.NewRequest(http.MethodGet, "http://"+s.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", encoding)
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, body
	}
	for _, path := range []string{"/v1/passages/long", "/v1/search?q=bees", "/openapi.json", "/openapi.yaml", "/docs", "/metrics"} {
		_, plain := fetch(path, "identity")
		response, packed := fetch(path, "gzip")
		if len(plain) < 1400 {
			continue
		}
		if response.Header.Get("Content-Encoding") != "gzip" ||
			!strings.Contains(response.Header.Get("Vary"), "Accept-Encoding") ||
			len(packed) >= len(plain) {
			t.Errorf("%s: %v, %d bytes of %d", path, response.Header, len(packed), len(plain))
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if (path == "/v1/passages/long" || strings.HasPrefix(path, "/openapi")) && !bytes.Equal(unpacked, plain) {
			t.Errorf("%s: unpacked it is another text", path)
		}
	}
	if response, _ := fetch("/livez", "gzip"); response.Header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
	if response, _ := fetch("/v1/passages/long", "gzip;q=0"); response.Header.Get("Content-Encoding") != "" {
		t.Error("gzip;q=0 is compressed")
	}
}

func TestHTTP2(t *testing.T) {
	s := start(t, Options{})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	response, err := client.Post(
		"http://"+s.address+"/v1/search",
		"application/json",
		strings.NewReader(`{"question":"bees"}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.ProtoMajor != 2 || response.StatusCode != http.StatusOK ||
		len(decodeResponse(t, body).Results) == 0 {
		t.Errorf("%v %s %d %.200s", err, response.Proto, response.StatusCode, body)
	}
}

// TestPages serves the reference page without anything from elsewhere.
func TestPages(t *testing.T) {
	s := start(t, Options{})
	for path, contentType := range map[string]string{
		"/docs": "text/html; charset=utf-8", "/docs/docs.css": "text/css; charset=utf-8", "/docs/docs.js": "text/javascript; charset=utf-8", "/docs/icon.svg": "image/svg+xml",
		"/guide/": "text/html; charset=utf-8", "/guide/measured": "text/html; charset=utf-8", "/guide/pipeline.svg": "image/svg+xml",
	} {
		r := s.send(http.MethodGet, path, "")
		policy := r.Header.Get("Content-Security-Policy")
		if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != contentType ||
			!strings.Contains(policy, "default-src 'none'") ||
			strings.Contains(policy, "unsafe") ||
			r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, r.StatusCode, r.Header)
		}
		for _, reference := range regexp.MustCompile(`(?i)(?:src|href|url)\s*[=(]\s*["']?((?:https?:)?//[^"')\s]+)`).FindAllStringSubmatch(string(r.body), -1) {
			if !strings.HasPrefix(reference[1], "http://www.w3.org/") { // the name of SVG, never fetched
				t.Errorf("%s loads %s", path, reference[1])
			}
		}
		if strings.Contains(string(r.body), " style=") || regexp.MustCompile(`\son[a-z]+="`).Match(r.body) {
			t.Errorf("%s has inline style or script, which the policy forbids", path)
		}
	}
}

// TestConcurrency refuses what is above the bound at once.
func TestConcurrency(t *testing.T) {
	const places = 3
	entered, release := make(chan struct{}, 64), make(chan struct{})
	before := gate(entered, release)
	s := start(t, Options{Admission: admit(t, places), Engine: testEngine(t, engineOptions{before: before})})
	statuses := make(chan int, places)
	for range places {
		go func() {
			r := s.post("/v1/search", `{"question":"bees","experts":["wiki"],"timeout_ms":5000}`)
			statuses <- r.StatusCode
		}()
	}
	for range places {
		<-entered
	}
	r := s.post("/v1/search", `{"question":"bees"}`)
	if p := r.problem(t); p.Code != "too_many_requests" || r.Header.Get("Retry-After") != "1" {
		t.Errorf("%s", r.body)
	}
	if r := s.send(http.MethodGet, "/readyz", ""); r.StatusCode != http.StatusOK {
		t.Errorf("health waits behind searches: %d", r.StatusCode)
	}
	close(release)
	for range places {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("one of the first got %d", status)
		}
	}
	if r := s.post("/v1/search", `{"question":"bees"}`); r.StatusCode != http.StatusOK {
		t.Errorf("a place was lost: %d", r.StatusCode)
	}
}

// TestFramedTwice: a request whose body's end is told by chunks and by a length is
// answered by its chunks, and nothing behind it is taken for a request; one with chunks
// alone leaves its connection open (RFC 9112, section 6.1).
func TestFramedTwice(t *testing.T) {
	s := start(t, Options{})
	const body = "15\r\n{\"question\":\"bees\"}\r\n\r\n0\r\n\r\n"
	for what, c := range map[string]struct {
		before, version, header string
		answers                 int
	}{
		"chunks alone":              {"", "1.1", "Transfer-Encoding: chunked\r\n", 2},
		"both":                      {"", "1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 1},
		"both, the other way round": {"", "1.1", "Transfer-Encoding: chunked\r\ncontent-length: 26\r\n", 1},
		"both, behind another":      {askLive, "1.1", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 2},
		"chunks of HTTP/1.0":        {"", "1.0", "Connection: keep-alive\r\nContent-Length: 21\r\nTransfer-Encoding: chunked\r\n", 1},
	} {
		text := s.raw(
			c.before+"POST /v1/search HTTP/"+c.version+"\r\nHost: localhost\r\nContent-Type: application/json\r\n"+c.header+"\r\n"+body+askLive,
			time.Second,
		)
		if n := strings.Count(text, "HTTP/1."); n != c.answers ||
			c.answers == 1 && !strings.Contains(text, "Connection: close") {
			t.Errorf("%s: %d answers, want %d: %.600s", what, n, c.answers, text)
		}
	}
}
