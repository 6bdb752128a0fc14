package realclients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Model is a model's server whose answers a test writes: OpenAI's chat interface.
type Model struct {
	URL string // of the interface: http://127.0.0.1:40123/v1

	mu     sync.Mutex
	script http.HandlerFunc
	asked  []string // the last message of each request
}

// NewModel returns a server with OpenAI's chat interface, which runs until the test ends. Call Serve or Say before
// the first question; GET /v1/models works without.
func NewModel(tb testing.TB) *Model {
	tb.Helper()
	m := &Model{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model","created":1,"owned_by":"test"}]}`)
			return
		}
		var request struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &request)
		}
		if err != nil || len(request.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		m.mu.Lock()
		r.Body = io.NopCloser(bytes.NewReader(body)) // for the script
		script := m.script
		m.asked = append(m.asked, request.Messages[len(request.Messages)-1].Content)
		m.mu.Unlock()
		script(w, r)
	}))
	tb.Cleanup(server.Close)
	m.URL = server.URL + "/v1"
	return m
}

// Serve has script answer all further questions, and forgets what Asked returned. script can read the body of the
// request.
func (m *Model) Serve(script http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
	m.asked = nil
}

// Say has all further questions answered with these pieces, streamed one after the other, and forgets what Asked
// returned.
func (m *Model) Say(pieces ...string) {
	m.Serve(func(w http.ResponseWriter, _ *http.Request) {
		for _, piece := range pieces {
			WritePiece(w, piece, "")
		}
		WritePiece(w, "", "stop")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
}

// Asked returns the last message of each request since the last Serve or Say, in the order of the requests.
func (m *Model) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.asked...)
}

// WritePiece writes one event of a streamed answer and flushes it. finish is the reason why the answer ends, such as
// "stop"; "" if it goes on.
func WritePiece(w http.ResponseWriter, text, finish string) {
	var ended *string
	if finish != "" {
		ended = &finish
	}
	data, _ := json.Marshal(map[string]any{ // strings alone
		"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "delta": map[string]string{"content": text}, "finish_reason": ended}},
	})
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
	_ = http.NewResponseController(w).Flush()
}
