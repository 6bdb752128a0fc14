package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

func decodeResponse(t *testing.T, body []byte) reply.Response {
	t.Helper()
	var r reply.Response
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return r
}

func TestSearch(t *testing.T) {
	s := start(t, Options{})
	r := s.post(
		"/v1/search",
		`{"question":"how do bees find the hive","k":3,"fusion":"muf","experts":["wiki","health"],"explain":true,"fields":["title","text","tags","metadata","contributions","sources"]}`,
	)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	answer := decodeResponse(t, r.body)
	if len(answer.Results) != 3 || answer.Results[0].ID != "bees" || answer.RequestID != r.Header.Get("X-Request-ID") ||
		answer.Generation != 12 ||
		answer.Confidence == nil {
		t.Errorf("%s", r.body)
	}
	for _, result := range answer.Results {
		sum := 0.0
		for _, c := range result.Contributions {
			sum += c.Contribution
		}
		if math.Abs(sum-result.Score) > 1e-6 {
			t.Errorf("contributions of %s add up to %v, the score is %v", result.ID, sum, result.Score)
		}
	}
	if timing := r.Header.Get("Server-Timing"); !regexp.MustCompile(`^(encode-wiki;dur=[0-9.]+, )?.*total;dur=[0-9.]+$`).
		MatchString(timing) {
		t.Errorf("Server-Timing: %q", timing)
	}
	if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", r.Header)
	}
}

// TestGetIsPost asks the same in both ways.
func TestGetIsPost(t *testing.T) {
	s := start(t, Options{})
	for query, body := range map[string]string{
		"q=bees":                                              `{"question":"bees"}`,
		"q=bees+%26+hive&k=2&candidates=7":                    `{"question":"bees & hive","k":2,"candidates":7}`,
		"q=bees&tags_all=nature,bees":                         `{"question":"bees","filter":{"tags_all":["nature","bees"]}}`,
		"q=bees&tags_any=nature,%20bees&tags_all=nature":      `{"question":"bees","filter":{"tags_all":["nature"],"tags_any":["nature","bees"]}}`,
		"q=bees&tags_any=":                                    `{"question":"bees","filter":{"tags_any":[]}}`,
		"q=bees&experts=wiki,health":                          `{"question":"bees","experts":["wiki","health"]}`,
		"q=bees&experts=":                                     `{"question":"bees","experts":[]}`,
		"q=bees&bm25=false&exact=true":                        `{"question":"bees","bm25":false,"exact":true}`,
		"q=bees&fusion=rrf":                                   `{"question":"bees","fusion":"rrf"}`,
		"q=bees&fusion=rrf&specialists=1":                     `{"question":"bees","fusion":"rrf","specialists":1}`,
		"q=bees&fusion=rrf,sum":                               `{"question":"bees","fusion":["rrf","sum"]}`,
		"q=bees&fields=title,%20tags&explain=true":            `{"question":"bees","fields":["title","tags"],"explain":true}`,
		"q=bees&missing=min&fusion=sum&timeout_ms=1000&k=1e0": `{"question":"bees","missing":"min","fusion":"sum","timeout_ms":1000,"k":1.0}`,
		"q=bees&fusion=sum&normalisation=minmax&k=2":          `{"question":"bees","fusion":"sum","normalisation":"minmax","k":2}`,
	} {
		get := s.send(http.MethodGet, "/v1/search?"+query, "")
		post := s.post("/v1/search", body)
		if get.StatusCode != post.StatusCode {
			t.Errorf("%s: %d %s\n%d %s", query, get.StatusCode, get.body, post.StatusCode, post.body)
			continue
		}
		if get.StatusCode != http.StatusOK {
			if !strings.Contains(query, "normalisation") {
				t.Errorf("%s: %s", query, get.body)
			}
			continue
		}
		// Times and ids differ.
		volatile := regexp.MustCompile(`"(request_id|took_ms)":("[^"]*"|[0-9.e-]+|\{[^}]*\})`)
		a, b := volatile.ReplaceAllString(string(get.body), ""), volatile.ReplaceAllString(string(post.body), "")
		if a != b {
			t.Errorf("%s:\n%s\n%s", query, a, b)
		}
	}
}

func TestSeveralMethods(t *testing.T) {
	s := start(t, Options{})
	answer := decodeResponse(t, s.post("/v1/search", `{"question":"bees","fusion":["rrf"],"k":2}`).body)
	if len(answer.Rankings) != 1 || answer.Results != nil || answer.Rankings[0].Fusion != "rrf" ||
		len(answer.Rankings[0].Results) != 2 {
		t.Errorf("a list of one method: %+v", answer)
	}
}

func TestBatch(t *testing.T) {
	s := start(t, Options{})
	r := s.post(
		"/v1/search/batch",
		`{"searches":[{"question":"bees","k":1},{"question":"x","kk":1},{"question":" "},{"question":"everything","k":1},{"question":"x","experts":["nobody"]},7]}`,
		"X-Request-ID",
		"batch-1",
	)
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	var out struct{ Answers []json.RawMessage }
	if err := json.Unmarshal(r.body, &out); err != nil || len(out.Answers) != 6 {
		t.Fatalf("%v %s", err, r.body)
	}
	for i, id := range map[int]string{0: "bees", 3: "wiki/42"} {
		if a := decodeResponse(t, out.Answers[i]); len(a.Results) != 1 || a.Results[0].ID != id || a.RequestID != "batch-1" {
			t.Errorf("%d: %s", i, out.Answers[i])
		}
	}
	for i, want := range map[int]struct {
		status        int
		code, pointer string
	}{
		1: {400, "unknown_field", "/searches/1/kk"},
		2: {400, "empty_question", "/searches/2/question"},
		4: {422, "unknown_expert", "/searches/4/experts/0"},
		5: {422, "wrong_type", "/searches/5"},
	} {
		var p schema.Problem
		if err := json.Unmarshal(out.Answers[i], &p); err != nil {
			t.Fatal(err)
		}
		if p.Status != want.status || p.Code != want.code || len(p.Errors) != 1 || p.Errors[0].Pointer != want.pointer ||
			p.RequestID != "batch-1" {
			t.Errorf("%d: %s", i, out.Answers[i])
		}
	}
}

func TestLookups(t *testing.T) {
	s := start(t, Options{})
	var list ExpertList
	if err := json.Unmarshal(s.send(http.MethodGet, "/v1/experts", "").body, &list); err != nil ||
		len(list.Experts) != 3 ||
		list.Experts[2].Calibration != nil {
		t.Errorf("%+v, %v", list, err)
	}
	var expert learned.ExpertInfo
	if err := json.Unmarshal(s.send(http.MethodGet, "/v1/experts/wiki", "").body, &expert); err != nil ||
		expert.Name != "wiki" ||
		expert.EnsembleMembers != 3 {
		t.Errorf("%+v, %v", expert, err)
	}
	if p := s.send(http.MethodGet, "/v1/experts/nobody", "").problem(t); p.Status != 404 || p.Code != "expert_not_found" {
		t.Errorf("%+v", p)
	}
	var limits Limits
	if err := json.Unmarshal(s.send(http.MethodGet, "/v1/limits", "").body, &limits); err != nil || limits.K != 1000 ||
		limits.QuestionTokens["wiki"] != 64 ||
		limits.BodyBytes != 1<<20 ||
		limits.Defaults.Auto != "rrf" {
		t.Errorf("%+v, %v", limits, err)
	}
	var vectors lookup.EmbedResponse
	if err := json.Unmarshal(s.post("/v1/embed", `{"expert":"wiki","input":["one","two"],"kind":"passage"}`).body,
		&vectors); err != nil ||
		len(vectors.Embeddings) != 2 ||
		len(vectors.Embeddings[1]) != testDimension ||
		vectors.Dimension != testDimension {
		t.Errorf("%+v, %v", vectors, err)
	}
}

// bareEngine knows next to nothing about its experts.
type bareEngine struct{ Engine }

func (bareEngine) Readers() []learned.ReaderInfo { return nil }

func (bareEngine) Rerankers() []learned.RerankerInfo { return nil }

func (bareEngine) Methods() []search.MethodInfo  { return []search.MethodInfo{} }
func (bareEngine) Experts() []learned.ExpertInfo { return []learned.ExpertInfo{{Name: "bare"}} }

func (bareEngine) Expert(string) (learned.ExpertInfo, error) {
	return learned.ExpertInfo{Name: "bare"}, nil
}

func TestBareExperts(t *testing.T) {
	s := start(t, Options{Engine: bareEngine{testEngine(t, engineOptions{})}})
	for _, path := range []string{"/v1/experts", "/v1/experts/bare", "/v1/limits"} { // the contract is checked on the way
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

func TestPassages(t *testing.T) {
	s := start(t, Options{})
	for path, id := range map[string]string{
		"/v1/passages/bees":                   "bees",
		"/v1/passages/wiki%2F42":              "wiki/42",
		"/v1/passages/wiki/42":                "wiki/42",
		"/v1/passages/a%20b&c%25d%20%C3%A9":   "a b&c%d é",
		"/v1/passages/a%20b%26c%25d%20%c3%a9": "a b&c%d é",
	} {
		r := s.send(http.MethodGet, path, "")
		var p struct{ ID string }
		if err := json.Unmarshal(r.body, &p); err != nil || p.ID != id {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	for path, status := range map[string]int{
		"/v1/passages/none": 404, "/v1/passages/": 404, "/v1/passages": 200, "/v1/passages/a%ffb": 400, "/v1/passages/bees?x=1": 400,
		"/v1/passages/wiki%252F42": 404, "/v1/passages/..%2fbees": 404, "/v1/passages/bees/": 404,
	} {
		if r := s.send(http.MethodGet, path, ""); r.StatusCode != status {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}

	// The version comes and goes, also where the answer is compressed.
	for _, path := range []string{"/v1/passages/bees", "/v1/passages/long"} {
		for _, encoding := range []string{"identity", "gzip"} {
			first := s.send(http.MethodGet, path, "", "Accept-Encoding", encoding)
			tag := first.Header.Get("ETag")
			if tag == "" || first.Header.Get("Cache-Control") != "private, no-cache" {
				t.Fatalf("%s: %v", path, first.Header)
			}
			for _, header := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
				again := s.send(http.MethodGet, path, "", "If-None-Match", header, "Accept-Encoding", encoding)
				if again.StatusCode != http.StatusNotModified || len(again.body) != 0 || again.Header.Get("ETag") == "" {
					t.Errorf("%s with %s: %d", path, header, again.StatusCode)
				}
			}
			if again := s.send(http.MethodGet, path, "", "If-None-Match", `"other"`); again.StatusCode != http.StatusOK {
				t.Errorf("another version: %d", again.StatusCode)
			}
		}
	}
}

func unmarshal(data []byte, into any) error { return json.Unmarshal(data, into) }

// TestFilteredSearch: tags reach the engine from every way in, and the answer
// says how many passages they let through.
func TestFilteredSearch(t *testing.T) {
	s := start(t, Options{})
	one, none := `{"question":"bees","fusion":"rrf","filter":{"tags_all":["nature"]},"fields":["tags","metadata"]}`, `{"question":"bees","filter":{"tags_any":["nobody's"]}}`
	for name, r := range map[string]received{"POST": s.post("/v1/search", one), "GET": s.send(http.MethodGet, "/v1/search?q=bees&fusion=rrf&tags_all=nature&fields=tags,metadata", "")} {
		answer := decodeResponse(t, r.body)
		if r.StatusCode != http.StatusOK || len(answer.Results) != 1 || answer.Results[0].ID != "bees" ||
			answer.Selected == nil ||
			*answer.Selected != 1 {
			t.Fatalf("%s: %d %s", name, r.StatusCode, r.body)
		}
		if got := answer.Results[0]; len(got.Tags) != 1 || got.Tags[0] != "nature" || got.Metadata["year"] == nil ||
			got.Text != "" {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if r := s.post("/v1/search", none); r.StatusCode != http.StatusOK ||
		!strings.Contains(string(r.body), `"results":[]`) ||
		!strings.Contains(string(r.body), `"selected":0`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r := s.post(
		"/v1/search/batch",
		`{"searches":[`+one+`,`+none+`,{"question":"bees"},{"question":"bees","filter":{"tags_all":[""]}}]}`,
	)
	var batch struct{ Answers []json.RawMessage }
	if err := json.Unmarshal(r.body, &batch); err != nil || len(batch.Answers) != 4 {
		t.Fatalf("%v in %s", err, r.body)
	}
	for i, want := range []string{`"selected":1`, `"results":[]`, `"id":"bees"`, `"pointer":"/searches/3/filter/tags_all/0"`} {
		if !strings.Contains(string(batch.Answers[i]), want) {
			t.Errorf("answer %d: %s", i, batch.Answers[i])
		}
	}
	if strings.Contains(string(batch.Answers[2]), "selected") {
		t.Errorf("%s", batch.Answers[2])
	}
	r = s.send(http.MethodGet, "/v1/limits", "")
	if !strings.Contains(string(r.body), fmt.Sprintf(`"filter_tags":%d,`, storage.MaxFilterTags)) ||
		!strings.Contains(string(r.body), `"filter_tag_bytes":256`) {
		t.Errorf("%s", r.body)
	}
}

// TestTypedQuestions: q is read as it is typed into a box, beside the parameters, and question
// in a POST is not.
func TestTypedQuestions(t *testing.T) {
	s := start(t, Options{})
	for address, body := range map[string]string{
		"?q=%22the+hive%22+of+bees+-wasps":               `{"question":"the hive of bees","must":["the hive"],"must_not":["wasps"]}`,
		"?q=bees+-wasps&must=hive&must_not=honey,%20wax": `{"question":"bees","must":["hive"],"must_not":["honey","wax","wasps"]}`,
		"?q=state-of-the-art+-40":                        `{"question":"state-of-the-art -40"}`,
	} {
		got := s.send(http.MethodGet, "/v1/search"+address+"&fusion=rrf", "")
		want := s.post("/v1/search", body[:len(body)-1]+`,"fusion":"rrf"}`)
		var a, b reply.Response
		if err := errors.Join(json.Unmarshal(got.body, &a), json.Unmarshal(want.body, &b)); err != nil ||
			got.StatusCode != 200 ||
			want.StatusCode != 200 {
			t.Fatalf("%s: %d %s, %d %s, %v", address, got.StatusCode, got.body, want.StatusCode, want.body, err)
		}
		if a.Question != b.Question || !reflect.DeepEqual(a.Results, b.Results) ||
			!reflect.DeepEqual(a.Selected, b.Selected) {
			t.Errorf("%s: %s\n%s: %s", address, got.body, body, want.body)
		}
	}
	var literal reply.Response
	if r := s.post("/v1/search", `{"question":"\"bees\" -wasps"}`); json.Unmarshal(r.body, &literal) != nil ||
		literal.Question != `"bees" -wasps` ||
		literal.Selected != nil {
		t.Errorf("%s", r.body)
	}
}
