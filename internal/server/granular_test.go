package server

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder"
	"example.org/conclave/internal/experts"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// TestGranularities: an expert that has a vector for each sentence is asked beside that of
// whole passages, by one encoder, and a result says which of its sentences is the most
// similar to the question, as comparing the question with each of them finds.
func TestGranularities(t *testing.T) {
	site := newSite(t, nil)
	site.importGolden("base")
	names := []string{}
	for _, g := range []string{"passage", "1"} {
		name, err := experts.GranularName("base", g)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"base", "base@1"}) {
		t.Fatalf("%q", names)
	}
	if err := site.index(names...); err != nil {
		t.Fatal(err)
	}
	s := site.serve()
	sentences := map[string][]string{
		"rice":  {"About say0 in the say1.", "Some of say2 say3 one.", "Two say4 in say5!"},
		"lamps": {"The say6 what say7.", "Who about say8 of the say9?", "One of the say10 in two."},
	}
	for id, parts := range sentences {
		body, err := json.Marshal(map[string]string{"title": "Of " + id, "text": strings.Join(parts, "  ")})
		if err != nil {
			t.Fatal(err)
		}
		s.call(http.MethodPut, "/v1/passages/"+id+"?refresh=wait", string(body), http.StatusCreated, nil)
	}
	all := s.searchedExperts()
	if len(all) != 2 || all[0].Encoder != all[1].Encoder || all[0].Fingerprint() == all[1].Fingerprint() {
		t.Fatalf("%d experts, of which two share an encoder and not their vectors", len(all))
	}
	infos := map[string]learned.ExpertInfo{}
	for _, name := range names {
		var info learned.ExpertInfo
		s.call(http.MethodGet, "/v1/experts/"+name, "", http.StatusOK, &info)
		infos[name] = info
	}
	// Three passages of a sentence, and two of three.
	if x, y := infos["base"], infos["base@1"]; x.Rows != 5 || x.Parts || y.Rows != 9 || !y.Parts || y.Passages != 5 ||
		x.Owner+y.Owner != "" {
		t.Errorf("%+v", infos)
	}
	others := map[string]bool{} // sentences but the first that were the most similar
	for _, question := range []string{"what about say3 ask0", "who ask1 the say8", "the say10", "ask2 two", "say6 one"} {
		asked, err := all[0].Encoder.EncodeQuestion(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		var r reply.Response
		s.call(
			http.MethodPost,
			"/v1/search",
			`{"question":"`+question+`","fusion":"cce","fields":["title","text","highlights"],"timeout_ms":10000}`,
			http.StatusOK,
			&r,
		)
		if len(r.Results) != 5 || len(r.Degraded) > 0 {
			t.Fatalf("%q: %+v", question, r)
		}
		for _, found := range r.Results {
			h := found.Highlight
			if h == nil || h.Field != "text" {
				t.Fatalf("%q: %+v has no part", question, found)
			}
			parts, several := sentences[found.ID]
			if !several {
				parts = []string{found.Text}
			}
			texts := make([]encoder.Text, len(parts))
			for i, p := range parts {
				texts[i] = encoder.Text{Title: found.Title, Text: p}
			}
			vectors, _, err := all[0].Encoder.ReadPassages(t.Context(), texts)
			if err != nil {
				t.Fatal(err)
			}
			best := ""
			score := math.Inf(-1)
			for i, v := range vectors {
				dot, squares := 0.0, 0.0
				for j, x := range v {
					dot, squares = dot+float64(x)*float64(asked[j]), squares+float64(x)*float64(x)
				}
				read, _ := all[0].Encoder.ReadablePassage(texts[i])
				if got := read * dot / math.Sqrt(squares); got > score {
					best = parts[i]
					score = got
				}
			}
			at := strings.Index(found.Text, best)
			if h.Start != at || h.End != at+len(best) || math.Abs(h.Score-score) > 1e-4 {
				t.Errorf(
					"%q, passage %s: %q (%d to %d) with %v, by hand %q at %d with %v",
					question,
					found.ID,
					found.Text[h.Start:h.End],
					h.Start,
					h.End,
					h.Score,
					best,
					at,
					score,
				)
			}
			if at > 0 {
				others[best] = true
			}
		}
	}
	if len(others) == 0 {
		t.Error("the first sentence was the most similar always: offsets are not tried")
	}
	// Granularities join and leave a collection that is served.
	s.done(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"base@2"}`, http.StatusAccepted, nil))
	var joined learned.ExpertInfo
	if s.call(http.MethodGet, "/v1/experts/base@2", "", http.StatusOK, &joined); joined.Rows != 3+2*2 || !joined.Parts {
		t.Errorf("%+v", joined)
	}
	for _, bad := range []string{"base@0", "base@few", "nobody@2", "base@"} {
		s.call(http.MethodPost, "/v1/admin/experts", `{"name":"`+bad+`"}`, http.StatusUnprocessableEntity, nil)
	}
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/base@1", "", http.StatusAccepted, nil))
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/base@2", "", http.StatusAccepted, nil))
	s.end()
	site.verify(5)
}
