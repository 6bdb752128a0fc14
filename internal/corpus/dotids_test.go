package corpus

import (
	"errors"
	"testing"

	"example.org/conclave/internal/disk"
)

// TestDotIDs: . and .. are refused as ids of new passages, with a reason, and are read,
// verified and copied where an earlier version stored them.
func TestDotIDs(t *testing.T) {
	for _, id := range []string{".", ".."} {
		p := Passage{ID: id, Text: "zebra"}
		var field *FieldError
		if err := p.Check(); !errors.As(err, &field) || field.Field != "id" || field.Problem == "" {
			t.Errorf("%q: %v", id, err)
		}
		if err := p.CheckStored(); err != nil {
			t.Errorf("%q, stored: %v", id, err)
		}
	}
	for _, id := range []string{"...", ".a", "a.", "..a/..b", "..%2F"} {
		if err := (&Passage{ID: id, Text: "zebra"}).Check(); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	stored, err := OpenStore(disk.OS{}, writeStore(t, []Passage{{ID: "..", Text: "b"}, {ID: ".", Text: "a"}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := stored.Close(); err != nil {
		t.Error(err)
	}
}
