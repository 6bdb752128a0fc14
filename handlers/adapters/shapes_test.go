package adapters_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

type embeddingList struct {
	Data []struct {
		Index     int
		Embedding json.RawMessage
	}
	Usage struct{ PromptTokens, TotalTokens int }
}

// TestEmbeddings: the vectors are those of /v1/embed, in both encodings.
func TestEmbeddings(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	texts := []string{"a lamp", "the moon and the fox"}
	for model, kind := range map[string]string{"base": "passage", "base:question": "question"} {
		var want lookup.EmbedResponse
		s.ask(http.MethodPost, "/v1/embed", object{"expert": "base", "kind": kind, "input": texts}, &want)
		for _, format := range []string{"float", "base64", ""} {
			body := object{"model": model, "input": texts}
			if format != "" {
				body["encoding_format"] = format
			}
			var got embeddingList
			s.ask(http.MethodPost, "/v1/embeddings", body, &got)
			for i, x := range got.Data {
				var vector []float32
				if format == "base64" {
					var text string
					err := json.Unmarshal(x.Embedding, &text)
					bytes, err2 := base64.StdEncoding.DecodeString(text)
					vector = make([]float32, len(bytes)/4)
					if err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
					for j := range vector {
						vector[j] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*j:]))
					}
				} else if err := json.Unmarshal(x.Embedding, &vector); err != nil {
					t.Fatal(err)
				}
				if x.Index != i || !slices.Equal(vector, want.Embeddings[i]) {
					t.Errorf("%s %s: %v, want %v", model, format, vector, want.Embeddings[i])
				}
			}
			if len(got.Data) != 2 {
				t.Errorf("%+v", got)
			}
		}
	}
	var models struct {
		Data []struct{ ID, Object string }
	}
	s.ask(http.MethodGet, "/v1/models", nil, &models)
	if len(models.Data) != 3 || models.Data[0].ID != "conclave" || models.Data[1].ID != "base" || models.Data[2].ID != "base:question" ||
		models.Data[0].Object != "model" {
		t.Errorf("%+v", models)
	}
	var inferred [][]float32
	s.ask(http.MethodPost, "/embed", object{"inputs": texts, "normalize": false, "prompt_name": nil}, &inferred)
	var want lookup.EmbedResponse
	s.ask(http.MethodPost, "/v1/embed", object{"expert": "base", "kind": "passage", "input": texts}, &want)
	if !slices.EqualFunc(inferred, want.Embeddings, slices.Equal) {
		t.Errorf("%v, want %v", inferred, want.Embeddings)
	}
}

type storePage struct {
	Object string
	Data   []struct {
		FileID     string `json:"file_id"`
		Filename   string
		Score      float64
		Attributes object
		Content    []struct{ Type, Text string }
	}
}

// TestStore: the search of a store is the API's search with a reader, with scores of its own.
func TestStore(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Real: true, Passages: firstTales(t)})
	question := "why did the fox want to keep the moon?"
	want := s.search(search.Request{Question: question, K: 5, Answer: ask.AnswerOptions{Wanted: true}})
	var got storePage
	s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": question, "max_num_results": 3}, &got)
	if len(got.Data) != 3 || got.Data[0].Score != *want.Confidence {
		t.Fatalf("%+v, want the confidence %v", got, *want.Confidence)
	}
	for i, x := range got.Data {
		w := want.Results[i]
		if x.FileID != w.ID || x.Filename != w.Title || len(x.Content) != 1 || x.Content[0].Text != w.Text ||
			x.Content[0].Type != "text" ||
			x.Attributes == nil {
			t.Errorf("%+v, want %+v", x, w)
		}
	}
	if a, b, c := got.Data[0].Score, got.Data[1].Score, got.Data[2].Score; !(a >= b && b >= c && c > 0 &&
		a+b+c <= *want.Any) {
		t.Errorf("%v %v %v, together at most %v", a, b, c, *want.Any)
	}
	for threshold, n := range map[float64]int{got.Data[0].Score: 1, got.Data[0].Score + 1e-6: 0, got.Data[1].Score: 2} {
		var some storePage
		s.ask(
			http.MethodPost,
			"/v1/vector_stores/c/search",
			object{
				"query":           []string{question},
				"max_num_results": 3,
				"ranking_options": object{"ranker": "auto", "score_threshold": threshold},
			},
			&some,
		)
		if len(some.Data) != n {
			t.Errorf("at %v: %+v", threshold, some)
		}
	}
	type record struct {
		Content, Title string
		Score          float64
		Metadata       object
	}
	var dify struct{ Records []record }
	s.ask(
		http.MethodPost,
		"/retrieval",
		object{"knowledge_id": "c", "query": question, "retrieval_setting": object{"top_k": 3, "score_threshold": 0}},
		&dify,
	)
	answered := s.search(search.Request{Question: question, K: 3, Answer: ask.AnswerOptions{Wanted: true}})
	if len(dify.Records) != 3 || dify.Records[0].Score != *answered.Confidence {
		t.Fatalf("%+v, want the confidence %v", dify, *answered.Confidence)
	}
	for i, x := range dify.Records {
		w := answered.Results[i]
		if x.Content != w.Text || x.Title != w.Title || i > 0 && x.Score > dify.Records[i-1].Score ||
			x.Metadata["id"] != w.ID {
			t.Errorf("%+v, want %+v", x, w)
		}
	}
}

// TestDifyAnswers: a record that answers has the words that the search marks, and their
// place; its passage's own metadata stays.
func TestDifyAnswers(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: realclients.Marker(t)})
	const question = "who hid the lamp?"
	var want reply.Response
	s.ask(http.MethodPost, "/v1/search", object{"question": question, "k": 20, "answer": true}, &want)
	if len(want.Answers) == 0 {
		t.Fatalf("%+v", want)
	}
	var got struct {
		Records []struct {
			Content  string
			Metadata struct {
				ID     string
				Page   int
				Answer *reply.Extract
			}
		}
	}
	s.ask(
		http.MethodPost,
		"/retrieval",
		object{"knowledge_id": "c", "query": question, "retrieval_setting": object{"top_k": 20}},
		&got,
	)
	marked := 0
	for _, x := range got.Records {
		at := slices.IndexFunc(want.Answers, func(a reply.Extract) bool { return a.Passage == x.Metadata.ID })
		if at < 0 != (x.Metadata.Answer == nil) || x.Metadata.ID == "lamps/1" && x.Metadata.Page != 7 {
			t.Fatalf("%+v, and the answers are %+v", x, want.Answers)
		}
		if a := x.Metadata.Answer; a != nil {
			marked++
			if a.Text != want.Answers[at].Text || x.Content[a.Start:a.End] != a.Text {
				t.Errorf("%+v, want %+v", a, want.Answers[at])
			}
		}
	}
	if marked == 0 {
		t.Errorf("no record has an answer: %+v", got.Records)
	}
}

// TestStoreFilters: conditions on tags are the API's filter.
func TestStoreFilters(t *testing.T) {
	s := serve(t, realclients.ServerOptions{})
	eq := func(tag string) object { return object{"type": "eq", "key": "tags", "value": tag} }
	in := object{"type": "in", "key": "tags", "value": []string{"kitchen", "tales"}}
	for _, c := range []struct {
		filter object
		want   string
	}{
		{eq("tales"), "foxes lamps/1"},
		{eq("kitchen"), "rice"},
		{in, "foxes lamps/1 rice"},
		{object{"type": "or", "filters": []object{eq("kitchen"), eq("none")}}, "rice"},
		{object{"type": "and", "filters": []object{eq("tales"), in}}, "foxes lamps/1"},
		{object{"type": "and", "filters": []object{eq("tales"), eq("kitchen")}}, ""},
	} {
		var got storePage
		s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": "lamp", "filters": c.filter}, &got)
		ids := []string{}
		for _, x := range got.Data {
			ids = append(ids, x.FileID)
		}
		if slices.Sort(ids); strings.Join(ids, " ") != c.want {
			t.Errorf("%v: %v", c.filter, ids)
		}
	}
	for want, conditions := range map[int][]object{
		2: {{"name": []string{"tags"}, "comparison_operator": "contains", "value": "tales"}},
		1: {{"name": "tags", "comparison_operator": "in", "value": []string{"kitchen", "none"}}},
		0: {{"name": "tags", "comparison_operator": "is", "value": "kitchen"}, {"name": "tags", "comparison_operator": "is", "value": "tales"}},
	} {
		var got struct{ Records []object }
		s.ask(
			http.MethodPost,
			"/retrieval",
			object{
				"knowledge_id":       "c",
				"query":              "lamp",
				"retrieval_setting":  object{"top_k": 5},
				"metadata_condition": object{"conditions": conditions},
			},
			&got,
		)
		if len(got.Records) != want {
			t.Errorf("%v: %v", conditions, got)
		}
	}
}

// TestConditionsOfOthers: conditions on metadata of OpenAI's vector stores and of Dify find what they say.
func TestConditionsOfOthers(t *testing.T) {
	passages := ""
	for i, day := range []string{"2024-01-31", "2024-02-29", "2024-03-01", "2024-03-02"} {
		passages += fmt.Sprintf(`{"id":"m%d","text":"a coffee mill number %d","tags":["t%d"],"metadata":{"price":%d,"day":%q,"kind":"k%d","row":"%d"}}`+"\n",
			i, i, i%2, 10*i, day, i%3, i)
	}
	s := serve(t, realclients.ServerOptions{Passages: passages})
	one := func(by, key string, value any) object { return object{"type": by, "key": key, "value": value} }
	join := func(by string, all ...object) object { return object{"type": by, "filters": all} }
	for _, c := range []struct {
		filter object
		want   string
	}{
		{one("gte", "price", 20), "m2 m3"},
		{one("ne", "kind", "k0"), "m1 m2"},
		{one("nin", "kind", []string{"k0", "k2"}), "m1"},
		{join("and", one("gt", "price", 0), one("lt", "day", "2024-03-01")), "m1"},
		{join("or", one("eq", "price", 0), join("and", one("eq", "tags", "t1"), one("lte", "price", 10))), "m0 m1"},
		{one("in", "price", []int{0, 30, 99}), "m0 m3"},
		{one("eq", "nobody", "x"), ""},
	} {
		var got storePage
		s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": "coffee mill", "filters": c.filter}, &got)
		ids := []string{}
		for _, x := range got.Data {
			ids = append(ids, x.FileID)
		}
		if slices.Sort(ids); strings.Join(ids, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.filter, ids, c.want)
		}
	}
	cond := func(name any, by string, value any) object {
		return object{"name": name, "comparison_operator": by, "value": value}
	}
	for _, c := range []struct {
		operator   string
		conditions []object
		want       string
	}{
		{"and", []object{cond([]string{"price"}, "≥", "20")}, "m2 m3"},
		{"and", []object{cond("price", "=", 10)}, "m1"},
		{"and", []object{cond("row", "≠", "1"), cond("price", "<", "25")}, "m0 m2"},
		{"and", []object{cond("kind", "is not", "k0"), cond("day", "after", "2024-02-29")}, "m2"},
		{"or", []object{cond("kind", "is", "k2"), cond("day", "before", 1706745600)}, "m0 m2"},
		{"and", []object{cond("kind", "in", []string{"k1", "k2"})}, "m1 m2"},
		{"and", []object{cond("kind", "not in", []string{"k1", "k2"})}, "m0 m3"},
		{"and", []object{cond("kind", "start with", "k"), cond("row", "start with", "2")}, "m2"},
		{"and", []object{{"name": "nobody", "comparison_operator": "not empty"}}, ""},
		{"and", []object{cond("tags", "not contains", "t1"), {"name": "day", "comparison_operator": "not empty"}}, "m0 m2"},
		{"and", []object{cond([]string{"kind", "row"}, "is", "k1"), cond("text", "contains", "mill")}, "m1"},
	} {
		var got struct {
			Records []struct{ Metadata struct{ ID string } }
		}
		s.ask(http.MethodPost, "/retrieval", object{
			"knowledge_id": "c", "query": "coffee mill", "retrieval_setting": object{"top_k": 9},
			"metadata_condition": object{"logical_operator": c.operator, "conditions": c.conditions},
		}, &got)
		ids := []string{}
		for _, x := range got.Records {
			ids = append(ids, x.Metadata.ID)
		}
		if slices.Sort(ids); strings.Join(ids, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.conditions, ids, c.want)
		}
	}
}

// TestRerank: a text has the score that late interaction gives the same passage when it
// is stored.
func TestRerank(t *testing.T) {
	passages := ""
	texts := []string{}
	for i, line := range strings.SplitAfter(realclients.Demo(t, "tales"), "\n")[:30] {
		var p struct{ Text string }
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(object{"id": string(rune('a' + i)), "text": p.Text})
		if err != nil {
			t.Fatal(err)
		}
		passages = passages + string(text) + "\n"
		texts = append(texts, p.Text)
	}
	s := serve(t, realclients.ServerOptions{Passages: passages})
	question := "why did the fox hide the moon"
	want := map[int]float64{}
	for _, x := range s.search(search.Request{Question: question, K: 30,
		Fusion: search.Methods{Names: []string{"gate"}}}).Results {
		for _, c := range x.Contributions {
			if c.Source == "late" {
				want[int(x.ID[0]-'a')] = *c.Score
			}
		}
	}
	var got []struct {
		Index int
		Score float64
		Text  string
	}
	s.ask(
		http.MethodPost,
		"/rerank",
		object{"query": question, "texts": texts, "raw_scores": true, "return_text": true, "truncate": true},
		&got,
	)
	if len(got) != len(texts) || len(want) < 10 {
		t.Fatalf("%d of %d, and %d scored by a search", len(got), len(texts), len(want))
	}
	last := math.Inf(1)
	for _, x := range got {
		if w, ok := want[x.Index]; ok && math.Abs(x.Score-w) > 1e-3 || x.Text != texts[x.Index] || x.Score > last {
			t.Errorf("%+v, want %v", x, w)
		}
		last = x.Score
	}
	documents := []any{}
	for i, text := range texts {
		documents = append(documents, text)
		if i%2 == 0 {
			documents[i] = object{"text": text}
		}
	}
	for _, path := range []string{"/v1/rerank", "/v2/rerank"} {
		var cohere struct {
			Results []struct {
				Index          int
				RelevanceScore float64 `json:"relevance_score"`
				Document       *struct{ Text string }
			}
		}
		s.ask(
			http.MethodPost,
			path,
			object{
				"model":            "late",
				"query":            question,
				"documents":        documents,
				"top_n":            4,
				"return_documents": path == "/v1/rerank",
			},
			&cohere,
		)
		if len(cohere.Results) != 4 {
			t.Fatalf("%+v", cohere)
		}
		for i, x := range cohere.Results {
			if x.Index != got[i].Index || x.RelevanceScore != min(max(got[i].Score, 0), 1) ||
				(x.Document != nil) != (path == "/v1/rerank") {
				t.Errorf("%s: %+v, want %+v", path, x, got[i])
			}
		}
	}
}
