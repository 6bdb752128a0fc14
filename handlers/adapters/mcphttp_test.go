package adapters_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
)

// post sends a message to /mcp, with headers by name.
func (s *site) post(body string, headers map[string]string) (response *http.Response, answer []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header[name] = []string{value}
	}
	response, err = http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, answer
}

const fetchCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"rice"}}}`

// versions are those of the protocol, "" for a request that names none.
var versions = []string{"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// TestNoLists: a list of calls is refused in every version of the protocol, with spaces
// before it too, whether it has many calls or one; each call by itself is answered.
func TestNoLists(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	var calls []string
	for i := range 50 {
		calls = append(calls, fmt.Sprintf(fetchCall, i))
	}
	for _, version := range versions {
		headers := map[string]string{"Accept": "application/json, text/event-stream"}
		if version != "" {
			headers["Mcp-Protocol-Version"] = version
		}
		for _, list := range []string{"[" + strings.Join(calls, ",") + "]", " \r\n\t[" + calls[0] + "]", "[]"} {
			response, answer := s.post(list, headers)
			if !isProblem(response, answer, "invalid_message") {
				t.Errorf("%q, %.60s: %d %.200s", version, list, response.StatusCode, answer)
			}
		}
		if version == "2026-07-28" { // which asks for more than a call of the versions before
			continue
		}
		if response, answer := s.post(calls[0], headers); response.StatusCode != http.StatusOK ||
			!strings.Contains(string(answer), "Cooked rice") {
			t.Errorf("%q: %d %.300s", version, response.StatusCode, answer)
		}
	}
}

// isProblem reports whether an answer is a problem (RFC 9457) with a code.
func isProblem(r *http.Response, answer []byte, code string) bool {
	var p struct {
		Code, Detail string
		Status       int
	}
	return r.StatusCode >= 400 && r.Header.Get("Content-Type") == "application/problem+json" &&
		json.Unmarshal(answer, &p) == nil &&
		p.Code == code &&
		p.Status == r.StatusCode &&
		p.Detail != ""
}

// TestAcceptsJSON: whoever takes JSON is answered, and what is refused below the protocol is
// a problem.
func TestAcceptsJSON(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	call := fmt.Sprintf(fetchCall, 7)
	for _, accept := range []string{"application/json", "*/*", "", "application/*", "text/event-stream, application/json;q=0.5", "application/json; charset=utf-8", "-"} {
		headers := map[string]string{"Accept": accept}
		if accept == "-" {
			delete(headers, "Accept")
		}
		response, answer := s.post(call, headers)
		var message struct {
			ID     int
			Result struct{ StructuredContent struct{ Text string } }
		}
		if err := json.Unmarshal(answer, &message); err != nil || response.StatusCode != 200 ||
			response.Header.Get("Content-Type") != "application/json" ||
			message.ID != 7 ||
			message.Result.StructuredContent.Text != "Cooked rice keeps for a day in the fridge." {
			t.Errorf("%q: %d %.300s", accept, response.StatusCode, answer)
		}
	}
	for _, c := range []struct {
		body, code string
		headers    map[string]string
	}{
		{call, "not_acceptable", map[string]string{"Accept": "image/png"}},
		{call, "not_acceptable", map[string]string{"Accept": "text/event-stream"}},
		{call, "unsupported_media_type", map[string]string{"Content-Type": "text/plain"}},
		{call, "invalid_message", map[string]string{"Mcp-Protocol-Version": "1999-01-01"}},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "invalid_message", nil},
		{`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`, "invalid_message", nil},
		{`{"jsonrpc":"1.0"`, "invalid_message", nil},
		{`7`, "invalid_message", nil},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"` + strings.Repeat("x", 80<<10) + `"}}}`, "body_too_large", nil},
	} {
		if response, answer := s.post(c.body, c.headers); !isProblem(response, answer, c.code) {
			t.Errorf("%.80s %v: %d %s", c.body, c.headers, response.StatusCode, answer)
		}
	}
	if response, answer := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		nil); response.StatusCode != http.StatusAccepted ||
		len(answer) > 0 {
		t.Errorf("a notification: %d %s", response.StatusCode, answer)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status, answer := s.send(method, "/mcp", nil); status != http.StatusMethodNotAllowed ||
			!strings.Contains(string(answer), `"method_not_allowed"`) {
			t.Errorf("%s: %d %s", method, status, answer)
		}
	}
}

// TestToolArguments: a call that lacks an argument, or has one that is not known or of
// another type, is answered by saying so, for the model to read.
func TestToolArguments(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	for arguments, says := range map[string]string{`{}`: `"id" is missing`, `{"id":"rice","more":1}`: "more", `{"id":7}`: "number", `{"id":null,"x":[]}`: "x", `[]`: "JSON"} {
		_, answer := s.post(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":`+arguments+`}}`,
			nil,
		)
		var message struct {
			Result struct {
				IsError bool
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(answer, &message); err != nil || !message.Result.IsError ||
			len(message.Result.Content) != 1 ||
			!strings.Contains(message.Result.Content[0].Text, says) {
			t.Errorf("%s: %v %s", arguments, err, answer)
		}
	}
}

// TestNotes: what the API says of a question beside its passages, every interface hands on:
// here that no expert knows a word of it, and that a source did not take part.
func TestNotes(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Experts = append(c.Experts, configs.Expert{Name: "away", Bundle: "/nowhere"})
	}})
	const question = "ཀཁགངཅཆཇཉཏཐདནཔཕབམ"
	want := s.search(search.Request{Question: question, K: 5}).Notes
	if len(want) == 0 {
		t.Fatal("there is no note, and this test needs one")
	}
	session := connect(t, s)
	for _, tool := range []string{"search", "explain"} {
		var got struct{ Notes []string }
		if call(t, session, tool, object{"query": question}, &got); !startsWith(got.Notes, want) {
			t.Errorf("%s: %q, want %q", tool, got.Notes, want)
		}
	}
	var dify struct {
		Notes   []string
		Records []struct{ Metadata struct{ Notes []string } }
	}
	s.ask(
		http.MethodPost,
		"/retrieval",
		object{"knowledge_id": "c", "query": question, "retrieval_setting": object{"top_k": 2}},
		&dify,
	)
	if !startsWith(dify.Notes, want) || len(dify.Records) > 0 && !startsWith(dify.Records[0].Metadata.Notes, want) {
		t.Errorf("Dify: %+v, want %q", dify, want)
	}
	var page struct{ Notes []string }
	s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": question}, &page)
	if !startsWith(page.Notes, want) {
		t.Errorf("a vector store: %q, want %q", page.Notes, want)
	}
}

func startsWith(got, want []string) bool {
	return len(got) >= len(want) && strings.Join(got[:len(want)], "\n") == strings.Join(want, "\n")
}
