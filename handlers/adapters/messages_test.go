package adapters_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
)

// TestMessagesEverywhere: a query behind the messages before it is answered by every interface as POST
// /v1/search answers the conversation, with how it was understood.
func TestMessagesEverywhere(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Real: true, Passages: firstTales(t)})
	before := []search.Message{
		{Role: "user", Content: "why did the fox hide the moon?"},
		{Role: "assistant", Content: "She was vain."},
	}
	const query = "and where?"
	conversation := append(slices.Clone(before), search.Message{Role: "user", Content: query})
	want := s.search(search.Request{K: 10, Messages: conversation})
	read := s.search(search.Request{K: 10, Messages: conversation, Answer: ask.AnswerOptions{Wanted: true}})
	alone := s.search(search.Request{K: 10, Question: query})
	var ids, byReader, others []string
	for i := range 3 {
		byReader = append(byReader, read.Results[i].ID) // what answers has the reader read
		ids = append(ids, want.Results[i].ID)
		others = append(others, alone.Results[i].ID)
	}
	if slices.Equal(ids, others) || want.Asked == "" {
		t.Fatalf("the messages make no difference: %v, %v, understood as %q", ids, others, want.Asked)
	}
	got := map[string][]string{}
	asked := map[string]string{}
	var store struct {
		SearchQuery []string `json:"search_query"`
		Data        []struct {
			FileID string `json:"file_id"`
		}
	}
	s.ask(http.MethodPost, "/v1/vector_stores/c/search", object{"query": query, "messages": before}, &store)
	asked["OpenAI"] = store.SearchQuery[0]
	for _, x := range store.Data[:3] {
		got["OpenAI"] = append(got["OpenAI"], x.FileID)
	}
	var dify struct {
		Asked   string
		Records []struct{ Metadata struct{ ID string } }
	}
	s.ask(http.MethodPost, "/retrieval",
		object{"knowledge_id": "c", "query": query, "messages": before, "retrieval_setting": object{"top_k": 10}}, &dify)
	asked["Dify"] = dify.Asked
	for _, x := range dify.Records[:3] {
		got["Dify"] = append(got["Dify"], x.Metadata.ID)
	}
	for _, tool := range []string{"search", "explain"} {
		var called struct {
			Result struct{ StructuredContent json.RawMessage }
		}
		s.ask(http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
			"name": tool, "arguments": object{"query": query, "messages": before},
		}}, &called)
		var answer struct {
			Asked   string
			Results []struct{ ID string }
		}
		if err := json.Unmarshal(called.Result.StructuredContent, &answer); err != nil {
			t.Fatal(err)
		}
		asked["MCP "+tool] = answer.Asked
		for _, x := range answer.Results[:3] {
			got["MCP "+tool] = append(got["MCP "+tool], x.ID)
		}
	}
	for name, found := range map[string][]string{
		"OpenAI": byReader, "MCP explain": ids, "Dify": byReader, "MCP search": byReader,
	} {
		if asked[name] != want.Asked || !slices.Equal(got[name], found) {
			t.Errorf("%s understood %q and found %v, want %q and %v", name, asked[name], got[name], want.Asked, found)
		}
	}
}
