package opensearch

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// TestBlocked: changes of an index with a block are refused at once with the cluster's
// reason, Look names the block, and both end with it. The block of the flood stage is set
// by hand, as the cluster sets it.
func TestBlocked(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "write-blocked")
	target, writers := written(t, index, passages(1, 3), client, client)
	c, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	put := []store.Change{{Put: &corpus.Passage{ID: "more", Text: "a stone"}}}
	set := func(block, to string) {
		t.Helper()
		if _, err := client.Do(t.Context(), "PUT", "/"+index+"/_settings",
			[]byte(`{"index.blocks.`+block+`":`+to+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	for block, full := range map[string]bool{"read_only_allow_delete": true, "read_only": false, "write": false} {
		set(block, "true")
		var blocked *cluster.BlockedError
		began := time.Now()
		_, err := writers[0].Apply(t.Context(), put)
		if !errors.As(err, &blocked) || errors.Is(err, syscall.ENOSPC) != full ||
			!strings.Contains(err.Error(), "blocked by") {
			t.Errorf("%s, after %v: %v", block, time.Since(began), err)
		}
		if h, err := c.Look(t.Context()); err != nil || !strings.Contains(h.Blocked, "index.blocks."+block) {
			t.Errorf("%s: %+v, %v", block, h, err)
		}
		set(block, "null")
		if h, err := c.Look(t.Context()); err != nil || h.Blocked != "" {
			t.Errorf("without %s: %+v, %v", block, h, err)
		}
	}
	if results, err := writers[0].Apply(t.Context(), put); err != nil || results[0].Outcome != store.Created {
		t.Errorf("%+v, %v", results, err)
	}
}
