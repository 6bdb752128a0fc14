package handlers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// cannedEngine answers at once, so that what is measured is this package.
type cannedEngine struct {
	Engine
	response reply.Response
}

func (e cannedEngine) Search(context.Context, search.Caller, search.Request) (reply.Response, error) {
	return e.response, nil
}

// BenchmarkSearch measures what HTTP adds to a search: routing, checks, strict
// decoding, encoding of ten results, metrics; without the network.
func BenchmarkSearch(b *testing.B) {
	engine := testEngine(b, engineOptions{})
	request := search.Request{Question: "how do bees find their way back to the hive"}
	response, err := engine.Search(b.Context(), search.Caller{}, request)
	if err != nil {
		b.Fatal(err)
	}
	api := newAPI(b, Options{Engine: cannedEngine{engine, response}})
	const body = `{"question":"how do bees find their way back to the hive","k":10,"fusion":"rrf","experts":["wiki","health"]}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/search", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body.String())
		}
	}
}
