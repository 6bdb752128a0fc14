package adapters_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
)

// TestRefusals: what an interface has and conclave does not do is refused with a reason,
// in the interface's own shape, with the status that its callers expect.
func TestRefusals(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: keyed})
	hello := []object{{"role": "user", "content": "hello"}}
	setting := object{"top_k": 3, "score_threshold": 0}
	ai := func(param, code any) object {
		return object{"error": object{"type": "invalid_request_error", "param": param, "code": code}}
	}
	inferred, cohere := object{"error_type": "Validation"}, object{}
	for _, c := range []struct {
		path   string
		body   any
		status int
		want   object // but for what is said
		says   string
	}{
		{"/v1/embeddings", object{"model": "base", "input": "x", "dimensions": 8}, 400, ai("dimensions", "unknown_value"), "trained with"},
		{"/v1/embeddings", object{"model": "base", "input": []int{1, 2}}, 400, ai("input", "wrong_type"), "token numbers"},
		{"/v1/embeddings", object{"model": "base", "input": [][]int{{1, 2}}}, 400, ai("input", "wrong_type"),
			"token numbers"},
		{"/v1/embeddings", object{"model": "base", "input": object{}}, 400, ai("input", "wrong_type"), "string or a list"},
		{"/v1/embeddings", object{"model": "base", "input": []string{}}, 400, ai("input", "out_of_range"), "0 texts"},
		{"/v1/embeddings", object{"model": "base", "input": []string{"x", ""}}, 400, ai("input.1", "empty_text"), "empty"},
		{"/v1/embeddings", object{"model": "base", "input": strings.Repeat("long ", 2000)}, 400, ai("input", "too_long"), "tokens"},
		{"/v1/embeddings", object{"model": "base", "input": "x", "encoding_format": "hex"}, 400, ai("encoding_format", "unknown_value"), "base64"},
		{"/v1/embeddings", object{"model": "gpt", "input": "x"}, 404, ai("model", "model_not_found"), "gpt"},
		{"/v1/embeddings", object{"model": "late", "input": "x"}, 404, ai("model", "model_not_found"), "every token"},
		{"/v1/embeddings", object{"input": "x"}, 400, ai("model", "missing_field"), "/v1/models"},
		{"/v1/chat/completions", object{"messages": hello}, 400,
			ai("model", "missing_field"), "/v1/models"},
		{"/v1/chat/completions", object{"model": "gpt-5", "messages": hello}, 404,
			ai("model", "model_not_found"), "conclave"},
		{"/v1/chat/completions", object{"model": "base", "messages": hello}, 404,
			ai("model", "model_not_found"), "conclave"},
		{"/v1/chat/completions", object{"model": "conclave"}, 400,
			ai("messages", "missing_field"), "user"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": "hi"}, 400,
			ai("messages", "wrong_type"), "string"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": []object{{"role": "system", "content": "x"}}}, 400,
			ai("messages", "empty_question"), "user"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": []object{{"role": "pope", "content": "x"}}}, 400,
			ai("messages.0.role", "unknown_value"), "pope"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello, "tools": []object{{"type": "function"}}}, 400,
			ai("tools", "unknown_value"), "passages of the collection alone"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": []object{{"role": "user", "content": []object{{"type": "image_url", "image_url": object{"url": "x"}}}}}}, 400,
			ai("messages.0.content", "unknown_value"), "image_url"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": []object{{"role": "tool", "content": "x"}}}, 400,
			ai("messages.0", "unknown_value"), "of a tool"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello, "n": 2}, 400,
			ai("n", "unknown_value"), "one answer"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello, "response_format": object{"type": "json_object"}}, 400,
			ai("response_format", "unknown_value"), "only a generator behind an interface writes JSON"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello,
			"response_format": object{"type": "xml"}}, 400,
			ai("response_format", "unknown_value"), "text, json_object and json_schema"},
		{"/v1/responses", object{"model": "conclave", "input": "x",
			"text": object{"format": object{"type": "json_schema"}}}, 400,
			ai("text.format", "unknown_value"), "needs a schema of an object"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello, "stream": true, "tools": []object{{"type": "function"}}}, 400,
			ai("tools", "unknown_value"), "tools"},
		{"/v1/responses", object{"model": "conclave", "input": "x", "previous_response_id": "r"}, 400,
			ai("previous_response_id", "unknown_value"), "stores nothing"},
		{"/v1/responses", object{"model": "conclave", "input": []object{{"type": "function_call_output"}}}, 400,
			ai("input.0.type", "unknown_value"), "only messages"},
		{"/v1/responses", object{"model": "conclave", "input": "x", "tools": []object{{"type": "web_search"}}}, 400,
			ai("tools", "unknown_value"), "cannot be used here"},
		{"/v1/responses", object{"model": "conclave"}, 400, ai("input", "missing_field"), "missing"},
		{"/v1/completions", object{"model": "conclave", "prompt": []string{"x", "y"}}, 400,
			ai("prompt", "unknown_value"), "one text"},
		{"/v1/completions", object{"model": "gpt", "prompt": "x"}, 404, ai("model", "model_not_found"), "conclave"},
		{"/v1/chat/completions", object{"model": "conclave", "messages": hello, "stop": []int{1}}, 400,
			ai("stop", "wrong_type"), "a string or a list of strings"},
		{"/v1/embeddings", object{"model": 7, "input": "x"}, 400, ai("model", "wrong_type"), "number"},
		{"/v1/embeddings", object{"model": "base", "text": "x"}, 400, ai("text", "unknown_field"), "text"},
		{"/v1/embeddings", []int{}, 400, ai(nil, "not_json"), "JSON"},
		{"/v1/vector_stores/other/search", object{"query": "x"}, 404, ai("vector_store_id", "unknown_collection"), `"other"`},
		{"/v1/vector_stores/c/search", object{"query": []string{"x", "y"}}, 400, ai("query", "out_of_range"), "one is answered"},
		{"/v1/vector_stores/c/search", object{"query": "x", "max_num_results": 51}, 400, ai("max_num_results", "out_of_range"), "50"},
		{"/v1/vector_stores/c/search", object{"query": "x", "rewrite_query": true}, 400, ai("rewrite_query", "unknown_value"), "rewritten"},
		{"/v1/vector_stores/c/search", object{"query": "x", "filters": object{"type": "gt", "key": "tags", "value": 3}}, 400, ai("filters", "wrong_type"), "tags"},
		{"/v1/vector_stores/c/search", object{"query": "x", "filters": object{"type": "eq", "key": "tags", "value": 3}}, 400, ai("filters", "wrong_type"), "tag"},
		{"/v1/vector_stores/c/search", object{"query": "x", "filters": object{"type": "or"}}, 400, ai("filters", "out_of_range"), "none"},
		{"/v1/vector_stores/c/search", object{"query": "x", "ranking_options": object{"score_threshold": 2}}, 400, ai("ranking_options.score_threshold", "out_of_range"), "from 0 to 1"},
		{"/v1/vector_stores/c/search", object{"query": " "}, 400, ai("query", "empty_question"), "empty"},
		{"/embed", object{"inputs": "x", "dimensions": 3}, 400, inferred, "dimensions"},
		{"/embed", object{"inputs": strings.Repeat("long ", 2000)}, 413, inferred, "tokens"},
		{"/embed", object{"inputs": "x", "truncate": true, "truncation_direction": "Left"}, 422, inferred, "Right"},
		{"/rerank", object{"query": "x", "texts": []string{}}, 422, inferred, "0 texts"},
		{"/rerank", object{"query": "x", "texts": strings.Fields(strings.Repeat("x ", 257))}, 413, inferred, "257 texts"},
		{"/rerank", object{"query": "x", "texts": []string{strings.Repeat("long ", 2000)}}, 413, inferred, "truncate"},
		{"/rerank", object{"query": "", "texts": []string{"x"}}, 400, inferred, "empty"},
		{"/v2/rerank", object{"query": "x", "documents": []int{1}}, 422, cohere, "documents"},
		{"/v2/rerank", object{"query": "x", "documents": []string{"x"}, "top_n": 0}, 422, cohere, "top_n"},
		{"/v2/rerank", object{"query": "x", "documents": []string{"x"}, "max_tokens_per_doc": 9}, 422, cohere, "beginning"},
		{"/retrieval", object{"knowledge_id": "other", "query": "x", "retrieval_setting": setting}, 404, object{"error_code": 2001.}, `"other"`},
		{"/retrieval", object{"knowledge_id": "c", "query": "x", "retrieval_setting": object{"top_k": 0}}, 422, object{"error_code": "out_of_range"}, "top_k"},
		{"/retrieval", object{"knowledge_id": "c", "query": "x", "retrieval_setting": object{"score_threshold": -1}}, 422, object{"error_code": "out_of_range"}, "score_threshold"},
		{"/retrieval", object{"knowledge_id": "c", "query": "x", "metadata_condition": object{"conditions": []object{{"name": "page", "comparison_operator": "end with", "value": 3}}}}, 422, object{"error_code": "unknown_value"}, "tags"},
	} {
		s.key = "embed"
		if c.path == "/retrieval" || strings.HasPrefix(c.path, "/v1/vector_stores") ||
			strings.HasPrefix(c.path, "/v1/chat") || c.path == "/v1/responses" || c.path == "/v1/completions" {
			s.key = "search"
		}
		s.refused(c.path, c.body, c.status, c.want, c.says)
	}
	// Dify asks for 403 where a key is wrong, and tells how by the code.
	body := object{"knowledge_id": "c", "query": "x", "retrieval_setting": setting}
	for key, code := range map[string]float64{"": 1001, "wrong": 1002, "embed": 1002} {
		s.key = key
		s.refused("/retrieval", body, http.StatusForbidden, object{"error_code": code}, "key")
	}
	s.key = "search"
	s.refused(
		"/v1/embeddings",
		object{"model": "base", "input": "x"},
		http.StatusForbidden,
		ai(nil, "insufficient_scope"),
		"scope",
	)
	s.key = "wrong"
	s.refused(
		"/v1/embeddings",
		object{"model": "base", "input": "x"},
		http.StatusUnauthorized,
		ai(nil, "invalid_api_key"),
		"key",
	)
}

// refused sends what has to be refused: with this answer, but for a text that says why.
func (s *site) refused(path string, body any, status int, want object, says string) {
	s.t.Helper()
	got, answer := s.send(http.MethodPost, path, body)
	var refusal object
	if err := json.Unmarshal(answer, &refusal); err != nil || got != status {
		s.t.Errorf("%s %.200v: %d %s", path, body, got, answer)
		return
	}
	inner := refusal
	if e, ok := refusal["error"].(object); ok {
		inner = e
	}
	said := ""
	for _, name := range []string{"message", "error", "error_msg"} {
		if text, ok := inner[name].(string); ok {
			said = text
			delete(inner, name)
		}
	}
	if !strings.Contains(said, says) || !reflect.DeepEqual(refusal, want) {
		s.t.Errorf("%s %.200v: %q, %v, want %v", path, body, said, refusal, want)
	}
}
