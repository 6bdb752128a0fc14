package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/internal/assembly"
	"example.org/conclave/search/reply"
)

// foundAmong returns collection and id of each passage that a search over several collections finds by words, sorted.
func (s *served) foundAmong(question string, names ...string) string {
	s.t.Helper()
	var answer reply.Response
	s.call(
		http.MethodPost,
		"/v1/search",
		fmt.Sprintf(`{"question":%q,"experts":[],"k":50,"collapse":false,"collections":["%s"]}`,
			question, strings.Join(names, `","`)),
		http.StatusOK,
		&answer,
	)
	var found []string
	for _, r := range answer.Results {
		found = append(found, r.Collection+"/"+r.ID)
	}
	sort.Strings(found)
	return strings.Join(found, " ")
}

// keptUnions returns the union that is kept for a key, and how many are kept.
func (s *served) keptUnions(key string) (*union, int) {
	s.several.unions.mu.Lock()
	defer s.several.unions.mu.Unlock()
	return s.several.unions.kept[key], len(s.several.unions.kept)
}

// TestUnionIsKept: searches over the same collections share an engine until one of the collections changes, and no
// search finds what was there before a change.
func TestUnionIsKept(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	for _, name := range []string{"a", "b", "c"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		s.add(name, "p", "Rice.")
	}
	expect := func(want string, names ...string) *union {
		t.Helper()
		if got := s.foundAmong("rice", names...); got != want {
			t.Fatalf("%v: found %s, not %s", names, got, want)
		}
		x, _ := s.keptUnions(strings.Join(names, ","))
		if x == nil {
			t.Fatalf("%v: no engine is kept", names)
		}
		return x
	}
	first := expect("a/p b/p", "a", "b")
	if again := expect("a/p b/p", "a", "b"); again != first {
		t.Error("the second search has another engine")
	}
	if s.foundAmong("rice", "b", "a") != "a/p b/p" {
		t.Error("the order of the names counts")
	}
	if x, n := s.keptUnions("a,b"); x != first || n != 1 {
		t.Errorf("%d are kept", n)
	}
	s.add("c", "q", "Rice.")
	if again := expect("a/p b/p", "a", "b"); again != first {
		t.Error("a write to another collection replaced the engine")
	}
	s.add("b", "q", "Rice.")
	second := expect("a/p b/p b/q", "a", "b")
	if second == first {
		t.Error("after a write the engine is the same")
	}
	s.call(http.MethodDelete, "/v1/collections/b/passages/p?refresh=wait", "", http.StatusOK, nil)
	expect("a/p b/q", "a", "b")
	s.call(http.MethodPut, "/v1/collections/a/admin/settings", `{"synonyms":[{"words":["rice","paddy"]}]}`,
		http.StatusOK, nil)
	third := expect("a/p b/q", "a", "b")
	s.call(http.MethodPut, "/v1/collections/a/admin/settings", `{"synonyms":[{"words":["grain","rice"]}]}`,
		http.StatusOK, nil)
	if got := s.foundAmong("grain", "a", "b"); got != "a/p b/q" {
		t.Errorf("new synonyms find %q", got)
	}
	if x, _ := s.keptUnions("a,b"); x == third {
		t.Error("after new settings the engine is the same")
	}

	// A collection that is removed takes its unions with it, and another one of its name is another one.
	expect("b/q c/p c/q", "b", "c")
	s.call(http.MethodDelete, "/v1/collections/b", "", http.StatusNoContent, nil)
	if _, n := s.keptUnions(""); n != 0 {
		t.Errorf("%d unions are left of a collection that was removed", n)
	}
	s.create(`{"name":"b","experts":["one"]}`)
	s.add("b", "new", "Rice.")
	expect("a/p b/new", "a", "b")
}

// TestUnionsAreBounded: no more unions are kept than collections may be open, and none that was not used for long.
func TestUnionsAreBounded(t *testing.T) {
	site := several(t)
	site.config.Collections.Open = 2
	site.config.Collections.Idle = time.Hour
	s := site.serve()
	for _, name := range []string{"a", "b"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		s.add(name, "p", "Rice.")
	}
	for _, names := range [][]string{{"a"}, {"b"}, {"a", "b"}} {
		s.foundAmong("rice", names...)
	}
	if x, n := s.keptUnions("a"); n != 2 || x != nil {
		t.Errorf("%d are kept, with the one that was not used for the longest time: %v", n, x != nil)
	}
	s.end()
	site.config.Collections.Idle = 50 * time.Millisecond
	s = site.serve()
	defer s.end()
	s.foundAmong("rice", "a", "b")
	for n := 1; n > 0; { // else the test's own time ends
		time.Sleep(10 * time.Millisecond)
		_, n = s.keptUnions("")
	}
	if got := s.foundAmong("rice", "a", "b"); got != "a/p b/p" {
		t.Errorf("afterwards found %q", got)
	}
}

// TestUnionsWhileCollectionsChange: with the race detector, searches over sets of collections go on while passages are
// written and collections are closed, removed and made again. Each search finds a passage that was there throughout.
func TestUnionsWhileCollectionsChange(t *testing.T) {
	site := several(t)
	site.config.Collections.Open = 2
	site.config.Collections.Idle = 20 * time.Millisecond
	s := site.serve()
	defer s.end()
	for _, name := range []string{"a", "b", "c", "d"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
		s.add(name, "p", "Rice.")
	}
	var running sync.WaitGroup
	for _, names := range [][]string{{"a", "b"}, {"b", "c"}, {"a", "b", "c"}, {"a", "b"}} {
		running.Go(func() {
			for range 8 {
				if got := s.foundAmong("rice", names...); !strings.Contains(got, "b/p") {
					t.Errorf("%v: found %q", names, got)
				}
			}
		})
	}
	running.Go(func() {
		for i := range 6 {
			s.add("b", fmt.Sprint("q", i), "Rice.")
			if got := s.foundAmong("rice", "a", "b"); !strings.Contains(got, fmt.Sprint("b/q", i)) {
				t.Errorf("a passage that was written is not found: %s", got)
			}
		}
	})
	running.Go(func() {
		for i := range 3 {
			if got := s.foundAmong("rice", "a", "d"); got != fmt.Sprintf("a/p d/p%s", []string{"", "1", "2"}[i]) {
				t.Errorf("found %q in the %d-th collection of its name", got, i+1)
			}
			s.call(http.MethodDelete, "/v1/collections/d", "", http.StatusNoContent, nil)
			s.create(`{"name":"d","experts":["one"]}`)
			s.add("d", fmt.Sprint("p", i+1), "Rice.")
		}
	})
	running.Wait()
}

// TestUnionThatCannotBeMade: where making a union fails or panics, the next search tries again.
func TestUnionThatCannotBeMade(t *testing.T) {
	u := newUnions(2, slog.New(slog.DiscardHandler))
	fails := errors.New("fails")
	_, err := u.takeUnion(t.Context(), []string{"a"}, nil, func() (*assembly.Union, error) { return nil, fails })
	if !errors.Is(err, fails) {
		t.Error(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _ = u.takeUnion(t.Context(), []string{"a"}, nil, func() (*assembly.Union, error) { panic("fails") })
	}()
	_, err = u.takeUnion(t.Context(), []string{"a"}, nil, func() (*assembly.Union, error) { return nil, fails })
	if !errors.Is(err, fails) || len(u.kept) != 0 {
		t.Errorf("%v, %d are kept", err, len(u.kept))
	}
}
