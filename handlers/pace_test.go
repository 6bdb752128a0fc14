package handlers

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
)

// TestPace: as many requests as are allowed in a second pass at once, then one for each part of a second, by
// hand: at 2 a second, 2 at 0 s, none at 0.25 s, 1 at 0.5 s and 1 at 1 s. One collection's or key's do not count
// against another's.
func TestPace(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	several := shelfOf(map[string]Engine{"a": testEngine(t, engineOptions{}), "b": testEngine(t, engineOptions{})})
	several.of["a"].Pace(2)
	key := front.Key{
		Name:            "k",
		SHA256:          sha256.Sum256([]byte("k")),
		Scopes:          []schema.Scope{schema.ScopeSearch},
		RequestsASecond: 4,
	}
	free := front.Key{Name: "free", SHA256: sha256.Sum256([]byte("free")), Scopes: []schema.Scope{schema.ScopeSearch}}
	api := newAPI(t, Options{
		Name: "a", Collections: several, Keys: []front.Key{key, free}, Now: func() time.Time { return now },
	})
	ask := func(collection, key string) int {
		status, text := asking(t, api, "GET", "/v1/collections/"+collection+"/limits", "", key)
		if status == 429 && !strings.Contains(text, "rate_limited") {
			t.Errorf("%s", text)
		}
		return status
	}
	var got []int
	for _, after := range []time.Duration{0, 0, 0, 250, 250, 0, 500} {
		now = now.Add(after * time.Millisecond)
		got = append(got, ask("a", "free"))
	}
	if fmt.Sprint(got) != "[200 200 429 429 200 429 200]" {
		t.Errorf("of the collection: %v", got)
	}
	if ask("b", "free") != 200 {
		t.Error("another collection is bounded")
	}
	got = nil
	for range 6 {
		got = append(got, ask("b", "k"))
	}
	if fmt.Sprint(got) != "[200 200 200 200 429 429]" {
		t.Errorf("of the key: %v", got)
	}
	if ask("b", "free") != 200 {
		t.Error("another key is bounded")
	}
}
