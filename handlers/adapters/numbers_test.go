package adapters_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/handlers/adapters"
	"example.org/conclave/internal/testing/realclients"
)

// digits are those of a number that no float64 has.
const digits = "1546130668394913822"

const numbered = `{"id":"n","title":"Numerals","text":"Numerals of the moon.","metadata":{"post":` + digits + `,"whole":7.0}}
{"id":"t","title":"A title about saffron"}
`

// TestNumbersToTheDigit: metadata has the digits that were sent, in every format.
func TestNumbersToTheDigit(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: numbered})
	for path, body := range map[string]any{
		"/mcp":                       object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "fetch", "arguments": object{"id": "n"}}},
		"/retrieval":                 object{"knowledge_id": "c", "query": "numerals", "retrieval_setting": object{"top_k": 1, "score_threshold": 0}},
		"/v1/vector_stores/c/search": object{"query": "numerals"},
	} {
		answer := s.asked(t, path, body)
		if n := strings.Count(answer, `"post":`+digits) + strings.Count(answer, `"post\":`+digits); n == 0 ||
			path == "/mcp" && n != 2 ||
			!strings.Contains(answer, ":7.0") {
			t.Errorf("%s: %s", path, answer)
		}
	}
}

// TestTitleAsContent: what a passage says is its title where it has no text.
func TestTitleAsContent(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: numbered})
	for path, c := range map[string]struct {
		body any
		want string
	}{
		"/mcp":                       {object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "search", "arguments": object{"query": "saffron"}}}, `"text":"A title about saffron"`},
		"/retrieval":                 {object{"knowledge_id": "c", "query": "saffron", "retrieval_setting": object{"top_k": 1, "score_threshold": 0}}, `"content":"A title about saffron"`},
		"/v1/vector_stores/c/search": {object{"query": "saffron"}, `"text":"A title about saffron"`},
	} {
		if answer := s.asked(t, path, c.body); !strings.Contains(answer, c.want) {
			t.Errorf("%s: %s", path, answer)
		}
	}
}

// asked returns an answer as it is written.
func (s *site) asked(t *testing.T, path string, body any) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(text(t, body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", path, response.StatusCode, err, answer)
	}
	return string(answer)
}

// TestRelayedNumbers: so has a program that calls the tools through another one.
func TestRelayedNumbers(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Passages: numbered})
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- adapters.RelayTools(t.Context(), s.url, "", in, out)
		_ = out.Close()
	}()
	read := bufio.NewReader(answers)
	for i, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"n"}}}`,
	} {
		if _, err := fmt.Fprintln(asks, message); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			continue
		}
		line, err := read.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 && bytes.Count(line, []byte(digits)) != 2 {
			t.Errorf("%s", line)
		}
	}
	_ = asks.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// text returns a body as JSON.
func text(t *testing.T, body any) string {
	t.Helper()
	out, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
