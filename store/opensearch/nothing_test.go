package opensearch

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
)

// broken is a corpus whose searches all fail, each with an error, or not before their time is over.
// Late interaction scores as it does.
type broken struct {
	storage.Corpus
	err error // nil: they hang
}

type brokenView struct {
	storage.View
	err error
}

func (b broken) Acquire() storage.View { return brokenView{b.Corpus.Acquire(), b.err} }

func (v brokenView) fail(ctx context.Context) ([]rank.Hit, error) {
	if v.err == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, v.err
}

type brokenWords struct {
	storage.WordIndex
	view brokenView
}

func (w brokenWords) Search(ctx context.Context, _ string, _ int) ([]rank.Hit, error) {
	return w.view.fail(ctx)
}

type brokenVectors struct {
	storage.VectorIndex
	view brokenView
}

func (x brokenVectors) Search(ctx context.Context, _ []float32, _ int, _ bool) ([]rank.Hit, error) {
	return x.view.fail(ctx)
}

func (v brokenView) Words() storage.WordIndex { return brokenWords{v.View.Words(), v} }

func (v brokenView) Phrases() storage.WordIndex {
	if phrases := v.View.Phrases(); phrases != nil {
		return brokenWords{phrases, v}
	}
	return nil
}

func (v brokenView) Vectors(expert string) (storage.VectorIndex, bool) {
	index, ok := v.View.Vectors(expert)
	if info, _ := v.Index(expert); info.Kind == reply.KindLate {
		return index, ok
	}
	return brokenVectors{index, v}, ok
}

// TestNothingAnswers: where no source that searches answers, an answer is an error, never one without
// results, although late interaction could score: of faults that are injected into a folder and a store,
// and where nodes hang, are not there, or the index is deleted. What was answered before is answered
// again when the nodes go on.
func TestNothingAnswers(t *testing.T) {
	nodes := testcluster.Start(t, 3)
	client := nodesOf(t, nodes)
	const index = "nothing-answers"
	options := store.BuildOptions{Words: bm25.Params{K1: .9, B: .4, Phrases: true}, Index: store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{hashed{name: "base"}, hashed{name: "tokens", late: true}}}
	far, near := built(t, index, tagged(7, 60), 3, options)
	r := search.Request{Question: "w1 w2 w3", MinConfidence: .01}
	fails := func(what string, of storage.Corpus, want ...fault.ErrorKind) {
		t.Helper()
		began := time.Now()
		r := r
		r.TimeoutMS = 2000
		answer, err := confident(t, of).Search(t.Context(), search.Caller{}, r)
		var problem *fault.Error
		if !errors.As(err, &problem) || problem.Kind != want[0] && problem.Kind != want[len(want)-1] {
			t.Errorf("%s: after %v %+v, %v", what, time.Since(began), answer, err)
		}
	}
	answers := func(what string, of storage.Corpus) {
		t.Helper()
		answer, err := confident(t, of).Search(t.Context(), search.Caller{}, r)
		if err != nil || len(answer.Results) != 10 || len(answer.Degraded) > 0 {
			t.Errorf("%s: %+v, %v", what, answer, err)
		}
	}
	for what, of := range map[string]storage.Corpus{"store": far, "folder": near} {
		answers(what, of)
		fails(what+" fails", broken{of, io.ErrUnexpectedEOF}, fault.Unavailable)
		fails(what+" hangs", broken{of, nil}, fault.Deadline)
	}
	proxy := &silence{to: client, path: "/_msearch"}
	slow := behind(t, proxy)
	target, err := Open(t.Context(), slow, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	proxy.on.Store(true)
	fails("searches that hang", shown, fault.Deadline)
	for i := range nodes.URLs {
		if err := nodes.Stop(i); err != nil {
			t.Fatal(err)
		}
	}
	fails("all nodes hang", far, fault.Deadline, fault.Unavailable)
	if err := nodes.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	answers("the nodes go on", far)
	if _, err := client.Do(t.Context(), "DELETE", "/"+index, nil); err != nil {
		t.Fatal(err)
	}
	fails("the index is deleted", far, fault.Unavailable)
	if found := indexesLike(t, client, index); len(found) > 2 { // the registers, and their alias
		t.Errorf("there are %q", found)
	}
}
