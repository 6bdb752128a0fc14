package adapters_test

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestRerankers: a given text has the score by which a search reranks the same passage, by every
// interface, and a model is chosen by its name.
func TestRerankers(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: realclients.Judge(t)})
	question := "why did the fox ask the moon"
	found := s.search(search.Request{
		Question: question,
		Rerank:   ask.RerankOptions{Asked: true, Wanted: true, Model: "judge", Passages: 3},
	}).Results
	var texts []string
	var above []float64 // what a search says of them
	for _, r := range found {
		text := r.Text
		if r.Title != "" {
			text = r.Title + ". " + text
		}
		texts = append(texts, text)
		c := r.Contributions[len(r.Contributions)-1]
		if c.Source != "judge" || c.Origin != reply.OriginRerank {
			t.Fatalf("%+v", c)
		}
		above = append(above, *c.Score)
	}
	if len(texts) != 3 || slices.Max(above)-slices.Min(above) < 1e-4 {
		t.Fatalf("%d texts, %v", len(texts), above)
	}
	type ranked struct {
		Index int
		Score float64
	}
	var raw, unit []ranked
	s.ask(http.MethodPost, "/rerank", object{"query": question, "texts": texts, "raw_scores": true}, &raw)
	s.ask(http.MethodPost, "/rerank", object{"query": question, "texts": texts}, &unit)
	least := raw[len(raw)-1].Score
	for i, r := range raw {
		if math.Abs(r.Score-least-above[r.Index]) > 1e-4 {
			t.Errorf("text %d: %g above the least, in a search %g", r.Index, r.Score-least, above[r.Index])
		}
		if want := 1 / (1 + math.Exp(-r.Score)); unit[i].Index != r.Index || math.Abs(unit[i].Score-want) > 1e-6 {
			t.Errorf("%+v, not %g", unit[i], want)
		}
	}
	for _, model := range []string{"judge", "late", "rerank-v3.5", ""} {
		var cohere struct {
			Results []struct {
				Index          int
				RelevanceScore float64 `json:"relevance_score"`
			}
		}
		s.ask(http.MethodPost, "/v2/rerank", object{"model": model, "query": question, "documents": texts}, &cohere)
		for i, r := range cohere.Results {
			if same := math.Abs(r.RelevanceScore-unit[i].Score) < 1e-6 && r.Index == unit[i].Index; same != (model != "late") {
				t.Errorf("model %q: %+v, and by default %+v", model, r, unit[i])
			}
		}
		if model == "late" && len(cohere.Results) == 0 {
			t.Error("late interaction scored none")
		}
	}
	var experts struct {
		Rerankers []learned.RerankerInfo
	}
	s.ask(http.MethodGet, "/v1/experts", nil, &experts)
	if len(experts.Rerankers) != 1 || experts.Rerankers[0].Name != "judge" || experts.Rerankers[0].Calibrated {
		t.Errorf("%+v", experts)
	}
	text, err := json.Marshal(found)
	if err != nil || !strings.Contains(string(text), `"origin":"rerank"`) {
		t.Errorf("%s, %v", text, err)
	}
}
