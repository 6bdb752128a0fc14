package endpoints

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testKey = "sk-secret-key"
	secret  = "the vault's code is 4711"
)

// fakeServer is a server of all interfaces, whose model gives a text pseudo-random numbers.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []map[string]any // decoded, in the order in which they came
	paths    []string
	keys     []string
	answered int // texts
	// before is called first with the number of the request, from 1, and its texts; if it returns true, it has answered.
	before func(n int, texts []string, w http.ResponseWriter) bool
	model  string // decides about the numbers
}

func newFake(t *testing.T) *fakeServer {
	t.Helper()
	f := &fakeServer{model: "a"}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// vectorOf returns eight numbers for a text by a model, not of unit length.
func vectorOf(model, text string) []float32 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, model, "\n", text)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, 8)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var texts []string
	for _, name := range []string{"input", "inputs", "texts", "documents"} {
		list, _ := in[name].([]any)
		for _, x := range list {
			texts = append(texts, x.(string))
		}
	}
	f.mu.Lock()
	f.requests = append(f.requests, in)
	f.paths = append(f.paths, r.URL.Path)
	f.keys = append(f.keys, r.Header.Get("Authorization"))
	n := len(f.requests)
	before, model := f.before, f.model
	f.mu.Unlock()
	if before != nil && before(n, texts, w) {
		return
	}
	f.mu.Lock()
	f.answered += len(texts)
	f.mu.Unlock()
	var out any
	switch {
	case r.URL.Path == "/v1/embeddings":
		data := []any{}
		for i := range texts { // the last first
			at := len(texts) - 1 - i
			data = append(data, map[string]any{"index": at, "embedding": vectorOf(model, texts[at])})
		}
		out = map[string]any{"data": data, "usage": map[string]any{"total_tokens": 7 * len(texts)}}
	case strings.HasSuffix(r.URL.Path, "/embed"):
		var all [][]float32
		for _, text := range texts {
			all = append(all, vectorOf(model, text))
		}
		out = all
		if _, isCohere := in["texts"]; isCohere {
			out = map[string]any{
				"embeddings": map[string]any{"float": all},
				"meta":       map[string]any{"billed_units": map[string]any{"input_tokens": 5}},
			}
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// seen returns how many requests came, and how many texts were answered.
func (f *fakeServer) seen() (requests, texts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests), f.answered
}

// set changes what the server does.
func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// options are those of an Embedder for the fake's OpenAI interface.
func (f *fakeServer) options() Options {
	return Options{
		Server: Server{
			Interface: OpenAI, Address: f.URL + "/v1", Model: "m", Key: testKey, Timeout: 5 * time.Second,
		},
		Batch: 8, RequestTokens: 1000, Concurrency: 2, QuestionTime: 5 * time.Second, Patience: 10 * time.Second,
		FirstWait: time.Millisecond, CacheEntries: 10,
	}
}

func open(t *testing.T, o Options) *Embedder {
	t.Helper()
	e, err := NewEmbedder(o, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}
