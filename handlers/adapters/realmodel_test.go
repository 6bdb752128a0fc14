package adapters_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/generators"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// realModel serves the three passages with a real model: as "local", and as "hasty" with next to no time.
func realModel(t *testing.T) (*site, *realclients.Writer) {
	t.Helper()
	writer := realclients.NewWriter(t)
	return serve(t, realclients.ServerOptions{Change: func(c *configs.Config) {
		c.Search.Timeout, c.Limits.Timeout = 5*time.Minute, 5*time.Minute
		c.Generators = []configs.Generator{
			{Name: "local", Address: writer.URL, Model: "smollm2", Timeout: 5 * time.Minute},
			{Name: "hasty", Address: writer.URL, Model: "smollm2", Timeout: 50 * time.Millisecond},
		}
	}}), writer
}

// TestRealModel: a real model, which knows nothing of citations, answers as the scripted ones do: piece by
// piece, and what no passage supports is marked. Its server notices when time is over and when nobody waits.
func TestRealModel(t *testing.T) {
	s, writer := realModel(t)
	m, err := generators.NewModel(
		generators.Endpoint{Address: writer.URL, Model: "smollm2", Timeout: time.Minute, PromptBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("its list of models: %v", err)
	}
	request := search.Request{
		Question: "Tell me a long story about a lamp.",
		Answer:   ask.AnswerOptions{Wanted: true, Reader: "local", MaxTokens: 24},
	}
	var told strings.Builder
	tokens := 0
	var last reply.Response
	for e := range s.events(t.Context(), request) {
		switch e.name {
		case "token":
			var piece struct{ Text string }
			decode(t, e.data, &piece)
			told.WriteString(piece.Text)
			tokens++
		case "response":
			decode(t, e.data, &last)
		}
	}
	g := last.Generated
	if g == nil {
		t.Fatalf("nothing was written: degraded %+v", last.Degraded)
	}
	if tokens < 2 || strings.TrimSpace(told.String()) != g.Text || len(last.Results) != 3 {
		t.Errorf("in %d pieces %q, whole %+v", tokens, told.String(), g)
	}
	if ended := writer.Await(t, "ended", "left"); ended.Event != "ended" || ended.Pieces > 2*request.Answer.MaxTokens {
		t.Errorf("asked for %d tokens, it %+v", request.Answer.MaxTokens, ended)
	}
	// It ignores the format: what has no citation has no support, and nothing is taken for a citation
	// that is none.
	for _, sentence := range g.Sentences {
		if sentence.Supported && (len(sentence.Citations) == 0 || len(sentence.Unfounded) > 0) {
			t.Errorf("%+v is called supported", sentence)
		}
	}
	for _, c := range g.Citations {
		if !slices.ContainsFunc(last.Results, func(r reply.Result) bool { return r.ID == c.Passage }) {
			t.Errorf("%+v is none of the results", c)
		}
	}
	if !g.Refused && !slices.ContainsFunc(g.Sentences, func(s reply.WrittenSentence) bool { return !s.Supported }) {
		t.Errorf("a story is supported: %+v", g.Sentences)
	}

	late := request
	late.Answer.Reader = "hasty"
	r := s.search(late)
	if len(r.Results) != 3 || len(r.Degraded) != 1 || r.Degraded[0].Source != "hasty" ||
		r.Generated != nil && r.Generated.Complete {
		t.Errorf("without time: %+v, degraded %+v", r.Generated, r.Degraded)
	}
	writer.Await(t, "left")

	ctx, leave := context.WithCancel(t.Context())
	request.Answer.MaxTokens = 500
	events := s.events(ctx, request)
	writer.Await(t, "began")
	leave()
	for range events { // until the connection is closed
	}
	if left := writer.Await(t, "ended", "left"); left.Event != "left" {
		t.Errorf("after the caller had gone: %+v", left)
	}

	// It is free again, and writes for a chat program.
	var chat completed
	s.ask(http.MethodPost, "/v1/chat/completions", object{"model": "local", "max_tokens": 8,
		"messages": []object{{"role": "user", "content": "who hid the lamp?"}}}, &chat)
	if len(chat.Choices) != 1 || chat.Choices[0].Message.Content == "" {
		t.Errorf("%+v", chat)
	}
}

// decode decodes the data of an event.
func decode(t *testing.T, data string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), into); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}
