package opensearch

import (
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// TestLook: what others do with an index is seen: a calibration, and that it was made anew.
func TestLook(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "look")
	options := store.BuildOptions{Words: bm25.DefaultParams()}
	build := func() *Store {
		if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: tagged(1, 20)}, options,
			""); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c, err := NewCorpus(t.Context(), build())
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Look(t.Context())
	if err != nil || h.Status != "green" || h.Passages != 20 || h.Recalibrated {
		t.Fatalf("%+v, %v", h, err)
	}
	other, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Calibrate(t.Context(), "new: yes\n"); err != nil {
		t.Fatal(err)
	}
	h, err = c.Look(t.Context())
	if err != nil || !h.Recalibrated || c.Store().Manifest().Calibration != "new: yes\n" {
		t.Fatalf("%+v, %v, %q", h, err, c.Store().Manifest().Calibration)
	}
	h, err = c.Look(t.Context())
	if err != nil || h.Recalibrated {
		t.Fatalf("%+v, %v", h, err)
	}
	testIndex(t, client, index)
	if _, err := c.Look(t.Context()); err == nil {
		t.Fatal("an index that is gone is there")
	}
	build()
	if _, err := c.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "made anew") {
		t.Fatalf("%v", err)
	}
}
