package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// indexesLike returns the names of the indexes and aliases that begin so.
func indexesLike(t *testing.T, client *cluster.Client, prefix string) (found []string) {
	t.Helper()
	var all map[string]struct {
		Aliases map[string]json.RawMessage `json:"aliases"`
	}
	decode(t, client, "GET", "/_all/_alias?expand_wildcards=all", nil, &all)
	for index, of := range all {
		if !strings.HasPrefix(index, prefix) {
			continue
		}
		found = append(found, index)
		for alias := range of.Aliases {
			found = append(found, alias)
		}
	}
	slices.Sort(found)
	return found
}

// TestGone: an index that is deleted while passages are put and deleted in it, and while somebody
// keeps a lease beside it, is not made anew by any of the writes, which are refused at once; nor
// does an index that is made anew get what was meant for the one before.
func TestGone(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "gone-index")
	given := passages(1, 3)
	target, writers := written(t, index, given, client, client)
	register := target.Register("somebody")
	_, version := wrote(t, register, `{"n":0}`, "")
	var ended atomic.Bool
	var working sync.WaitGroup
	errs := make([]error, 3)
	for i, changes := range [][]store.Change{
		{{Put: &corpus.Passage{ID: "a", Text: "one"}}, {Put: &corpus.Passage{ID: "b", Text: "two"}}},
		{{Delete: "nothing"}, {Delete: "none"}},
		{{Put: &corpus.Passage{ID: "c", Text: "three"}}, {Delete: given[0].ID}},
	} {
		working.Go(func() {
			for !ended.Load() && errs[i] == nil {
				_, errs[i] = writers[0].Apply(t.Context(), changes)
			}
		})
	}
	drop := func() {
		t.Helper()
		if _, err := client.Do(t.Context(), "DELETE", "/"+index+","+index+stateSuffix, nil); err != nil {
			t.Fatal(err)
		}
	}
	drop()
	working.Wait()
	var gone *GoneError
	for i, err := range errs {
		if !errors.As(err, &gone) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	for _, op := range []operation{ // what had read before that it was there
		{verb: replacing, id: "d", body: []byte(`{"id":"d"}`)}, {verb: removing, id: "d"},
		{verb: updating, id: "d", body: []byte(`{"id":"d"}`), seqNo: 3, term: 1},
		{verb: removing, id: "d", seqNo: 3, term: 1},
	} {
		if _, err := target.writeBulk(t.Context(), []operation{op}); !errors.As(err, &gone) {
			t.Errorf("%+v: %v", op, err)
		}
	}
	if _, done, err := register.Write(t.Context(), []byte(`{"n":1}`), version); done {
		t.Errorf("a register that is gone was written: %v", err)
	}
	if _, _, err := register.Write(t.Context(), []byte(`{"n":2}`), ""); !errors.As(err, &gone) {
		t.Errorf("a register of an index that is gone: %v", err)
	}
	if _, err := target.Add(t.Context(), &list{passages: given}, oneExpert()); !errors.As(err, &gone) {
		t.Errorf("indexing on: %v", err)
	}
	if err := target.putMapping(t.Context(), target.about, nil); !cluster.IsStatus(err, 404) {
		t.Errorf("a mapping: %v", err)
	}
	if found := indexesLike(t, client, index); len(found) > 0 {
		t.Errorf("there are %q", found)
	}

	written(t, index, given, client)
	for _, changes := range [][]store.Change{{{Put: &corpus.Passage{ID: "a", Text: "one"}}}, {{Delete: given[0].ID}}} {
		if _, err := writers[0].Apply(t.Context(), changes); !errors.As(err, &gone) {
			t.Errorf("to an index that was made anew: %v", err)
		}
	}
}

// TestRestoredIndexIsAimed: an index that was restored without its alias is written as ever and has one
// afterwards; so are its registers, and a copy that was restored under another name together with
// the alias of the first one.
func TestRestoredIndexIsAimed(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "aimed-restored")
	target, _ := written(t, index, passages(1, 3), client)
	register := target.Register("somebody")
	_, version := wrote(t, register, `{"n":0}`, "")
	other := testIndex(t, client, "aimed-other")
	if _, err := client.Do(t.Context(), "PUT", "/"+other, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	apply := func(what string) {
		t.Helper()
		again, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(again, oneExpert().Experts, nil)
		if err == nil {
			err = again.MayWrite(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []store.Change{{Put: &corpus.Passage{ID: what, Text: what}}, {Delete: "nothing"}} {
			if _, err := w.Apply(t.Context(), []store.Change{c}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, version = wrote(t, register, `{"n":"`+what+`"}`, version)
		want := []string{index, index + stateSuffix, index + stateSuffix + "-W", target.target()}
		slices.Sort(want)
		if found := indexesLike(t, client, index); !slices.Equal(found, want) {
			t.Errorf("%s: there are %q, want %q", what, found, want)
		}
	}
	change := func(action, name, alias string) {
		t.Helper()
		body := `{"actions":[{"` + action + `":{"index":"` + name + `","alias":"` + alias + `"}}]}`
		if _, err := client.Do(t.Context(), "POST", "/_aliases", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	apply("new")
	change("remove", index, target.target())
	change("remove", index+stateSuffix, index+stateSuffix+"-W")
	apply("restored without an alias")
	change("remove", index, target.target())
	change("add", other, target.target())
	apply("of another index")
	change("remove", index, target.target())
	change("add", other, target.target())
	change("add", index, target.target())
	apply("of two indexes")
}

// wrote writes a register, which has to be done.
func wrote(t *testing.T, r *Register, data, version string) (*Register, string) {
	t.Helper()
	now, done, err := r.Write(context.Background(), []byte(data), version)
	if err != nil || !done {
		t.Fatalf("%s: %t, %v", data, done, err)
	}
	return r, now
}

// oneExpert returns the options that written indexes with.
func oneExpert() store.BuildOptions {
	return store.BuildOptions{Experts: []store.PassageEncoder{hashed{name: "one"}}}
}

// TestSilence: a write of which the cluster says nothing, and one to nodes that nobody reaches, is given
// up within its time, all attempts together, with an error that says that it may have been made; it is
// then made or not, and never acknowledged.
func TestSilence(t *testing.T) {
	t.Parallel()
	clean := testClient(t)
	index := testIndex(t, clean, "silent-index")
	for name, silent := range map[string]func(*silence){
		"bulk":    func(s *silence) { s.path = "/_bulk" },
		"reading": func(s *silence) { s.path = "/_mget" },
		"slowly":  func(s *silence) { *s = silence{to: s.to, path: "/_bulk", after: 500 * time.Millisecond} },
	} {
		proxy := &silence{to: clean}
		silent(proxy)
		client := behind(t, proxy)
		_, writers := written(t, index, passages(1, 3), clean, client)
		w := writers[0]
		const patience = 3 * time.Second
		w.patience = patience
		proxy.on.Store(true)
		began := time.Now()
		_, err := w.Apply(t.Context(), []store.Change{{Put: &corpus.Passage{ID: "a", Text: name}}})
		took := time.Since(began)
		var gaveUp *SilentError
		if !errors.As(err, &gaveUp) || gaveUp.After != patience || w.Backlog().Trouble == nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: given up after %v: %v", name, took, err)
		proxy.on.Store(false)
		if results, err := w.Apply(t.Context(), []store.Change{{Put: &corpus.Passage{ID: "b", Text: name}}}); err != nil ||
			results[0].Err != nil || w.Backlog().Trouble != nil {
			t.Errorf("%s: afterwards: %+v, %v", name, results, err)
		}
	}
}

// silence is a way to a cluster that answers nothing to requests of a path, or 503 after a while.
type silence struct {
	to    *cluster.Client
	path  string
	after time.Duration
	on    atomic.Bool
}

func (s *silence) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if s.on.Load() && strings.HasSuffix(r.URL.Path, s.path) {
		if s.after == 0 {
			<-r.Context().Done()
			return
		}
		time.Sleep(s.after)
		http.Error(w, "no node", http.StatusServiceUnavailable)
		return
	}
	answer, err := s.to.Do(context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), body)
	var status *cluster.StatusError
	if errors.As(err, &status) {
		http.Error(w, status.Body, status.Status)
	} else if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	} else {
		_, _ = w.Write(answer)
	}
}
