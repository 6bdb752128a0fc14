package opensearch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// leaderOf returns the number of the node that leads a cluster.
func leaderOf(t *testing.T, client *cluster.Client) int {
	t.Helper()
	var nodes []struct {
		Name string `json:"name"`
		Mark string `json:"cluster_manager"`
	}
	decode(t, client, "GET", "/_cat/nodes?format=json&h=name,cluster_manager", nil, &nodes)
	for _, n := range nodes {
		var number int
		if _, err := fmt.Sscanf(n.Name, "node-%d", &number); err == nil && n.Mark == "*" {
			return number
		}
	}
	t.Fatalf("no leader: %+v", nodes)
	return 0
}

// TestStoppedNode: while a node is stopped, an ordinary one and then the leader, everything that a question and a
// look ask for comes from the others. The cluster itself takes half a minute to go on without the node.
func TestStoppedNode(t *testing.T) {
	c := testcluster.Start(t, 3)
	client := nodesOf(t, c)
	index := testIndex(t, client, "stopped-node")
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3, Replicas: 1}, &list{passages: tagged(12, 200)},
		store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Analysis: forms.Unicode}}, ""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	far, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	leader := leaderOf(t, client)
	word := 0
	for what, victim := range map[string]int{"leader": leader, "another": (leader + 1) % 3} {
		// Whatever was asked for before is forgotten: also the routes, as after a start.
		far.kept.Store(nil)
		far.shards.ids = map[int]string{}
		if err := c.Stop(victim); err != nil {
			t.Fatal(err)
		}
		within := func(asks string, ask func(context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if err := ask(ctx); err != nil {
				t.Errorf("%s stopped: %s: %v", what, asks, err)
			}
		}
		for range 6 { // the nodes are asked in turn
			word++
			within("counts", func(ctx context.Context) error {
				_, err := far.termCounts(ctx, []entry{{schema.FieldWords, fmt.Sprint("w", word)}})
				return err
			})
		}
		within("facet", func(ctx context.Context) error {
			_, err := far.Acquire().(*view).Facet(ctx, "field", 3)
			return err
		})
		within("words", func(ctx context.Context) error {
			far.lexicon.Store(nil)
			return far.ReadWords(ctx)
		})
		within("opening", func(ctx context.Context) error {
			target, err := Open(ctx, far.Store().client, index)
			if err != nil {
				return err
			}
			again, err := NewCorpus(ctx, target)
			if err == nil && again.Known().Passages != 200 {
				err = fmt.Errorf("%d passages", again.Known().Passages)
			}
			return err
		})
		within("look", func(ctx context.Context) error { _, err := far.Look(ctx); return err })
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// countedTurns counts turns that are taken and not given back.
type countedTurns struct{ taken atomic.Int64 }

func (c *countedTurns) Turn(context.Context) (func(), error) {
	c.taken.Add(1)
	return func() { c.taken.Add(-1) }, nil
}

// TestFilterKeepsNoTurn: what a filter lets through is counted beside the step that asks for it, which gives its turn
// back once, also where the count comes after its end.
func TestFilterKeepsNoTurn(t *testing.T) {
	arrived, answer := make(chan bool, 1), make(chan bool)
	client := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "_msearch") {
			return
		}
		arrived <- true
		<-answer
		_, _ = io.WriteString(w, `{"responses":[{"_shards":{"total":1,"successful":1},"hits":{"total":{"value":7},"hits":[]}}]}`)
	}))
	c := &Corpus{}
	m := &schema.Manifest{Words: schema.WordsOf(bm25.DefaultParams())}
	c.store.Store(&Store{client: client, index: "x", about: schema.Meta{Manifest: m}})
	c.shared.Store(&shared{table: newTable(9)})
	turns := &countedTurns{}
	var count func(context.Context) (int, error)
	err := turn.Do(t.Context(), turns, func(ctx context.Context) (err error) {
		_, count, err = c.Acquire().(*view).Among(ctx, storage.Filter{TagsAny: []string{"a"}})
		<-arrived
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	close(answer)
	if n, err := count(t.Context()); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n := turns.taken.Load(); n != 0 {
		t.Errorf("%d turns are kept", n)
	}
}
