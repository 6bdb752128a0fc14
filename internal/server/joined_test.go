package server

import (
	"fmt"
	"math"
	"net/http"
	"testing"
)

// TestJoined: a search over several collections has the passages, the order and the scores of one that holds the
// passages of all, by words and by vectors, and says of each which collection it is of. What of an id is in two is
// found in both.
func TestJoined(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	texts := []string{
		"Cooked rice keeps for a day in the fridge.", "Rice grows in water.", "The rice paper was torn by rice mice.",
		"A fox asked the moon to come down.", "The keeper hid the lamp.", "Foxes eat rice, mice and water rats.", "Lamps of paper.",
	}
	for _, name := range []string{"a", "b", "both"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["one"]}`, name))
	}
	s.create(`{"name":"lucene","experts":["one"],"analysis":"lucene"}`)
	of := map[string]string{}
	for i, text := range texts {
		id := fmt.Sprint("p", i)
		in := []string{"a", "b"}[i%2]
		s.add(in, id, text)
		s.add("both", id, text)
		of[id] = in
	}
	type results struct {
		Results []struct {
			ID, Collection string
			Score          float64
		}
	}
	compared := 0
	for _, question := range []string{"rice", "rice water mice", "fox moon", "paper lamp"} {
		for _, how := range []string{
			`"experts":[]`, `"bm25":false,"experts":["one"],"exact":true`, `"fusion":"sum","exact":true`,
		} {
			var apart, together results
			body := fmt.Sprintf(`{"question":%q,"k":7,%s`, question, how)
			s.call(http.MethodPost, "/v1/search", body+`,"collections":["b","a"]}`, http.StatusOK, &apart)
			s.call(http.MethodPost, "/v1/collections/both/search", body+`}`, http.StatusOK, &together)
			if len(apart.Results) != len(together.Results) {
				t.Fatalf("%s %s: %+v, not %+v", question, how, apart, together)
			}
			for i, r := range apart.Results {
				if want := together.Results[i]; r.ID != want.ID || math.Abs(r.Score-want.Score) > 1e-6 || r.Collection != of[r.ID] {
					t.Errorf("%s %s: %+v at %d, not %+v", question, how, r, i, want)
				}
				compared++
			}
		}
	}
	if compared < 30 {
		t.Errorf("%d results alone", compared)
	}
	s.add("a", "twice", "Unheard of.")
	s.add("b", "twice", "Unheard of in another way.")
	var twice results
	s.call(http.MethodPost, "/v1/search", `{"question":"unheard","experts":[],"collections":["a","b"]}`, http.StatusOK, &twice)
	if len(twice.Results) != 2 || twice.Results[0].Collection == twice.Results[1].Collection {
		t.Errorf("%+v", twice)
	}
	s.call(http.MethodPost, "/v1/search", `{"question":"rice","collections":["a","lucene"]}`,
		http.StatusUnprocessableEntity, nil)
	s.call(http.MethodPost, "/v1/search", `{"question":"rice","collections":["a","none"]}`, http.StatusNotFound, nil)
}

// TestJoinedTypes: over collections that declare a field alike a condition holds in all; where they declare it
// otherwise it is refused, since it would not mean the same.
func TestJoinedTypes(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	for name, kind := range map[string]string{"a": "number", "b": "number", "c": "keyword"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["none"],"fields":{"level":%q}}`, name, kind))
	}
	ask := func(names string, status int, out any) {
		s.call(http.MethodPost, "/v1/search", `{"question":"lamp","filter":{"not":{"field":"level","gte":5}},"collections":[`+
			names+`]}`, status, out)
	}
	ask(`"a","b"`, http.StatusOK, nil)
	ask(`"b","c"`, http.StatusUnprocessableEntity, nil)
}

// TestJoinedApart: of two collections with passages of the same ids each result has its own neighbours, each document
// is a group, and copies are told by their collections.
func TestJoinedApart(t *testing.T) {
	s := several(t).serve()
	defer s.end()
	for _, name := range []string{"a", "b"} {
		s.create(fmt.Sprintf(`{"name":%q,"experts":["none"]}`, name))
		for i, text := range []string{"Before the lamp", "The lamp of", "Behind the lamp"} {
			s.add(name, fmt.Sprintf("guide%%23%d", i+1), text+" "+name+".")
		}
		s.add(name, "same", "Everywhere a lantern.")
	}
	type result struct {
		ID, Collection, Text, Before, After string
		Copies                              []string
		In                                  []string `json:"copies_in"`
	}
	var found struct {
		Results []result
		Groups  []struct{ Results []result }
	}
	body := `{"question":"%s","k":9,"collections":["a","b"],"experts":[],%s}`
	s.call(http.MethodPost, "/v1/search", fmt.Sprintf(body, "the lamp of", `"around":1`), http.StatusOK, &found)
	seen := 0
	for _, r := range found.Results {
		if r.ID != "guide#2" {
			continue
		}
		seen++
		if r.Text != "The lamp of "+r.Collection+"." || r.Before != "Before the lamp "+r.Collection+"." ||
			r.After != "Behind the lamp "+r.Collection+"." {
			t.Errorf("%+v", r)
		}
	}
	if seen != 2 {
		t.Errorf("%+v", found)
	}
	found.Results = nil
	s.call(http.MethodPost, "/v1/search", fmt.Sprintf(body, "lamp", `"group_by":"document"`), http.StatusOK, &found)
	for _, g := range found.Groups {
		for _, r := range g.Results {
			if r.Collection != g.Results[0].Collection {
				t.Errorf("in one group: %+v", g)
			}
		}
	}
	if len(found.Groups) != 2 {
		t.Errorf("%d groups", len(found.Groups))
	}
	s.call(http.MethodPost, "/v1/search", fmt.Sprintf(body, "lantern", `"explain":true`), http.StatusOK, &found)
	if len(found.Results) != 1 || found.Results[0].Collection != "a" || fmt.Sprint(found.Results[0].Copies) != "[same]" ||
		fmt.Sprint(found.Results[0].In) != "[b]" {
		t.Errorf("%+v", found.Results)
	}
}
