package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// nodesOf returns a client of all nodes of a cluster.
func nodesOf(t *testing.T, c *testcluster.Cluster) *cluster.Client {
	t.Helper()
	var nodes []*url.URL
	for _, text := range c.URLs {
		node, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	client, err := cluster.NewClient(nodes, cluster.Access{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// acknowledged is what a writer of a test knows of its passages: nil of those that it deleted.
type acknowledged map[string]*corpus.Passage

// TestKilledNodes: nodes are killed and stopped one after another, while passages are
// added, replaced and deleted. No write fails. Afterwards every copy of every shard has
// each acknowledged passage, in its words and in the vectors of each expert, and none that
// was deleted. In a long test a node is stopped until the cluster goes on without it.
func TestKilledNodes(t *testing.T) {
	c := testcluster.Start(t, 3)
	client := nodesOf(t, c)
	index := testIndex(t, client, "killed-nodes")
	const seed = 11
	t.Logf("seed %d", seed)
	experts := []store.PassageEncoder{hashed{name: "plain"}, hashed{name: "other"}, hashed{name: "tokens", late: true}}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true}, Experts: experts}
	first := corpus.Passage{ID: "first", Text: "common"}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3, Replicas: 1}, &list{passages: []corpus.Passage{first}}, options, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := NewWriter(target, experts, nil)
	if err != nil {
		t.Fatal(err)
	}

	ending, end := context.WithCancel(t.Context())
	defer end()
	const writers = 3
	known := make([]acknowledged, writers)
	var working sync.WaitGroup
	for w := range writers {
		known[w] = acknowledged{}
		working.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(w)))
			for ending.Err() == nil {
				if err := change(t.Context(), writer, random, w, known[w]); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	victims := rand.New(rand.NewPCG(seed, writers))
	const few = 2
	many := testcluster.Rounds(t, few)
	for round := range many {
		time.Sleep(time.Second)
		victim := victims.IntN(3)
		away := c.Kill
		apart := 2 * time.Second // writes go on without it
		if round%2 == 1 {
			away = c.Stop
			if many > few {
				apart = 45 * time.Second
			}
		}
		if err := away(victim); err != nil {
			t.Fatal(err)
		}
		time.Sleep(apart)
		if err := c.Mend(t.Context()); err != nil {
			t.Fatalf("round %d, node %d: %v", round, victim, err)
		}
	}
	end()
	working.Wait()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := target.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]corpus.Passage{first.ID: first}
	gone := 0
	for _, one := range known {
		for id, p := range one {
			if p == nil {
				gone++
			} else {
				want[id] = *p
			}
		}
	}
	t.Logf("%d passages acknowledged, and %d deleted", len(want), gone)
	if len(want) < 50 || gone < 10 {
		t.Errorf("%d passages and %d deleted are too few for a test", len(want), gone)
	}
	checkCopies(t, client, index, experts, want)
}

// change makes a few random changes in one request, and notes what was acknowledged.
func change(ctx context.Context, writer *Writer, random *rand.Rand, w int, known acknowledged) error {
	var changes []store.Change
	after := acknowledged{}
	for range 1 + random.IntN(8) {
		id := fmt.Sprintf("%d/%d", w, random.IntN(300))
		if _, twice := after[id]; twice {
			continue
		}
		if known[id] != nil && random.IntN(4) == 0 {
			after[id] = nil
			changes = append(changes, store.Change{Delete: id})
			continue
		}
		p := corpus.Passage{ID: id, Text: fmt.Sprintf("common word%d river%d", random.IntN(1000), random.IntN(50))}
		after[id] = &p
		changes = append(changes, store.Change{Put: &p})
	}
	// What may have been made is sent again, as clients do: a node that hangs for longer than a write
	// waits leaves that open.
	results, err := writer.Apply(ctx, changes)
	for silent := new(SilentError); errors.As(err, &silent); {
		results, err = writer.Apply(ctx, changes)
	}
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Err != nil {
			return fmt.Errorf("%s: %w", r.ID, r.Err)
		}
	}
	maps.Copy(known, after)
	return nil
}

// shardCopy is a copy of a shard on a node.
type shardCopy struct{ Shard, Prirep, State, ID string }

// checkCopies reads each copy by itself: its words and phrases by what they find, the
// vectors by the inner products with one, exactly and through the graph, codes byte by
// byte. All copies of one shard have to have the same, and all shards together what is wanted.
func checkCopies(
	t *testing.T,
	client *cluster.Client,
	index string,
	experts []store.PassageEncoder,
	want map[string]corpus.Passage,
) {
	t.Helper()
	var copies []shardCopy
	decode(t, client, "GET", "/_cat/shards/"+index+"?format=json&h=shard,prirep,state,id", nil, &copies)
	probe := make([]float32, hashedDimension)
	probe[0] = 1
	probe[1] = -0.5
	for _, kind := range []string{"p", "r"} {
		found := map[string]map[string]float64{} // by what was asked for: ids, and scores
		shards := 0
		for _, one := range copies {
			if one.Prirep != kind {
				continue
			}
			if one.State != "STARTED" {
				t.Fatalf("a copy is not there: %+v", one)
			}
			shards++
			codes := map[string]json.RawMessage{}
			ask := func(name string, query object, fields ...string) {
				body, err := json.Marshal(object{"query": query, "size": 10000, "_source": []string{schema.FieldID},
					"docvalue_fields": append([]string{}, fields...)})
				if err != nil {
					t.Fatal(err)
				}
				var answer struct {
					Shards struct{ Total, Successful int } `json:"_shards"`
					Hits   struct {
						Hits []struct {
							ID     string  `json:"_id"`
							Score  float64 `json:"_score"`
							Fields map[string][]json.RawMessage
						}
					}
				}
				decode(
					t,
					client,
					"POST",
					"/"+index+"/_search?preference="+url.QueryEscape("_shards:"+one.Shard+"|_only_nodes:"+one.ID),
					body,
					&answer,
				)
				if answer.Shards.Total != 1 || answer.Shards.Successful != 1 {
					t.Fatalf("%+v: %+v", one, answer.Shards)
				}
				if found[name] == nil {
					found[name] = map[string]float64{}
				}
				for _, hit := range answer.Hits.Hits {
					found[name][hit.ID] = hit.Score
					for _, field := range fields {
						codes[hit.ID] = slices.Concat(hit.Fields[field]...)
					}
				}
			}
			ask("words", object{"match": object{schema.FieldWords: "common"}})
			ask("pairs", object{"match": object{schema.FieldPairs: "+"}})
			for _, e := range experts {
				x, err := schema.DescribeEncoder(e)
				if err != nil {
					t.Fatal(err)
				}
				if x.Late {
					ask("codes of "+x.Name, object{"match_all": object{}}, x.Field())
					for id, got := range codes {
						p, ok := want[id]
						if !ok {
							t.Errorf("copies %s, %s: %s is there and was deleted", kind, x.Name, id)
							continue
						}
						vectors, err := e.EncodePassages(t.Context(), []corpus.Passage{p})
						if err != nil {
							t.Fatal(err)
						}
						right, err := schema.AppendVectors(nil, []schema.Expert{x}, schema.Vectors{x.Name: {Vectors: vectors[0]}})
						if err != nil {
							t.Fatal(err)
						}
						if stripped := strings.ReplaceAll(string(right), "=", ""); stripped != fmt.Sprintf("%q:%s,", x.Field(), got) {
							t.Errorf("copies %s, codes of %s: %s has %s, and not %s", kind, x.Name, id, got, right)
						}
					}
				} else {
					ask("field of "+x.Name, object{"exists": object{"field": x.Field()}})
					ask("graph of "+x.Name, object{"knn": object{x.Field(): object{"vector": probe, "k": 10000}}})
					ask("vectors of "+x.Name, object{"script_score": object{"query": object{"match_all": object{}}, "script": object{
						"lang": "knn", "source": "knn_score", "params": object{"field": x.Field(), "query_value": probe, "space_type": "innerproduct"}}}})
				}
			}
		}
		if shards != 3 || len(found) != 2+3+2*2 {
			t.Fatalf("copies of kind %s: %d, asked for %v", kind, shards, slices.Sorted(maps.Keys(found)))
		}
		for name, ids := range found {
			_, expert, _ := strings.Cut(name, " of ")
			for id := range ids {
				if _, ok := want[id]; !ok {
					t.Errorf("copies %s, %s: %s is there and was deleted", kind, name, id)
				}
			}
			for id, p := range want {
				score, ok := ids[id]
				if !ok {
					t.Errorf("copies %s, %s: %s was acknowledged and is not there", kind, name, id)
					continue
				}
				if !strings.HasPrefix(name, "vectors") && !strings.HasPrefix(name, "graph") {
					continue
				}
				vectors, err := hashed{name: expert}.EncodePassages(t.Context(), []corpus.Passage{p})
				if err != nil {
					t.Fatal(err)
				}
				product := 0.0
				for i, v := range vectors[0] {
					product += float64(v) * float64(probe[i])
				}
				exact := 1 + product
				if product < 0 {
					exact = 1 / (1 - product)
				}
				if math.Abs(score-exact) > 1e-5 {
					t.Errorf("copies %s, %s: %s has %v and not %v", kind, name, id, score, exact)
				}
			}
		}
	}
}

// decode sends a request that has to succeed.
func decode(t *testing.T, client *cluster.Client, method, path string, body []byte, into any) {
	t.Helper()
	answer, err := client.Do(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
}
