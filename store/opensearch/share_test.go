package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// stopping gives passages until it has given so many, and then ends the process, as it were.
type stopping struct {
	store.Stream
	left int
	kill context.CancelFunc
}

func (s *stopping) Next() (corpus.Passage, error) {
	if s.left--; s.left < 0 {
		s.kill()
	}
	return s.Stream.Next()
}

// TestShares: several processes fill one index, which has neither copies nor refreshes until the last
// of them has ended, also where one was killed and goes on; nobody else changes it meanwhile. Each
// passage is encoded once, and the index is what one process makes.
func TestShares(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "shares")
	given := passages(38, 700)
	options := store.BuildOptions{
		Words:   bm25.Params{K1: 0.9, B: 0.4, Phrases: true},
		Experts: []store.PassageEncoder{hashed{name: "base"}},
	}
	shape := schema.Shape{Shards: 2, Replicas: 1}
	settings := func() (replicas, refresh string) {
		t.Helper()
		answer, err := client.Do(t.Context(), "GET", "/"+index+"/_settings", nil)
		var all map[string]struct {
			Settings struct {
				Index struct {
					Replicas string `json:"number_of_replicas"`
					Refresh  string `json:"refresh_interval"`
				} `json:"index"`
			} `json:"settings"`
		}
		if err == nil {
			err = json.Unmarshal(answer, &all)
		}
		if err != nil {
			t.Fatal(err)
		}
		return all[index].Settings.Index.Replicas, all[index].Settings.Index.Refresh
	}
	reports := make([]store.BuildReport, 4)
	errs := make([]error, 4)
	share := func(ctx context.Context, at int, source store.Stream) {
		reports[at], errs[at] = BuildShare(ctx, client, index, shape, store.Share{At: at, Of: 3}, source, options)
	}
	killed, kill := context.WithCancel(t.Context())
	defer kill()
	var all sync.WaitGroup
	for at := 1; at <= 3; at++ {
		all.Go(func() {
			if at == 2 {
				share(killed, at, &stopping{&list{passages: given}, 300, kill})
				return
			}
			share(t.Context(), at, &list{passages: given})
		})
	}
	all.Wait()
	if errs[1] != nil || errs[2] == nil || errs[3] != nil {
		t.Fatalf("%v", errs)
	}
	if _, err := Open(t.Context(), client, index); !errors.Is(err, schema.ErrUnfinished) {
		t.Errorf("two of three have ended: %v", err)
	}
	if replicas, refresh := settings(); replicas != "0" || refresh != "-1" {
		t.Errorf("while it is filled: %s copies, refreshed every %q", replicas, refresh)
	}
	half := store.Share{At: 1, Of: 2}
	if _, err := BuildShare(t.Context(), client, index, shape, half, &list{passages: given}, options); err == nil {
		t.Error("another number of shares is taken")
	}

	s, err := open(t.Context(), client, index, cluster.Opening)
	if err != nil {
		t.Fatal(err)
	}
	var held *lease.HeldError
	err = s.withLease(t.Context(), shareLock+"2", "indexing share 2/3", 0, func(ctx context.Context) error {
		_, err := Build(ctx, client, index, shape, &list{passages: given}, options, "")
		return err
	})
	if !errors.As(err, &held) {
		t.Errorf("a whole indexing beside a share: %v", err)
	}
	err = s.withLease(t.Context(), shareLock+"2", "indexing share 2/3", 0, func(ctx context.Context) error {
		_, err := BuildShare(ctx, client, index, shape, store.Share{At: 2, Of: 3}, &list{passages: given}, options)
		return err
	})
	if !errors.As(err, &held) {
		t.Errorf("a share twice: %v", err)
	}

	first := reports[2]
	share(t.Context(), 2, &list{passages: given})
	if errs[2] != nil {
		t.Fatal(errs[2])
	}
	if n := reports[1].Passages + reports[2].Passages + reports[2].There + reports[3].Passages; n != len(given) ||
		reports[2].There < first.Passages || reports[1].Passages == 0 || reports[3].Passages == 0 {
		t.Errorf("%d passages of %d: %+v, and before it was killed %+v", n, len(given), reports, first)
	}
	if replicas, refresh := settings(); replicas != "1" || refresh != "" {
		t.Errorf("afterwards: %s copies, refreshed every %q", replicas, refresh)
	}
	made, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	if made.about.Filling != nil || made.about.Plan != nil {
		t.Errorf("%+v", made.about)
	}
	stateOf(t, made, given)
	if n, err := made.Statistics(t.Context()); err != nil || n.Passages != int64(len(given)) {
		t.Errorf("%+v, %v", n, err)
	}
}
