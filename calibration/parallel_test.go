package calibration

import (
	"fmt"
	"testing"
)

// TestInParallel: every number is visited once, and the error is that of the
// lowest, whoever came first.
func TestInParallel(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		visits := make([]int, n)
		if err := inParallel(n, func(i int) error { visits[i]++; return nil }); err != nil {
			t.Fatal(err)
		}
		for i, v := range visits {
			if v != 1 {
				t.Fatalf("%d of %d was visited %d times", i, n, v)
			}
		}
	}
	err := inParallel(1000, func(i int) error {
		if i%100 == 37 {
			return fmt.Errorf("number %d", i)
		}
		return nil
	})
	if err == nil || err.Error() != "number 37" {
		t.Errorf("error %v", err)
	}
}
