package bert

import (
	"encoding/json"
	"os"
	"testing"
)

// TestBuckets: the buckets of distances are those of transformers' MPNet
// (encoder/testdata/families/make.py).
func TestBuckets(t *testing.T) {
	data, err := os.ReadFile("../../../encoder/testdata/families/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Buckets []int }
	if err := json.Unmarshal(data, &golden); err != nil || len(golden.Buckets) != 1201 {
		t.Fatalf("%d buckets, %v", len(golden.Buckets), err)
	}
	c := Config{Relative: 32}
	for i, want := range golden.Buckets {
		if got := c.biasBucket(i - 600); got != want {
			t.Errorf("distance %d: %d, not %d", i-600, got, want)
		}
	}
}
