package opensearch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/store/opensearch/cluster"
)

// TestSlowNode: of three real nodes the answers of one are 3 s late, through a proxy.
// Searches, the first of which asks it, do not wait for it, and it is counted.
func TestSlowNode(t *testing.T) {
	c := testcluster.Start(t, 3)
	direct := nodesOf(t, c)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(3 * time.Second):
		case <-r.Context().Done():
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, c.URLs[0]+r.URL.String(), r.Body)
		if err != nil {
			return
		}
		request.Header = r.Header
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		defer func() { _ = answer.Body.Close() }()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	}))
	t.Cleanup(slow.Close)
	u := address(t, slow.URL)
	var overtaken atomic.Int64
	client, err := cluster.NewClient([]*url.URL{address(t, c.URLs[1]), u, address(t, c.URLs[2])}, cluster.Access{})
	if err != nil {
		t.Fatal(err)
	}
	client.Observe(func(e cluster.Exchange) {
		if e.Node == u.Host && e.Outcome == "overtaken" {
			overtaken.Add(1)
		}
	})
	index := testIndex(t, direct, "slow-node")
	decode(t, direct, "PUT", "/"+index, []byte(`{"settings":{"number_of_shards":3,"number_of_replicas":1}}`), &struct{}{})
	decode(t, direct, "PUT", "/"+index+"/_doc/a?refresh=true", []byte(`{"text":"lamp"}`), &struct{}{})
	body := `{"index":"` + index + `","search_type":"dfs_query_then_fetch"}` + "\n{}\n"
	for range 6 {
		answer, err := client.Do(t.Context(), "POST", "/_msearch", []byte(body))
		if err != nil || !strings.Contains(string(answer), `"_id":"a"`) {
			t.Errorf("%v: %s", err, answer)
		}
	}
	for end := time.Now().Add(10 * time.Second); overtaken.Load() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the slow node was not overtaken")
		}
	}
}
