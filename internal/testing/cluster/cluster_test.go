package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Apart(m)) }

// do sends a request that has to succeed, and decodes the answer into it.
func do(t *testing.T, method, url, body string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v: %s", method, url, answer.Status, err, data)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
	}
}

// found is the ids and scores of an answer, in order.
type found struct {
	Hits struct {
		Hits []struct {
			ID    string  `json:"_id"`
			Score float64 `json:"_score"`
		}
	}
}

// TestCluster: what one node took the others find by words and by vectors, also while a
// node is away, and the node has it when it is back.
func TestCluster(t *testing.T) {
	c := Start(t, 3)
	do(
		t,
		"PUT",
		c.URLs[0]+"/lamps",
		`{"settings": {"number_of_shards": 3, "number_of_replicas": 1, "index.knn": true}, "mappings": {"dynamic": "strict", "properties": {
		"text": {"type": "text"},
		"vector": {"type": "knn_vector", "dimension": 2, "method": {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}}}}}`,
		nil,
	)
	do(t, "PUT", c.URLs[0]+"/lamps/_doc/a?refresh=true", `{"text": "who hid the lamp", "vector": [1, 0]}`, nil)
	do(t, "PUT", c.URLs[1]+"/lamps/_doc/b?refresh=true", `{"text": "the kettle boils", "vector": [0.6, -0.8]}`, nil)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	var words, vectors found
	for _, away := range []bool{true, false} {
		if !away {
			if err := c.Mend(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		asked := c.URLs[2]
		if !away {
			asked = c.URLs[0]
		}
		do(t, "POST", asked+"/lamps/_search", `{"query": {"match": {"text": "kettle"}}}`, &words)
		if hits := words.Hits.Hits; len(hits) != 1 || hits[0].ID != "b" {
			t.Errorf("away %v: by words: %+v", away, hits)
		}
		// A score is 1 + ip where ip ≥ 0, else 1 / (1 − ip).
		do(t, "POST", asked+"/lamps/_search", `{"query": {"knn": {"vector": {"vector": [0, 1], "k": 2}}}}`, &vectors)
		if hits := vectors.Hits.Hits; len(hits) != 2 || hits[0].ID != "a" || hits[0].Score != 1 || hits[1].ID != "b" ||
			int(hits[1].Score*1e6) != 555555 {
			t.Errorf("away %v: by vectors: %+v", away, hits)
		}
	}
}
