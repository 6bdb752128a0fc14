package handlers

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"conclave/search"
)

// TestAnotherEngine puts another engine in the first one's place while a search
// is under way: the search ends with the engine that it began with, the next
// one has the other, and only then the first is idle.
func TestAnotherEngine(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	s := start(t, Options{Engine: testEngine(t, engineOptions{before: gate(entered, release), limits: search.Limits{Timeout: time.Minute}})})
	const body = `{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`
	answered := make(chan int, 1)
	go func() {
		response, err := s.client.Post("http://"+s.address+"/v1/search", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	<-entered
	other := testEngine(t, engineOptions{limits: search.Limits{Timeout: time.Minute}})
	idle := s.api.Attach(other)
	if r := s.post("/v1/search", body); r.StatusCode != http.StatusOK { // does not wait at the gate
		t.Errorf("with the other engine: %d", r.StatusCode)
	}
	select {
	case <-idle:
		t.Fatal("the first engine is idle with a search under way")
	default:
	}
	close(release)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the search under way: %d", status)
	}
	select {
	case <-idle:
	case <-time.After(20 * time.Second):
		t.Fatal("the first engine does not become idle")
	}
	select {
	case <-s.api.Attach(testEngine(t, engineOptions{limits: search.Limits{Timeout: time.Minute}})): // nobody uses the second one
	case <-time.After(20 * time.Second):
		t.Fatal("the second engine does not become idle")
	}
	if err := other.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if r := s.post("/v1/search", body); r.StatusCode != http.StatusOK {
		t.Errorf("with the third engine: %d", r.StatusCode)
	}
}
