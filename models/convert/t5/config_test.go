package t5

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// TestBuckets compares the rows of the position bias with those that transformers takes;
// see encoder/testdata/fid/make.py.
func TestBuckets(t *testing.T) {
	data, err := os.ReadFile("../../../encoder/testdata/fid/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Buckets map[string]map[string][]int `json:"buckets"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for key, sides := range golden.Buckets {
		var c Config
		if _, err := fmt.Sscan(key, &c.Buckets, &c.MaxDistance); err != nil {
			t.Fatal(err)
		}
		for side, want := range sides {
			for i, row := range want {
				compared++
				if d := i - c.MaxDistance - 3; c.biasRow(d, side == "decoder") != row {
					t.Errorf(
						"%s buckets, %s, distance %d: %d, not %d", key, side, d, c.biasRow(d, side == "decoder"), row,
					)
				}
			}
		}
	}
	if compared < 1000 {
		t.Errorf("%d distances", compared)
	}
}
