package handlers

import (
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

func testKeys() []front.Key {
	return []front.Key{
		{Name: "reader", SHA256: sha256.Sum256([]byte("read-secret")), Scopes: []schema.Scope{schema.ScopeSearch}},
		{Name: "embedder", SHA256: sha256.Sum256([]byte("embed-secret")), Scopes: []schema.Scope{schema.ScopeEmbed}},
		{Name: "boss", SHA256: sha256.Sum256([]byte("admin-secret")), Scopes: []schema.Scope{schema.ScopeAdmin}},
		{
			Name:    "old",
			SHA256:  sha256.Sum256([]byte("old-secret")),
			Scopes:  []schema.Scope{schema.ScopeAdmin},
			Expires: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		},
	}
}

func TestKeys(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := start(t, Options{Keys: testKeys(), Now: func() time.Time { return now.Add(time.Second) }})
	bearer := func(key string) []string { return []string{"Authorization", "Bearer " + key} }
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		challenge          string
	}{
		"none":                   {"GET", "/v1/search?q=x", "", nil, 401, `Bearer realm="conclave"`},
		"unknown":                {"GET", "/v1/search?q=x", "", bearer("guess"), 401, `error="invalid_token"`},
		"prefix of a key":        {"GET", "/v1/search?q=x", "", bearer("read-secre"), 401, `error="invalid_token"`},
		"the hash of a key":      {"GET", "/v1/search?q=x", "", bearer("0b5f2aaaa"), 401, `error="invalid_token"`},
		"expired":                {"GET", "/v1/search?q=x", "", bearer("old-secret"), 401, `error="invalid_token"`},
		"basic":                  {"GET", "/v1/search?q=x", "", []string{"Authorization", "Basic cmVhZC1zZWNyZXQ="}, 401, `error="invalid_request"`},
		"empty bearer":           {"GET", "/v1/search?q=x", "", []string{"Authorization", "Bearer "}, 401, `error="invalid_request"`},
		"both headers":           {"GET", "/v1/search?q=x", "", append(bearer("read-secret"), "X-API-Key", "read-secret"), 401, `error="invalid_request"`},
		"twice":                  {"GET", "/v1/search?q=x", "", append(bearer("read-secret"), bearer("admin-secret")...), 401, `error="invalid_request"`},
		"in the query":           {"GET", "/v1/search?q=x&key=read-secret", "", nil, 401, `Bearer`},
		"bearer":                 {"GET", "/v1/search?q=x", "", bearer("read-secret"), 200, ""},
		"bearer in small":        {"GET", "/v1/search?q=x", "", []string{"Authorization", "bearer read-secret"}, 200, ""},
		"plain header":           {"GET", "/v1/search?q=x", "", []string{"X-API-Key", "read-secret"}, 200, ""},
		"admin searches":         {"GET", "/v1/search?q=x", "", bearer("admin-secret"), 200, ""},
		"scope missing":          {"GET", "/v1/search?q=x", "", bearer("embed-secret"), 403, `error="insufficient_scope", scope="search"`},
		"embedding with search":  {"POST", "/v1/embed", `{"expert":"wiki","input":["x"]}`, bearer("read-secret"), 403, `scope="embed"`},
		"embedding":              {"POST", "/v1/embed", `{"expert":"wiki","input":["x"]}`, bearer("embed-secret"), 200, ""},
		"a passage":              {"GET", "/v1/passages/bees", "", bearer("read-secret"), 200, ""},
		"a passage without":      {"GET", "/v1/passages/bees", "", nil, 401, "Bearer"},
		"no hint of a passage":   {"GET", "/v1/passages/nobody", "", nil, 401, "Bearer"},
		"limits with any key":    {"GET", "/v1/limits", "", bearer("embed-secret"), 200, ""},
		"limits without":         {"GET", "/v1/limits", "", nil, 401, "Bearer"},
		"metrics without":        {"GET", "/metrics", "", nil, 401, "Bearer"},
		"metrics":                {"GET", "/metrics", "", bearer("read-secret"), 200, ""},
		"docs without":           {"GET", "/docs", "", nil, 401, "Bearer"},
		"guide without":          {"GET", "/guide/", "", nil, 401, "Bearer"},
		"contract without":       {"GET", "/openapi.json", "", nil, 401, "Bearer"},
		"health":                 {"GET", "/readyz", "", nil, 200, ""},
		"health with a bad key":  {"GET", "/livez", "", bearer("guess"), 200, ""},
		"any host name":          {"GET", "/v1/search?q=x", "", append(bearer("read-secret"), "Host", "search.example.org"), 200, ""},
		"a foreign page's GET":   {"GET", "/v1/search?q=x", "", append(bearer("read-secret"), "Origin", "https://evil.example"), 403, ""},
		"checked before reading": {"POST", "/v1/search", strings.Repeat(" ", 2<<20), []string{"Content-Type", "application/json"}, 401, "Bearer"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []string{}
			if c.method == http.MethodPost && len(c.header) == 2 && c.header[0] == "Authorization" {
				body = []string{"Content-Type", "application/json"}
			}
			r := s.send(c.method, c.path, c.body, append(body, c.header...)...)
			if r.StatusCode != c.status || !strings.Contains(r.Header.Get("WWW-Authenticate"), c.challenge) ||
				c.status == 401 && c.challenge == "" {
				t.Errorf("%d %.300s %q", r.StatusCode, r.body, r.Header.Get("WWW-Authenticate"))
			}
		})
	}
	log := s.log.String()
	if strings.Contains(log, "secret") {
		t.Error("a key is in the log")
	}
	if !strings.Contains(log, `"key":"reader"`) {
		t.Error("the name of the key is not in the log")
	}
}

func TestOpenPages(t *testing.T) {
	s := start(t, Options{Keys: testKeys(), OpenDocs: true, OpenMetrics: true})
	for path, status := range map[string]int{"/docs": 200, "/docs/docs.js": 200, "/guide/": 200, "/guide": 200, "/guide/pipeline.svg": 200, "/openapi.json": 200, "/openapi.yaml": 200, "/metrics": 200, "/v1/limits": 401} {
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != status {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// TestForeignPages plays a browser that shows a page of somebody else's.
func TestForeignPages(t *testing.T) {
	s := start(t, Options{AllowedHosts: []string{"conclave.test"}})
	_, port, _ := strings.Cut(s.address, ":")
	body := `{"question":"bees"}`
	for name, c := range map[string]struct {
		method string
		header []string
		status int
	}{
		"curl": {"POST", nil, 200},
		"own page": {"POST", []string{"Origin", "http://" + s.address, "Sec-Fetch-Site", "same-origin"},
			200},
		"own page, older browser": {"POST", []string{"Origin", "http://" + s.address}, 200},
		"foreign page": {"POST", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
			403},
		"foreign page, older browser": {"POST", []string{"Origin", "https://evil.example"}, 403},
		"sandboxed page":              {"POST", []string{"Origin", "null"}, 403},
		"another port of this machine": {"POST", []string{"Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"},
			403},
		"foreign page's GET":           {"GET", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, 403},
		"foreign page's image":         {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		"a link that somebody clicked": {"GET", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 200},
		"a form that was posted":       {"POST", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		"typed into the browser":       {"GET", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"}, 200},
		"preflight of a foreign page":  {"OPTIONS", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 403},
		"rebound name":                 {"POST", []string{"Host", "evil.example"}, 403},
		"rebound name and port":        {"GET", []string{"Host", "evil.example:" + port}, 403},
		"rebound name, like ours":      {"GET", []string{"Host", "localhost.evil.example"}, 403},
		"rebound name, own origin":     {"POST", []string{"Host", "evil.example:" + port, "Origin", "http://evil.example:" + port, "Sec-Fetch-Site", "same-origin"}, 403},
		"another address":              {"POST", []string{"Host", "192.0.2.1"}, 403},
		"localhost":                    {"POST", []string{"Host", "localhost"}, 200},
		"localhost, port":              {"POST", []string{"Host", "LOCALHOST:" + port}, 200},
		"localhost, full stop":         {"POST", []string{"Host", "localhost."}, 200},
		"other loopback address":       {"POST", []string{"Host", "127.8.9.10:80"}, 200},
		"IPv6 loopback":                {"POST", []string{"Host", "[::1]:80"}, 200},
		"configured name":              {"POST", []string{"Host", "Conclave.test:8080"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			path, text := "/v1/search", body
			header := c.header
			if c.method == http.MethodGet {
				path, text = "/v1/search?q=bees", ""
			} else if c.method == http.MethodPost {
				header = append([]string{"Content-Type", "application/json"}, header...)
			} else {
				text = ""
			}
			r := s.send(c.method, path, text, header...)
			if r.StatusCode != c.status {
				t.Errorf("%d %.300s", r.StatusCode, r.body)
			}
			if r.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("CORS is on")
			}
		})
	}
}

func TestCORS(t *testing.T) {
	s := start(t, Options{CORSOrigins: []string{"https://app.example"}})
	preflight := s.send(
		http.MethodOptions,
		"/v1/search",
		"",
		"Origin",
		"https://app.example",
		"Access-Control-Request-Method",
		"POST",
		"Access-Control-Request-Headers",
		"content-type,mcp-protocol-version,x-api-key",
	)
	if preflight.StatusCode >= 300 || preflight.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		!strings.Contains(strings.ToLower(preflight.Header.Get("Access-Control-Allow-Headers")), "mcp-protocol-version") {
		t.Errorf("%d %v", preflight.StatusCode, preflight.Header)
	}
	r := s.post("/v1/search", `{"question":"bees"}`, "Origin", "https://app.example", "Sec-Fetch-Site", "cross-site")
	if r.StatusCode != http.StatusOK || r.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		r.Header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	for _, origin := range []string{"https://evil.example", "http://app.example", "https://app.example.evil.example"} {
		if r := s.post("/v1/search", `{"question":"bees"}`, "Origin", origin); r.StatusCode != http.StatusForbidden ||
			r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, r.StatusCode, r.Header)
		}
	}
	all := start(t, Options{CORSOrigins: []string{"*"}, Keys: testKeys()})
	if r := all.post("/v1/search", `{"question":"bees"}`, "Origin", "https://any.example", "X-API-Key",
		"read-secret"); r.StatusCode != http.StatusOK ||
		r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
}

// openToAll stands for a listener on every address, without being one.
type openToAll struct{ closed bool }

func (l *openToAll) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (l *openToAll) Close() error              { l.closed = true; return nil }
func (l *openToAll) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }

func TestListen(t *testing.T) {
	open := newAPI(t, Options{})
	for address, loopback := range map[string]bool{"127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.7:0": false} {
		l, err := open.Listen(t.Context(), address)
		if err == nil {
			_ = l.Close()
		}
		if (err == nil) != loopback || err != nil && !strings.Contains(err.Error(), "auth.keys") {
			t.Errorf("%s: %v", address, err)
		}
	}
	// Nor does a listener from elsewhere get around it.
	l := &openToAll{}
	if err := open.Serve(t.Context(), l, ServeOptions{}); err == nil || !strings.Contains(err.Error(), "auth.keys") ||
		!l.closed {
		t.Errorf("%v", err)
	}
	for _, o := range []Options{{Keys: testKeys()}, {AuthDisabled: true}} {
		api := newAPI(t, o)
		if err := api.checkListener(l); err != nil {
			t.Errorf("with %d keys, disabled %v: %v", len(o.Keys), o.AuthDisabled, err)
		}
	}
	taken, err := open.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, err = open.Listen(t.Context(), taken.Addr().String())
	if inUse := new(AddressInUseError); !errors.As(err, &inUse) || inUse.Address != taken.Addr().String() {
		t.Errorf("an address in use: %v", err)
	}
	if _, err := open.Listen(t.Context(), "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "port") {
		t.Errorf("%v", err)
	}
}

func TestRateLimit(t *testing.T) {
	s := start(t, Options{Keys: testKeys(), RateRequests: 3, RateWindow: time.Hour})
	for n := range 5 {
		r := s.send(http.MethodGet, "/v1/limits", "", "X-API-Key", "read-secret")
		want := http.StatusOK
		if n >= 3 {
			want = http.StatusTooManyRequests
		}
		if r.StatusCode != want || want == 429 && r.Header.Get("Retry-After") == "" {
			t.Errorf("request %d: %d %v", n, r.StatusCode, r.Header)
		}
	}
	if r := s.send(http.MethodGet, "/v1/limits", "", "X-API-Key", "embed-secret"); r.StatusCode != http.StatusOK {
		t.Errorf("another key: %d", r.StatusCode)
	}
	// Guessing keys is counted by address, and health is not counted at all.
	for range 3 {
		s.send(http.MethodGet, "/v1/limits", "", "X-API-Key", "guess")
	}
	if p := s.send(http.MethodGet, "/v1/limits", "", "X-API-Key", "another guess").problem(t); p.Code != "rate_limited" {
		t.Errorf("%+v", p)
	}
	for range 10 {
		if r := s.send(http.MethodGet, "/livez", ""); r.StatusCode != http.StatusOK {
			t.Fatalf("health: %d", r.StatusCode)
		}
	}
}

// TestForwardedFor believes a header of trusted proxies alone.
func TestForwardedFor(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		o := Options{RateRequests: 1, RateWindow: time.Hour}
		if trusted {
			o.TrustedProxies = []string{"127.0.0.0/8"}
		}
		s := start(t, o)
		first := s.send(http.MethodGet, "/v1/limits", "", "X-Forwarded-For", "198.51.100.1")
		second := s.send(http.MethodGet, "/v1/limits", "", "X-Forwarded-For", "198.51.100.2")
		if first.StatusCode != 200 || (second.StatusCode == 200) != trusted {
			t.Errorf("trusted %v: %d, %d", trusted, first.StatusCode, second.StatusCode)
		}
		if strings.Contains(s.log.String(), "198.51.100.1") != trusted {
			t.Errorf("trusted %v: %s", trusted, s.log)
		}
	}
}
