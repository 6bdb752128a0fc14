package opensearch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// keeping is a way to a cluster that keeps the first bulk request: its sender is told
// nothing and sends it again, and the test sends it on when it likes.
type keeping struct {
	to   *cluster.Client
	mu   sync.Mutex
	kept []byte
	path string
}

func (k *keeping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	k.mu.Lock()
	keep := k.kept == nil && strings.HasSuffix(r.URL.Path, "/_bulk")
	if keep {
		k.path = r.URL.RequestURI()
		k.kept = body
	}
	k.mu.Unlock()
	if keep {
		panic(http.ErrAbortHandler)
	}
	answer, err := k.to.Do(context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_, _ = w.Write(answer)
}

// TestLateCreate: a request that created a passage and comes once more, late, brings the
// passage back neither after it was deleted nor after it was created again.
func TestLateCreate(t *testing.T) {
	clean := testClient(t)
	index := testIndex(t, clean, "write-late")
	k := &keeping{to: clean, kept: []byte{}}
	slow := behind(t, k)
	target, writers := written(t, index, passages(1, 3), clean, clean, slow)
	apply := func(w *Writer, c store.Change, want store.Outcome) {
		t.Helper()
		if results, err := w.Apply(t.Context(), []store.Change{c}); err != nil || results[0].Err != nil ||
			results[0].Outcome != want {
			t.Fatalf("%+v, %v; %s was expected", results, err, want)
		}
	}
	late := func(want string) {
		t.Helper()
		answer, err := clean.Do(t.Context(), http.MethodPost, k.path, k.kept)
		if err != nil || !bytes.Contains(answer, []byte(`"status":409`)) {
			t.Errorf("%s, %v", answer, err)
		}
		p, _, ok, err := writers[0].Passage(t.Context(), "a", anyRoom)
		if err != nil || ok != (want != "") || p.Text != want {
			t.Errorf("passage %+v, %t, %v; %q was expected", p, ok, err, want)
		}
	}
	for _, id := range []string{"a", "b"} { // b is there, and gone, before
		apply(writers[0], store.Change{Put: &corpus.Passage{ID: id, Text: "before"}}, store.Created)
		if id == "b" {
			apply(writers[0], store.Change{Delete: id}, store.Deleted)
		}
	}
	apply(writers[0], store.Change{Delete: "a"}, store.Deleted)
	k.kept = nil
	apply(writers[1], store.Change{Put: &corpus.Passage{ID: "a", Text: "first"}}, store.Created)
	if len(k.kept) == 0 {
		t.Fatal("nothing was kept")
	}
	apply(writers[0], store.Change{Delete: "a"}, store.Deleted)
	late("")
	apply(writers[0], store.Change{Put: &corpus.Passage{ID: "a", Text: "second"}, IfAbsent: true}, store.Created)
	late("second")
	if report, err := target.Add(t.Context(), &list{passages: []corpus.Passage{{ID: "b", Text: "again"}}}, store.BuildOptions{Experts: []store.PassageEncoder{hashed{name: "one"}}}); err != nil ||
		report.Passages != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// past is a way to a cluster that answers each _mget as it once was answered, while it has
// answers of the past.
type past struct {
	to      *cluster.Client
	mu      sync.Mutex
	answers [][]byte
	breaks  atomic.Bool // the next connection, without an answer
}

func (p *past) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.breaks.Swap(false) {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var answer []byte
	if p.mu.Lock(); strings.HasSuffix(r.URL.Path, "/_mget") && len(p.answers) > 0 {
		answer = p.answers[0]
		p.answers = p.answers[1:]
	}
	p.mu.Unlock()
	if answer == nil {
		answer, err = p.to.Do(context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	_, _ = w.Write(answer)
}

// TestReadingThePast: a node that hung answers from its own copies, as they were. What is
// acknowledged holds nevertheless: a deletion, of what seems to be absent, and a passage, that seems
// to be there.
func TestReadingThePast(t *testing.T) {
	clean := testClient(t)
	index := testIndex(t, clean, "write-past")
	p := &past{to: clean}
	client := behind(t, p)
	target, writers := written(t, index, passages(1, 3), clean, clean, client)
	apply := func(w int, c store.Change, want store.Outcome) {
		t.Helper()
		if results, err := writers[w].Apply(t.Context(), []store.Change{c}); err != nil || results[0].Err != nil ||
			results[0].Outcome != want {
			t.Fatalf("%+v, %v; %s was expected", results, err, want)
		}
	}
	read := func() []byte {
		t.Helper()
		path, body, err := target.getRequest([]string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := clean.Do(t.Context(), http.MethodPost, path, body)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	stored := func(want bool) {
		t.Helper()
		if _, _, ok, err := writers[0].Passage(t.Context(), "a", anyRoom); err != nil || ok != want {
			t.Errorf("there: %t, %v", ok, err)
		}
	}
	passage := &corpus.Passage{ID: "a", Text: "a passage"}
	never := read()
	apply(1, store.Change{Delete: "a"}, store.Absent)
	apply(0, store.Change{Put: passage}, store.Created)
	once := read()
	p.answers = [][]byte{never, never}
	apply(1, store.Change{Delete: "a"}, store.Deleted)
	stored(false)
	apply(1, store.Change{Delete: "a"}, store.Absent)
	p.answers = [][]byte{once, once}
	p.breaks.Store(true) // so that the node is taken for one that hung
	if _, err := client.Do(t.Context(), http.MethodPost, "/_refresh", nil); err == nil {
		t.Error("the connection did not break")
	}
	apply(1, store.Change{Put: passage}, store.Created)
	stored(true)
	apply(1, store.Change{Put: passage}, store.Unchanged)
	stored(true)
}

// anyRoom has room for a passage of any size.
func anyRoom(int) error { return nil }
