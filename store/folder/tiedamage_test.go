package folder

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// TestOneSearchsDamage: a damaged id that one search needs to break a tie fails
// that search, and none of those beside it.
func TestOneSearchsDamage(t *testing.T) {
	dir := built(
		t,
		store.BuildOptions{},
		[]corpus.Passage{{ID: "damaged", Text: "tie"}, {ID: "fine", Text: "other"}},
		[]corpus.Passage{{ID: "second", Text: "tie"}},
	)
	path := filepath.Join(dir, "seg-000001", storeName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, path, int64(bytes.Index(data, []byte("damaged"))))
	words := opened(t, dir).Words()
	var fine sync.WaitGroup
	stop := make(chan struct{})
	fine.Go(func() {
		for {
			if hits, err := words.Search(t.Context(), "other", 3); err != nil || len(hits) != 1 {
				t.Errorf("beside a search that fails: %v, %v", hits, err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 20_000 {
		if hits, err := words.Search(t.Context(), "tie", 3); err == nil {
			t.Errorf("a damaged id broke a tie: %v", hits)
			break
		}
	}
	close(stop)
	fine.Wait()
}
