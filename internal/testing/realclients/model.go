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

// NewModel returns a model's server, which serves until the test ends.
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

// Serve lets a function answer from now on.
func (m *Model) Serve(script http.HandlerFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
	m.asked = nil
}

// Say lets it answer with these pieces from now on, one after the other.
func (m *Model) Say(pieces ...string) {
	m.Serve(func(w http.ResponseWriter, _ *http.Request) {
		for _, piece := range pieces {
			WritePiece(w, piece, "")
		}
		WritePiece(w, "", "stop")
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	})
}

// Asked returns the last message of each request since Serve or Say.
func (m *Model) Asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.asked...)
}

// WritePiece writes a piece of a streamed answer; finish is why it ends, "" where it goes on.
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
