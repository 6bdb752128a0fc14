package opensearch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/store/opensearch/schema"
)

// TestCountingCost measures how long counting the words of a question takes in indexes of generated
// documents of eight words, of the sizes that CONCLAVE_TEST_COUNTED names (such as 100000,1000000): by
// the statistics of terms, as questions do, and by an aggregation over all documents, as they did before.
func TestCountingCost(t *testing.T) {
	var sizes []int
	for text := range strings.SplitSeq(os.Getenv("CONCLAVE_TEST_COUNTED"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Skip("CONCLAVE_TEST_COUNTED names no sizes")
		}
		sizes = append(sizes, n)
	}
	client := testClient(t)
	index := testIndex(t, client, "count-cost")
	words := schema.WordsOf(bm25.Params{K1: 0.9, B: 0.4, Analysis: forms.Unicode})
	m := &schema.Manifest{Format: schema.Format, ID: "cost", Words: words}
	made := schema.Settings(words, schema.Shape{Shards: 3})
	made["index"].(object)["refresh_interval"] = "-1"
	body, err := json.Marshal(object{"settings": made, "mappings": schema.Mapping(m, schema.Meta{Manifest: m})})
	if err == nil {
		_, err = client.Do(t.Context(), "PUT", "/"+index, body)
	}
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(random, 1.05, 10, 200_000)
	at := 0
	for _, size := range sizes {
		began := time.Now()
		for at < size {
			var bulk []byte
			for end := min(size, at+5_000); at < end; at++ {
				bulk = fmt.Appendf(bulk, "{\"create\":{\"_id\":\"%d\"}}\n{\"words\":\"", at)
				for range 8 {
					bulk = fmt.Appendf(bulk, "w%d ", zipf.Uint64())
				}
				bulk = append(bulk, "\"}\n"...)
			}
			for try := 0; ; try++ { // the test's nodes have half a GiB each, and refuse while they merge
				answer, err := client.Do(t.Context(), "POST", "/"+index+"/_bulk?filter_path=errors,items.*.error", bulk)
				there := strings.Count(string(answer), `"error":{"type":"version_conflict_engine_exception"`)
				if err == nil && strings.Count(string(answer), `"error":{`) == there { // of the try before
					break
				}
				if try == 30 {
					t.Fatalf("at %d: %v: %.500s", at, err, answer)
				}
				time.Sleep(2 * time.Second)
			}
		}
		filled := time.Since(began)
		store, err := Open(t.Context(), client, index)
		if err == nil {
			err = store.refresh(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		shown := &Corpus{}
		shown.store.Store(store)
		shown.counts.Store(&Statistics{})
		var entries []entry
		filters := object{"all": object{"exists": object{"field": schema.FieldWords}}}
		for i := range 16 { // eight words of a question and as many forms
			e := entry{schema.FieldWords, fmt.Sprintf("w%d", 3*i*i)}
			entries = append(entries, e)
			filters[e.text] = object{"term": object{schema.FieldWords: e.text}}
		}
		median := func(ask func() error) time.Duration {
			var took []time.Duration
			for range 21 {
				began := time.Now()
				if err := ask(); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		var counts *termCounts
		statistics := median(func() (err error) {
			counts, err = shown.askCounts(t.Context(), entries)
			return err
		})
		var answers []searchAnswer
		aggregation := median(func() (err error) {
			answers, err = store.multi(t.Context(), []object{{"size": 0, "track_total_hits": false,
				"aggs": object{"terms": object{"filters": object{"filters": filters}}}}})
			return err
		})
		if counts.all[schema.FieldWords] != uint64(size) || counts.byEntry[entries[0]] == 0 {
			t.Errorf("%d documents, %d with %s", counts.all[schema.FieldWords], counts.byEntry[entries[0]], entries[0].text)
		}
		var aggregated struct {
			Terms struct {
				Buckets map[string]struct {
					Count uint64 `json:"doc_count"`
				} `json:"buckets"`
			} `json:"terms"`
		}
		if err := json.Unmarshal(answers[0].aggregations, &aggregated); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if got, want := counts.byEntry[e], aggregated.Terms.Buckets[e.text].Count; got != want {
				t.Errorf("%s is in %d documents, by the aggregation in %d", e.text, got, want)
			}
		}
		t.Logf("%d documents: statistics %v, aggregation %v (filled in %v)", size, statistics, aggregation,
			filled.Round(time.Second))
	}
}
