package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// faulty stands between a client and a cluster, and does to requests what networks and
// busy nodes do to them.
type faulty struct {
	to      *cluster.Client
	mu      sync.Mutex
	random  *rand.Rand
	share   float64 // of requests that suffer something
	request atomic.Int64
	before  func(n int64) (drop bool) // each request
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	drop := func() { panic(http.ErrAbortHandler) }
	if f.before != nil && f.before(f.request.Add(1)) {
		drop()
	}
	f.mu.Lock()
	what := int(f.random.Float64() / f.share * 6)
	item := f.random.IntN(4)
	f.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch what {
	case 0:
		drop() // before it gets there
	case 1:
		http.Error(w, `{"error":{"type":"rejected","reason":"too much"}}`, http.StatusTooManyRequests)
		return
	case 2:
		http.Error(w, `no node`, http.StatusServiceUnavailable)
		return
	}
	answer, err := f.to.Do(
		context.WithoutCancel(r.Context()), r.Method, r.URL.RequestURI(), body,
	) // the client may be gone
	var status *cluster.StatusError
	switch {
	case errors.As(err, &status):
		http.Error(w, status.Body, status.Status)
		return
	case err != nil, what == 3: // it was done, and nobody says so
		drop()
	case what == 4: // half of the answer
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = w.Write(answer[:len(answer)/2])
		_ = http.NewResponseController(w).Flush()
		drop()
	case what == 5 && strings.Contains(r.URL.Path, "_bulk"): // some were done, and are said to have failed
		var said map[string]any
		if json.Unmarshal(answer, &said) == nil {
			for i, x := range said["items"].([]any) {
				for _, y := range x.(map[string]any) {
					if i%4 == item {
						y.(map[string]any)["status"] = 503
						y.(map[string]any)["error"] = map[string]any{"type": "unavailable_shards_exception", "reason": "no primary"}
					}
				}
			}
			answer, _ = json.Marshal(said)
		}
	}
	_, _ = w.Write(answer)
}

// behind returns a client of what stands before a cluster.
func behind(t *testing.T, proxy http.Handler) *cluster.Client {
	t.Helper()
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	a, err := cluster.ParseAddress("opensearch+" + server.URL + "/x")
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.NewClient(a.Nodes, cluster.Access{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestInterrupted: a build that is cancelled again and again, at any request and behind
// faults, ends with the content of an undisturbed one; what was encoded more than once is
// a batch for each interruption at most.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	clean := testClient(t)
	index := testIndex(t, clean, "write-interrupted")
	const seed, count, most = 11, 900, 7
	random := rand.New(rand.NewPCG(seed, 0))
	var encoded atomic.Int64
	one, two := hashed{name: "one", encoded: &encoded}, hashed{name: "two", late: true}
	options := store.BuildOptions{
		Words:   bm25.Params{K1: 0.9, B: 0.4, Phrases: true},
		Experts: []store.PassageEncoder{one, two},
	}
	given := passages(seed, count)
	f := &faulty{to: clean, random: random, share: 0.15}
	client := behind(t, f)
	interruptions := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		if interruptions < most {
			f.mu.Lock()
			at := f.request.Load() + 1 + random.Int64N(24)
			f.mu.Unlock()
			f.before = func(n int64) bool {
				if n >= at {
					cancel()
				}
				return n >= at && interruptions%2 == 0
			}
		} else {
			f.before = nil
		}
		_, err := Build(ctx, client, index, schema.Shape{Shards: 3}, &list{passages: given}, options, "")
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		unlock(t, clean, index)
		if _, err := Open(t.Context(), clean, index); err == nil {
			break // its end was not heard of; all has to be there
		}
		if interruptions++; interruptions > most {
			t.Fatal("it does not end")
		}
	}
	if n := encoded.Load(); n < count || n > int64(count+interruptions*batchPassages) {
		t.Errorf("seed %d: %d of %d passages were encoded, with %d interruptions", seed, n, count, interruptions)
	}
	t.Logf("%d interruptions, %d encodings of %d passages", interruptions, encoded.Load(), count)
	hasContent(t, clean, index, given, options)

	// One more expert, the same way.
	var more atomic.Int64
	third := hashed{name: "third", encoded: &more}
	for tries := 0; ; tries++ {
		ctx, cancel := context.WithCancel(t.Context())
		f.mu.Lock()
		at := f.request.Load() + 3 + random.Int64N(24)
		f.mu.Unlock()
		f.before = func(n int64) bool {
			if n >= at && tries < 2 {
				cancel()
			}
			return n >= at && tries < 2
		}
		_, err := AddExpert(ctx, client, index, third, store.BuildOptions{})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || tries > 2 {
			t.Fatal(err)
		}
		unlock(t, clean, index)
		target, err := Open(t.Context(), clean, index)
		if err != nil {
			t.Fatal(err)
		}
		if _, stored := target.Manifest().Expert("third"); stored {
			t.Error("an expert is published before all have its vectors")
		}
	}
	if n := more.Load(); n < count || n > count+2*batchPassages {
		t.Errorf("%d of %d passages were encoded for the new expert", n, count)
	}
	options.Experts = append(options.Experts, third)
	hasContent(t, clean, index, given, options)
}

// unlock forgets the locks of one that was interrupted and could not tell: others need not
// wait until they are free.
func unlock(t *testing.T, client *cluster.Client, index string) {
	t.Helper()
	if _, err := client.Do(t.Context(), "DELETE", "/"+index+stateSuffix, nil); err != nil && !cluster.IsStatus(err, 404) {
		t.Fatal(err)
	}
}

// hasContent compares an index with a collection of the same passages, built without it.
func hasContent(t *testing.T, client *cluster.Client, index string, given []corpus.Passage, o store.BuildOptions) {
	t.Helper()
	dir := t.TempDir()
	if _, err := folder.Build(t.Context(), dir+"/want", &list{passages: given}, o); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	scan, err := target.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Build(t.Context(), dir+"/got", scan,
		store.BuildOptions{Words: target.Manifest().Words.Params(), Experts: target.Encoders()}); err != nil {
		t.Fatal(err)
	}
	if err := scan.Close(); err != nil {
		t.Error(err)
	}
	sameContent(t, opened(t, dir+"/want"), opened(t, dir+"/got"))
}

// written returns an index with a few passages, and a writer for each client.
func written(
	t *testing.T,
	index string,
	given []corpus.Passage,
	clean *cluster.Client,
	clients ...*cluster.Client,
) (*Store, []*Writer) {
	t.Helper()
	e := hashed{name: "one"}
	if _, err := Build(t.Context(), clean, index, schema.Shape{Shards: 3, Replicas: 1}, &list{passages: given}, store.BuildOptions{Experts: []store.PassageEncoder{e}}, ""); err != nil {
		t.Fatal(err)
	}
	var writers []*Writer
	for _, client := range clients {
		target, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		target.client.FirstPause = time.Millisecond
		w, err := NewWriter(target, []store.PassageEncoder{e}, nil)
		if err != nil {
			t.Fatal(err)
		}
		writers = append(writers, w)
	}
	target, err := Open(t.Context(), clean, index)
	if err != nil {
		t.Fatal(err)
	}
	return target, writers
}

// TestNothingAcknowledgedIsLost: behind faults, what writers were told is what is there
// in the end, in texts, vectors and words.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	clean := testClient(t)
	index := testIndex(t, clean, "write-acknowledged")
	const seed, hands, rounds = 5, 4, 25
	f := &faulty{to: clean, random: rand.New(rand.NewPCG(seed, 0)), share: 0.3}
	client := behind(t, f)
	target, writers := written(t, index, passages(1, 3), clean, client)
	want := make([]map[string]corpus.Passage, hands)
	var group sync.WaitGroup
	for hand := range hands {
		want[hand] = map[string]corpus.Passage{}
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(1+hand)))
			for round := range rounds {
				var changes []store.Change
				for range 1 + random.IntN(6) {
					id := fmt.Sprintf("hand %d, %d", hand, random.IntN(12))
					c := store.Change{Delete: id}
					if random.IntN(3) > 0 {
						c.Put = &corpus.Passage{
							ID:   id,
							Text: fmt.Sprintf("river stone %d %d", round, random.IntN(3)),
							Tags: []string{"kept"},
						}
					}
					changes = append(changes, c)
				}
				results, err := writers[0].Apply(t.Context(), changes)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
				for i, r := range results {
					_, was := want[hand][r.ID]
					if r.Err != nil || (r.Outcome == store.Created || r.Outcome == store.Absent) == was {
						t.Errorf("seed %d: %+v of %q, which was there: %t", seed, r, r.ID, was)
					}
					if p := changes[i].Put; p != nil {
						want[hand][r.ID] = *p
					} else {
						delete(want[hand], r.ID)
					}
				}
			}
		})
	}
	group.Wait()
	total := 3
	for hand := range want {
		total += len(want[hand])
		for i := range 12 {
			id := fmt.Sprintf("hand %d, %d", hand, i)
			p, version, ok, err := writers[0].Passage(t.Context(), id, anyRoom)
			w, stored := want[hand][id]
			if err != nil || ok != stored || ok && (version != w.Version() || p.Text != w.Text) {
				t.Errorf("seed %d: %q is %+v, %t, %v; it should be %+v, %t", seed, id, p, ok, err, w, stored)
			}
		}
	}
	if err := writers[0].Wait(t.Context(), writers[0].sequence.Load()); err != nil {
		t.Fatal(err)
	}
	statistics, err := target.Statistics(t.Context())
	if err != nil || statistics.Passages != int64(total) {
		t.Errorf("%+v, %v; %d are right", statistics, err, total)
	}
	scan, err := target.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scan.Close() }()
	for n := 0; ; n++ {
		p, err := scan.Next()
		if err == io.EOF {
			if n != total {
				t.Errorf("searches see %d passages, not %d", n, total)
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := target.Encoders()[0].EncodePassages(t.Context(), []corpus.Passage{p})
		want, _ := hashed{name: "one"}.EncodePassages(t.Context(), []corpus.Passage{p})
		if err != nil || !bytes.Equal(fmt.Append(nil, got), fmt.Append(nil, want)) {
			t.Errorf("%q: %v, %v, not %v", p.ID, got, err, want)
		}
	}
}

// TestConditions: of writers that count up one passage, each by the version that it read,
// none undoes what another did; a passage that must not be there is made once.
func TestConditions(t *testing.T) {
	t.Parallel()
	clean := testClient(t)
	index := testIndex(t, clean, "write-conditions")
	const hands, each = 4, 8
	_, writers := written(t, index, []corpus.Passage{{ID: "counter", Text: "0"}}, clean, clean, clean)
	var created, refused atomic.Int64
	var group sync.WaitGroup
	for hand := range hands {
		w := writers[hand%len(writers)]
		group.Go(func() {
			results, err := w.Apply(
				t.Context(),
				[]store.Change{{Put: &corpus.Passage{ID: "new", Text: fmt.Sprint("of ", hand)}, IfAbsent: true}},
			)
			if err != nil {
				t.Error(err)
				return
			}
			var other *store.VersionError
			switch {
			case results[0].Outcome == store.Created:
				created.Add(1)
			case !errors.As(results[0].Err, &other):
				t.Errorf("%+v", results[0])
			}
			for done := 0; done < each; {
				p, version, ok, err := w.Passage(t.Context(), "counter", anyRoom)
				var n int
				if _, failed := fmt.Sscan(p.Text, &n); err != nil || !ok || failed != nil {
					t.Error(p, ok, err, failed)
					return
				}
				p.Text = fmt.Sprint(n + 1)
				results, err := w.Apply(t.Context(), []store.Change{{Put: &p, IfMatch: version}})
				if err != nil {
					t.Error(err)
					return
				}
				switch {
				case results[0].Err == nil && results[0].Outcome == store.Replaced:
					done++
				case errors.As(results[0].Err, &other):
					refused.Add(1)
				default:
					t.Errorf("%+v", results[0])
					return
				}
			}
		})
	}
	group.Wait()
	if p, _, _, err := writers[0].Passage(t.Context(), "counter", anyRoom); err != nil ||
		p.Text != fmt.Sprint(hands*each) {
		t.Errorf("%d acknowledged steps make %q, %v", hands*each, p.Text, err)
	}
	if created.Load() != 1 {
		t.Errorf("it was created %d times", created.Load())
	}
	t.Logf("%d of %d steps were refused", refused.Load(), hands*each+refused.Load())
	results, err := writers[0].Apply(t.Context(), []store.Change{
		{
			Delete:  "counter",
			IfMatch: "an old one",
		}, {Delete: "counter"}, {Delete: "counter"}, {Delete: "new", IfMatch: "*"}, {Put: &corpus.Passage{ID: "new", Text: "x"}, IfMatch: "*"},
		{
			Put: &corpus.Passage{ID: "empty"},
		}, {Put: &corpus.Passage{ID: "new", Text: "y"}}, {Put: &corpus.Passage{ID: "new", Text: "y"}}, {Put: &corpus.Passage{ID: "new", Text: "z"}},
	})
	var said []string
	for _, r := range results {
		said = append(said, fmt.Sprintf("%s/%t", r.Outcome, r.Err != nil))
	}
	if want := "/true deleted/false absent/false deleted/false /true /true created/false unchanged/false replaced/false"; err != nil ||
		strings.Join(said, " ") != want {
		t.Errorf("%v, %v", said, err)
	}
}
