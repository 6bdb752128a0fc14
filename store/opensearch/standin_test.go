package opensearch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// TestReplacedWhole: while a document is replaced again and again, each search that finds its passages by words finds
// those of one version, each once, by ids that do not tell how it was found: all of it, unless the version that counts
// was changed between searching and reading. No stand-in is left.
func TestReplacedWhole(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "write-replaced")
	e := []store.PassageEncoder{hashed{name: "plain"}, hashed{name: "tokens", late: true}}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: e}
	given := &list{passages: passages(1, 3)}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 3}, given, options, ""); err != nil {
		t.Fatal(err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := NewWriter(target, e, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(n, passages int) {
		results, err := writer.ApplyTogether(t.Context(), version(n, passages))
		if err != nil || results[0].Err != nil {
			t.Error(err, results)
		}
	}
	// search returns how many passages of each version a search finds.
	search := func() map[string]int {
		t.Helper()
		v := shown.Acquire()
		defer v.Release()
		hits, err := v.Words().Search(t.Context(), "lamp", 50)
		if err != nil {
			t.Error(err)
			return nil
		}
		var ordinals []rank.Ordinal
		for _, h := range hits {
			ordinals = append(ordinals, h.Ordinal)
		}
		gone, err := v.Prefetch(t.Context(), ordinals)
		if err != nil {
			t.Error(err)
			return nil
		}
		ordinals = slices.DeleteFunc(ordinals, func(o rank.Ordinal) bool { return slices.Contains(gone, o) })
		found, err := v.Passages().Read(t.Context(), ordinals)
		if err != nil {
			t.Error(err)
			return nil
		}
		versions, ids := map[string]int{}, map[string]bool{}
		for _, p := range found {
			if storage.IsDeleted(p) {
				continue
			}
			if strings.HasSuffix(p.ID, standInSuffix) || ids[p.ID] {
				t.Errorf("passage %q", p.ID)
			}
			ids[p.ID] = true
			d, _, _ := corpus.DocumentOf(&p)
			versions[fmt.Sprintf("%s of %d", d.SHA256, d.Passages)]++
		}
		return versions
	}
	whole := func(versions map[string]int) bool {
		for v, n := range versions {
			return len(versions) == 1 && strings.HasSuffix(v, fmt.Sprintf(" of %d", n))
		}
		return false
	}
	put(1, 4)
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	var ended atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer ended.Store(true)
		for n := 2; n <= 14; n++ {
			put(n, 2+n%5)
		}
	})
	counts := func() string {
		p, version, _, err := writer.Passage(t.Context(), "doc.md#1", func(int) error { return nil })
		if err != nil || p.ID == "" {
			t.Error("no first passage", err)
		}
		return version
	}
	asked, still := 0, 0
	during := map[string]int{}
	for before := counts(); !ended.Load(); asked++ {
		got := search()
		after := counts()
		if len(got) > 1 || before == after && !whole(got) {
			t.Errorf("question %d finds passages of %v", asked, got)
		}
		if before == after {
			still++
		}
		for v := range got {
			during[v]++
		}
		before = after
	}
	group.Wait()
	t.Logf("%d questions, %d of them between two versions: %v", asked, asked-still, during)
	if still < 10 {
		t.Errorf("only %d questions were asked", still)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := search(); len(got) != 1 || got["14 of 6"] != 6 {
		t.Errorf("in the end: %v", got)
	}
	answers, err := target.multi(t.Context(), []object{{"size": 20, "query": object{"match_all": object{}}}})
	if err != nil || len(answers[0].hits) != 3+6 {
		t.Errorf("the index has %d documents, %v", len(answers[0].hits), err)
	}
	put(15, 0)
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := search(); len(got) > 0 {
		t.Errorf("deleted: %v", got)
	}
}

// TestStandInsAreNoPassages: while a document has stand-ins, they are in no count, list, scan or sample.
func TestStandInsAreNoPassages(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	open := documentIndex(t, client, testIndex(t, client, "write-stand-ins"))
	w := open(client)
	if _, err := w.ApplyTogether(t.Context(), version(1, 4)); err != nil {
		t.Fatal(err)
	}
	var all []*attempt
	for _, c := range version(2, 4) {
		a := &attempt{change: &c, result: &store.ChangeResult{ID: c.ID()}}
		a.checkChange()
		all = append(all, a)
	}
	if err := w.encodeInBatches(t.Context(), all, &waitedTime{}); err != nil {
		t.Fatal(err)
	}
	stages, err := w.changeStages(t.Context(), all)
	if err == nil {
		err = w.apply(t.Context(), stages[0].changes, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := len(stages[0].changes); n != 4 {
		t.Errorf("%d stand-ins are made", n)
	}
	if err := w.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown, err := NewCorpus(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	if n := shown.Known(); n.Passages != 3+4 {
		t.Errorf("counted: %+v", n)
	}
	v := shown.Acquire()
	defer v.Release()
	listed, err := v.Passages().After(t.Context(), "", 50)
	if err != nil || len(listed) != 3+4 {
		t.Errorf("%d are listed, %v", len(listed), err)
	}
	_, count, err := v.Among(t.Context(), storage.Filter{Documents: []string{"doc.md"}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := count(t.Context()); err != nil || n != 4 {
		t.Errorf("a filter lets %d through, %v", n, err)
	}
	scan, err := w.store.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scan.Close() }()
	scanned := 0
	for _, err := scan.Next(); err == nil; _, err = scan.Next() {
		scanned++
	}
	if scanned != 3+4 {
		t.Errorf("%d are read", scanned)
	}
}

// TestTurnsOfWriters: a writer that has just changed a document leaves the next change to one that waits, until that
// has made it; one that changes it for the first time waits for nobody's turn.
func TestTurnsOfWriters(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	open := documentIndex(t, client, testIndex(t, client, "write-turns"))
	busy, other := open(client), open(client)
	busy.turnPatience = time.Minute
	put := func(w *Writer, n int) {
		results, err := w.ApplyTogether(t.Context(), version(n, 3))
		if err != nil || results[0].Err != nil {
			t.Error(err, results)
		}
	}
	put(busy, 1)
	turn := other.turnOf(other.intentOf("doc.md"))
	turn.claimNext(t.Context())
	again := make(chan struct{})
	go func() {
		defer close(again)
		put(busy, 2)
	}()
	put(other, 3)
	select {
	case <-again:
		t.Error("a writer changed the document again, when it was another's turn")
	default:
	}
	turn.giveBack(t.Context(), true)
	<-again
	if got, n := whole(t, busy); got != "2" || n != 3 {
		t.Errorf("in the end: %d passages of version %s", n, got)
	}
}
