package corpus

import (
	"strings"
	"testing"
)

// TestNoGoInMessages: people read what is wrong with a passage, and do not know
// how Go calls it.
func TestNoGoInMessages(t *testing.T) {
	for want, value := range map[string]any{"is null": nil, "is a list": []any{1},
		"is an object": map[string]any{"a": 1}} {
		p := Passage{ID: "a", Text: "b", Metadata: map[string]any{"key": value}}
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "interface") ||
			strings.Contains(err.Error(), "<nil>") {
			t.Errorf("%v: %v", value, err)
		}
	}
}
