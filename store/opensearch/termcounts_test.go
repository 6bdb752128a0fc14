package opensearch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// TestInexactCounts: where a shard does not count words in time, what they are used for comes all the same, and says
// that they are not exact, again each time that the question asks; none are kept for the next one.
func TestInexactCounts(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, 3)
	client := nodesOf(t, c)
	index := testIndex(t, client, "inexact-counts")
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3}, &list{passages: tagged(12, 200)},
		store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true, Analysis: forms.Unicode}}, ""); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.URLs[0])
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	ended := make(chan struct{})
	var mu sync.Mutex
	hangs, answered := "", ""
	held := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_termvectors") {
			route := r.URL.Query().Get("routing")
			mu.Lock()
			if hangs == "the first" {
				hangs = route
			}
			wait := route == hangs
			answered = route
			mu.Unlock()
			if wait {
				select {
				case <-r.Context().Done():
				case <-ended:
				}
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { close(ended) }) // before the end of the server, which waits for what it serves
	target, err := Open(t.Context(), held, index)
	if err != nil {
		t.Fatal(err)
	}
	far, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	const question = "w1 w2 w5 w17"
	// bounds returns what counts decide, of a question of its own.
	bounds := func() (bound, idf float64, errs [3]error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		v := far.Acquire()
		defer v.Release()
		hits, err := v.Words().Search(ctx, question, 10)
		if len(hits) != 10 {
			t.Errorf("%d hits, %v", len(hits), err)
		}
		errs[0] = err
		bound, errs[1] = v.Words().UpperBound(ctx, question)
		rarities, err := v.Words().Rarities(ctx, []string{question})
		errs[2] = err
		if len(rarities) != 1 || len(rarities[0]) == 0 {
			t.Fatalf("rarities: %v, %v", rarities, err)
		}
		return bound, rarities[0][0].IDF, errs
	}
	mu.Lock()
	hangs = "the first"
	mu.Unlock()
	partBound, partIDF, errs := bounds()
	var partial *storage.PartialError
	for i, err := range errs {
		if !errors.As(err, &partial) || partial.Reason != countedPartly {
			t.Errorf("while a shard does not count, %d: %v", i, err)
		}
	}
	mu.Lock()
	hangs, answered = "", ""
	mu.Unlock()
	bound, idf, errs := bounds()
	for i, err := range errs {
		if err != nil {
			t.Errorf("afterwards, %d: %v", i, err)
		}
	}
	if answered == "" || bound == partBound || idf == partIDF {
		t.Errorf("counts of two shards are kept: the bound is %v, and was %v", bound, partBound)
	}
}
