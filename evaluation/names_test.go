package evaluation

import "testing"

// TestNamesDifferByCase: a method of somebody's own may be called as one that is measured is, but
// for case, and each is found by its own name; one alone is found whatever the case.
func TestNamesDifferByCase(t *testing.T) {
	methods := []Method{{Name: "muf"}, {Name: "MUF"}, {Name: "rrf"}}
	if err := checkDistinct(methods); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"muf": 0, "MUF": 1, "RRF": 2, "sum": -1} {
		if got := methodNamed(methods, name); got != want {
			t.Errorf("%s is found at %d, want %d", name, got, want)
		}
	}
	if err := checkDistinct(append(methods, Method{Name: "MUF"})); err == nil {
		t.Error("two methods of one name are taken")
	}
}
