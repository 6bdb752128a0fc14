package calibration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestFold pins the folds: the first eight bytes of the SHA-256, computed
// apart (Python's hashlib), modulo five.
func TestFold(t *testing.T) {
	for id, want := range folds {
		if got := foldOf(id); got != want {
			t.Errorf("%q is in fold %d, want %d", id, got, want)
		}
	}
	var sizes [Folds]int
	for i := range 5000 {
		sizes[foldOf(fmt.Sprint("wiki-dev-", i))]++
	}
	for fold, size := range sizes {
		if size < 900 || size > 1100 {
			t.Errorf("fold %d has %d of 5000 questions", fold, size)
		}
	}
}

// TestCrossFit: every question is measured with a model that saw exactly the
// questions of the other folds, and the results are in order.
func TestCrossFit(t *testing.T) {
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = fmt.Sprint("q", i)
	}
	self := func(id *string) string { return *id }
	type model = map[string]bool
	fit := func(others []string) (model, error) {
		seen := model{}
		for _, id := range others {
			seen[id] = true
		}
		return seen, nil
	}
	results, err := crossFit(ids, self, fit, func(seen model, id *string) (string, error) {
		for _, other := range ids {
			if seen[other] == (foldOf(other) == foldOf(*id)) {
				t.Errorf("%s is measured by a model that saw %s: %v", *id, other, seen[other])
			}
		}
		return *id, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range results {
		if id != ids[i] {
			t.Errorf("result %d is of %s", i, id)
		}
	}

	if _, err := crossFit([]string{"a", "a"}, self, fit, func(model, *string) (int, error) { return 0, nil }); err == nil {
		t.Error("one fold alone was accepted")
	}
	broken := errors.New("broken")
	if _, err := crossFit(ids, self, func([]string) (model, error) { return nil, broken },
		func(model, *string) (int, error) { return 0, nil }); !errors.Is(
		err,
		broken,
	) {
		t.Errorf("a fit that fails: %v", err)
	}
	_, err = crossFit(ids, self, fit, func(model, *string) (int, error) { return 0, broken })
	if !errors.Is(err, broken) ||
		!strings.Contains(err.Error(), "q") {
		t.Errorf("a measurement that fails: %v", err)
	}
}

var folds = map[string]int{
	"":           2,
	"a":          0,
	"wiki-dev-0": 1,
	"nq-dev-17":  1,
	"ünï":        2,
}

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
