package opensearch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/schema"
)

// TestSeparate: of questions that are asked of separate indexes, as the parts of a long one are, each fetches the
// scores by its own searches alone.
func TestSeparate(t *testing.T) {
	var searches atomic.Int64
	client := behind(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := bytes.Count(body, []byte("\n")) / 2
		searches.Store(int64(n))
		const one = `{"_shards":{"total":1,"successful":1},"hits":{"hits":[]}}`
		_, _ = fmt.Fprintf(w, `{"responses":[%s]}`, strings.TrimSuffix(strings.Repeat(one+",", n), ","))
	}))
	c := &Corpus{}
	m := &schema.Manifest{Words: schema.WordsOf(bm25.DefaultParams()), Experts: []schema.Expert{{Name: "e", Dimension: 2}}}
	c.store.Store(&Store{client: client, index: "x", about: schema.Meta{Manifest: m}})
	c.shared.Store(&shared{table: newTable(9)})
	whole := c.Acquire().(*view)
	ask := func(of storage.Indexes, query ...float32) int64 {
		t.Helper()
		index, _ := of.Vectors("e")
		if _, err := index.Search(t.Context(), query, 3, false); err != nil {
			t.Fatal(err)
		}
		passage := []rank.Ordinal{whole.table.ordinal(fmt.Sprint("p", query), 1, 0)}
		if _, err := of.Prefetch(t.Context(), passage); err != nil {
			t.Fatal(err)
		}
		return searches.Load()
	}
	for _, part := range []float32{1, 2, 3} {
		if n := ask(whole.Separate(), part, 0); n != 1 {
			t.Errorf("part %v: %d searches for scores", part, n)
		}
	}
	for i := range int64(2) { // of one question's, all of them
		if n := ask(whole, float32(i), 1); n != i+1 {
			t.Errorf("%d searches for scores, %d were asked", n, i+1)
		}
	}
}
