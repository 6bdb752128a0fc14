package opensearch

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// TestClusterLimits: a look tells that a disk is above a watermark, and that the cluster as a whole takes
// no changes, whose writes are refused at once in the words of the cluster; and that it is over. All
// of the cluster is changed for a while, so no other test runs beside it.
func TestClusterLimits(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "cluster-limits")
	target, writers := written(t, index, passages(1, 3), client, client)
	c, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	set := func(settings object) {
		t.Helper()
		var answer struct{ Acknowledged bool }
		decode(t, client, "PUT", "/_cluster/settings", marshalled(t, object{"transient": settings}), &answer)
		if !answer.Acknowledged {
			t.Fatalf("%v: not acknowledged", settings)
		}
	}
	const disk = "cluster.routing.allocation.disk."
	restore := func() {
		set(object{"cluster.blocks.read_only": nil}) // by itself, else it is blocked
		set(object{disk + "threshold_enabled": nil, disk + "watermark.low": nil, disk + "watermark.high": nil,
			disk + "watermark.flood_stage": nil})
	}
	defer restore()
	look := func() Health {
		t.Helper()
		h, err := c.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	put := []store.Change{{Put: &corpus.Passage{ID: "more", Text: "a stone"}}}
	if h := look(); h.Blocked != "" || len(h.Limits) > 0 {
		t.Errorf("before: %+v", h)
	}
	// Not all nodes above the high one: the cluster would soon make no new index, for the tests after this one.
	set(object{disk + "threshold_enabled": true, disk + "watermark.low": "9000tb", disk + "watermark.high": "2b",
		disk + "watermark.flood_stage": "1b"})
	if h := look(); h.Blocked != "" || len(h.Limits) != 3 || !strings.Contains(h.Limits[0], "node-0 is ") ||
		!strings.Contains(h.Limits[0], "watermark low (9000tb)") {
		t.Errorf("above a watermark: %+v", h)
	}
	restore()
	set(object{"cluster.blocks.read_only": true})
	if h := look(); !strings.HasPrefix(h.Blocked, "cluster.blocks.read_only, of all") {
		t.Errorf("blocked: %+v", h)
	}
	var blocked *cluster.BlockedError
	if _, err := writers[0].Apply(t.Context(), put); !errors.As(err, &blocked) ||
		!strings.Contains(blocked.Refusal(), "cluster read-only") {
		t.Errorf("a write: %v", err)
	}
	restore()
	set(object{"cluster.blocks.create_index": true})
	defer set(object{"cluster.blocks.create_index": nil})
	h := look()
	if h.Blocked != "" || len(h.Limits) != 1 || !strings.Contains(h.Limits[0], "cluster.blocks.create_index") {
		t.Errorf("without new indexes: %+v", h)
	}
	_, err = begin(t.Context(), client, index+"-more", store.BuildOptions{}, schema.Shape{})
	const cannot = "index cluster-limits-more cannot be made: the cluster makes no"
	if !errors.As(err, &blocked) || !strings.HasPrefix(blocked.Refusal(), cannot) {
		t.Errorf("a new index: %v", err)
	}
	set(object{"cluster.blocks.create_index": nil})
	if h := look(); h.Blocked != "" || len(h.Limits) > 0 {
		t.Errorf("afterwards: %+v", h)
	}
	if results, err := writers[0].Apply(t.Context(), put); err != nil || results[0].Outcome != store.Created {
		t.Errorf("a write afterwards: %+v, %v", results, err)
	}
}

func marshalled(t *testing.T, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
