package experts

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// remoteModel serves vectors of five numbers by OpenAI's interface. model decides about them; noise is a share of each.
type remoteModel struct {
	*httptest.Server
	model, noise atomic.Int64
}

func newRemoteModel(t *testing.T) *remoteModel {
	m := &remoteModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		if slices.ContainsFunc(in.Input, func(text string) bool { return strings.HasPrefix(text, "~") }) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		var data []any
		for i, text := range in.Input {
			v := make([]float64, 5)
			for n := range v {
				seed := int64(len(text)+1) * (int64(n) + 3) * (7 + 10*m.model.Load())
				v[n] = (float64(seed%13) - 6) * (1 + float64(m.noise.Load())*float64(n)/10000)
			}
			data = append(data, map[string]any{"index": i, "embedding": v})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(m.Close)
	return m
}

// openAway returns a set with the expert away of a model, for a collection with the stored experts.
func (m *remoteModel) openAway(t *testing.T, cache string, stored []store.Expert) (*Set, error) {
	config := configs.Defaults()
	config.Cache = cache
	config.Experts = []configs.Expert{{Name: "away", Address: m.URL + "/v1", Model: "m", Timeout: time.Second}}
	x, err := OpenNamed(config, slog.New(slog.DiscardHandler), []string{"away"}, stored)
	if err == nil {
		t.Cleanup(func() { _ = x.Close() })
	}
	return x, err
}

// TestRemoteExpertIsKnownAgain opens an expert for several collections: its fingerprint stays the same with noise, and
// a collection does not take another model, when it is opened and when the model changes later.
func TestRemoteExpertIsKnownAgain(t *testing.T) {
	m := newRemoteModel(t)
	cache := t.TempDir()
	x, err := m.openAway(t, cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := x.Searched[0]
	if e.Dimension() != 5 || e.Remote() == nil || !strings.HasPrefix(e.Fingerprint(), "endpoint-1:") {
		t.Fatalf("%d numbers, %+v, %s", e.Dimension(), e.Remote(), e.Fingerprint())
	}
	m.noise.Store(30)
	for _, stored := range [][]store.Expert{nil, {{Name: "away", Fingerprint: e.Fingerprint(), Dimension: 5}}} {
		again, err := m.openAway(t, cache, stored)
		if err != nil || again.Searched[0].Fingerprint() != e.Fingerprint() {
			t.Errorf("with %d stored: %v", len(stored), err)
		}
	}
	if !e.Continues(e.Fingerprint()) || e.Continues("668958aa41c7") {
		t.Error("what the expert continues")
	}
	vectors, err := e.EncodePassages(t.Context(), []corpus.Passage{{Title: "A", Text: "b"}, {Text: " "}})
	if err != nil || len(vectors) != 2 || vectors[1][0] != 0 {
		t.Errorf("%v, %v", vectors, err)
	}
	_, err = e.EncodePassages(t.Context(), []corpus.Passage{{ID: "a"}, {ID: "b", Text: "x"}, {ID: "c", Text: "~secret"}})
	if err == nil || !strings.Contains(err.Error(), `passage "c"`) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a passage that is refused: %v", err)
	}
	m.model.Store(1)
	changed := new(ChangedError)
	stored := []store.Expert{{Name: "away", Fingerprint: e.Fingerprint(), Dimension: 5}}
	_, err = m.openAway(t, cache, stored)
	if !errors.As(err, &changed) || !strings.Contains(err.Error(), "add it again") {
		t.Errorf("another model: %v", err)
	}
	if _, err := e.Encoder.(*remoteEncoder).Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encoder.EncodeQuestion(t.Context(), "why"); !errors.As(err, &changed) {
		t.Errorf("a question after the model changed: %v", err)
	}
	if _, err := e.EncodePassages(t.Context(), []corpus.Passage{{Text: "b"}}); !errors.As(err, &changed) {
		t.Errorf("a passage after the model changed: %v", err)
	}
	m.Close()
	away, err := m.openAway(t, cache, stored)
	if err != nil || away.Searched[0].Dimension() != 5 {
		t.Errorf("a model that does not answer: %v", err)
	}
	if _, err := m.openAway(t, cache, nil); err == nil {
		t.Error("a new collection takes a model that does not answer")
	}
}
