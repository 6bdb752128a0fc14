package adapters

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json"
)

// responsesRequest is the body of OpenAI's Responses interface. No state is kept between requests.
type responsesRequest struct {
	Model       string         `json:"model"`
	Collections []string       `json:"collections"` // as of chatRequest
	Input       responsesInput `json:"input"`
	Stream      bool           `json:"stream"`

	MaxOutputTokens *int           `json:"max_output_tokens"`
	Text            *responsesText `json:"text"`
	Previous        *string        `json:"previous_response_id"`
	Conversation    any            `json:"conversation"`
	Prompt          any            `json:"prompt"`
	Background      *bool          `json:"background"`
	Tools           []any          `json:"tools"`
	TopLogProbs     *int           `json:"top_logprobs"`

	Instructions *string        `json:"instructions"`
	Metadata     map[string]any `json:"metadata"`
	Temperature  *float64       `json:"temperature"`
	TopP         *float64       `json:"top_p"`
	ToolChoice   any            `json:"tool_choice"`

	// Others are fields that have no effect.
	Others map[string]any `json:",embed"`
}

// responsesText says in which form a text is wanted.
type responsesText struct {
	Format    *responseFormat `json:"format"`
	Verbosity *string         `json:"verbosity"`
}

// responsesInput is a text of the user, or the messages of a conversation.
type responsesInput []responsesItem

// responsesItem is a message, or something else of a conversation, which Type names.
type responsesItem struct {
	Type    string         `json:"type"`
	Role    string         `json:"role"`
	Content chatTexts      `json:"content"`
	Others  map[string]any `json:",embed"`
}

// UnmarshalJSON reads a string or a list of items. It fails for anything else.
func (in *responsesInput) UnmarshalJSON(data []byte) error {
	*in = nil
	var one responsesItem
	if json.Unmarshal(data, &one.Content.text) == nil {
		one.Role = "user"
		*in = responsesInput{one}
		return nil
	}
	var all []responsesItem
	if err := json.Unmarshal(data, &all); err != nil {
		return fieldError("wrong_type", "", "has to be a string or a list of messages")
	}
	*in = all
	return nil
}

// checkSupported returns the problem of an option or an item that would change the answer and is not supported; nil if
// there is none.
func (in *responsesRequest) checkSupported() error {
	refused := func(name, why string) error { return fieldError("unknown_value", "/"+name, "%s %s", name, why) }
	const kept = "names something that an earlier request stored, and this server stores nothing of requests: send the messages as input"
	switch {
	case len(in.Input) == 0:
		return fieldError(
			"missing_field", "/input", "input is missing: it has to be a text, or the messages of a conversation",
		)
	case in.Previous != nil && *in.Previous != "":
		return refused("previous_response_id", kept)
	case in.Conversation != nil:
		return refused("conversation", kept)
	case in.Prompt != nil:
		return refused("prompt", kept)
	case in.Background != nil && *in.Background:
		return refused("background", "has to be false: the answer comes at once")
	case len(in.Tools) > 0:
		return refused("tools", "cannot be used here: the answer is written from the passages of the collection alone; leave it out")
	case in.TopLogProbs != nil && *in.TopLogProbs > 0:
		return refused("top_logprobs", "are not supported here: leave it out")
	}
	for i, item := range in.Input {
		at := fmt.Sprintf("/input/%d", i)
		switch {
		case item.Type != "" && item.Type != "message" && item.Type != "reasoning":
			return fieldError(
				"unknown_value", at+"/type", "item %d is of the type %.32q: only messages are read", i+1, item.Type,
			)
		case item.Content.other != "":
			return fieldError("unknown_value", at+"/content",
				"a part of item %d is of the type %.32q: only text is read",
				i+1, item.Content.other)
		}
	}
	return nil
}

// modelRequest returns the request in the form that is common to OpenAI's interfaces, without the reasoning of earlier
// answers.
func (in *responsesRequest) modelRequest() modelRequest {
	out := modelRequest{
		model: in.Model, tokens: map[string]*int{"max_output_tokens": in.MaxOutputTokens},
		notes: unknownFields(withoutUnused(in.Others)), formName: "text.format",
	}
	if in.Text != nil {
		out.form = in.Text.Format
	}
	for _, item := range in.Input {
		if item.Type != "reasoning" {
			out.messages = append(out.messages, search.Message{Role: item.Role, Content: item.Content.text})
		}
	}
	return out
}

// createResponse answers POST /v1/responses: with a response, or with its events if the request asks for a stream. It
// returns a problem if the request is invalid or the search fails.
func createResponse(r *http.Request, e handlers.AdmittedEngine) (out handlers.Answer, err error) {
	var in responsesRequest
	request, a, err := readModelRequest(r, e, &in)
	if err != nil {
		return out, err
	}
	id := strings.ToLower(rand.Text())
	begun := response{
		ID: "resp_" + id, Object: "response", CreatedAt: time.Now().Unix(), Status: "in_progress", Model: in.Model,
		Output: []responseMessage{}, Instructions: in.Instructions, Metadata: in.Metadata, Temperature: in.Temperature,
		TopP: in.TopP, MaxOutputTokens: in.MaxOutputTokens, ParallelToolCalls: true, ToolChoice: "auto", Tools: []any{},
		Text: responsesFormat{Format: responsesKind{Type: "text"}},
	}
	if begun.Metadata == nil {
		begun.Metadata = map[string]any{}
	}
	if a.form != nil {
		begun.Text.Format.Type = in.Text.Format.Type
	}
	s := responseStream{whole: begun, item: "msg_" + id, a: a}
	if in.Stream {
		out.Events = func(send func(any) error) error { return s.stream(r.Context(), e, request, send) }
		return out, nil
	}
	found, err := a.writeAnswer(r.Context(), e, request)
	if err != nil {
		return out, err
	}
	out.Value = s.newResponse(found)
	return out, nil
}

// withoutUnused deletes OpenAI's fields that have no effect here from others and returns the same map: what is left are
// fields that OpenAI does not have either.
func withoutUnused(others map[string]any) map[string]any {
	for _, name := range []string{
		"include", "max_tool_calls", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_retention", "reasoning",
		"safety_identifier", "service_tier", "store", "stream_options", "truncation", "user",
	} {
		delete(others, name)
	}
	return others
}

// response is an answer of the Responses interface.
type response struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	CreatedAt         int64              `json:"created_at"`
	Status            string             `json:"status"` // in_progress, completed or incomplete
	Error             any                `json:"error"`  // always null
	IncompleteDetails *incompleteDetails `json:"incomplete_details"`
	Instructions      *string            `json:"instructions"`
	MaxOutputTokens   *int               `json:"max_output_tokens"`
	Metadata          map[string]any     `json:"metadata"`
	Model             string             `json:"model"`
	Output            []responseMessage  `json:"output"`
	ParallelToolCalls bool               `json:"parallel_tool_calls"`
	PreviousResponse  any                `json:"previous_response_id"` // always null
	Temperature       *float64           `json:"temperature"`
	Text              responsesFormat    `json:"text"`
	ToolChoice        string             `json:"tool_choice"`
	Tools             []any              `json:"tools"`
	TopP              *float64           `json:"top_p"`
	Usage             *responseUsage     `json:"usage"`
	Verdict           string             `json:"verdict,omitempty"` // of the search
	Notes             []string           `json:"notes,omitempty"`   // what to know about the question
}

// responsesFormat says in which form the text of an answer is.
type responsesFormat struct {
	Format responsesKind `json:"format"`
}

// responsesKind is the kind of a form: text.
type responsesKind struct {
	Type string `json:"type"`
}

// incompleteDetails says why an answer ends early.
type incompleteDetails struct {
	Reason string `json:"reason"`
}

// responseMessage is the message of an answer.
type responseMessage struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Status  string         `json:"status"`
	Role    string         `json:"role"`
	Content []responsePart `json:"content"`
}

// responsePart is the text of a message, with where it cites which passage, or why there is none.
type responsePart struct {
	Type        string             `json:"type"` // output_text or refusal
	Text        string             `json:"text"`
	Refusal     string             `json:"refusal,omitempty"`
	Annotations []responseCitation `json:"annotations"`
	LogProbs    []any              `json:"logprobs"` // always empty
}

// responseCitation is a citation in a text.
type responseCitation struct {
	Type string `json:"type"`
	urlCitation
}

// responseUsage counts tokens under the names of the Responses interface: those that a generator wrote, and zeros
// without one.
type responseUsage struct {
	Input         int             `json:"input_tokens"`
	InputDetails  cachedInput     `json:"input_tokens_details"`
	Output        int             `json:"output_tokens"`
	OutputDetails reasoningTokens `json:"output_tokens_details"`
	Total         int             `json:"total_tokens"`
}

// cachedInput counts tokens of the input that were cached: none.
type cachedInput struct {
	Cached int `json:"cached_tokens"`
}

// reasoningTokens counts tokens of reasoning: those that are known.
type reasoningTokens struct {
	Reasoning int `json:"reasoning_tokens"`
}

// responseStream makes the events of a streamed answer.
type responseStream struct {
	whole  response
	item   string // id of the message
	a      *chatAnswer
	number int // of the next event
}

// responseEvent is an event of a streamed answer.
type responseEvent map[string]any

// EventName returns the type of the event.
func (e responseEvent) EventName() string {
	name, _ := e["type"].(string)
	return name
}

// newEvent returns the next event of the stream with the type "response." and kind, the next sequence number and these
// fields. It does not send the event.
func (s *responseStream) newEvent(kind string, fields map[string]any) responseEvent {
	e := responseEvent{"type": "response." + kind, "sequence_number": s.number}
	s.number++
	for name, value := range fields {
		e[name] = value
	}
	return e
}

// newTextEvent returns the next event about the answer's text (newEvent), with the id of its message and the indexes of
// message and part, which are 0.
func (s *responseStream) newTextEvent(kind string, fields map[string]any) responseEvent {
	e := s.newEvent(kind, fields)
	e["item_id"] = s.item
	e["output_index"] = 0
	e["content_index"] = 0
	return e
}

// stream searches and sends the answer as events. It fails if the search or send does. The first event is sent with the
// first piece of text, so that an error before that is answered without a stream. The last events are the citations,
// the whole text or refusal, and the whole response.
func (s *responseStream) stream(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
	send func(any) error,
) error {
	begun := false
	begin := func() error {
		begun = true
		return sendAll(send,
			s.newEvent("created", map[string]any{"response": s.whole}),
			s.newEvent("in_progress", map[string]any{"response": s.whole}),
			s.newEvent("output_item.added", map[string]any{"output_index": 0, "item": responseMessage{
				ID: s.item, Type: "message", Status: "in_progress", Role: "assistant", Content: []responsePart{},
			}}),
			s.newTextEvent("content_part.added", map[string]any{"part": s.newPart("", "", nil)}),
		)
	}
	found, err := s.a.answerTo(ctx, e, request, func(text string) error {
		if !begun {
			if err := begin(); err != nil {
				return err
			}
		}
		return send(s.newTextEvent("output_text.delta", map[string]any{"delta": text, "logprobs": []any{}}))
	})
	if err == nil && !begun { // nothing was written
		err = begin()
	}
	if err != nil {
		return err
	}
	whole := s.newResponse(found)
	message := whole.Output[0]
	part := message.Content[0]
	var events []any
	for i, citation := range part.Annotations {
		events = append(events, s.newTextEvent("output_text.annotation.added", map[string]any{
			"annotation_index": i, "annotation": citation,
		}))
	}
	last := s.newTextEvent("output_text.done", map[string]any{"text": part.Text, "logprobs": []any{}})
	if s.a.refusal != "" {
		events = append(events, s.newTextEvent("refusal.delta", map[string]any{"delta": s.a.refusal}))
		last = s.newTextEvent("refusal.done", map[string]any{"refusal": s.a.refusal})
	}
	return sendAll(send, append(events,
		last,
		s.newTextEvent("content_part.done", map[string]any{"part": part}),
		s.newEvent("output_item.done", map[string]any{"output_index": 0, "item": message}),
		s.newEvent(whole.Status, map[string]any{"response": whole}),
	)...)
}

// sendAll sends values until one fails, and returns its error.
func sendAll(send func(any) error, values ...any) error {
	for _, value := range values {
		if err := send(value); err != nil {
			return err
		}
	}
	return nil
}

// newPart returns the content of the message: a text with its citations or, if refusal is not "", that refusal.
func (s *responseStream) newPart(text, refusal string, citations []responseCitation) responsePart {
	out := responsePart{Type: "output_text", Text: text, Refusal: refusal, Annotations: citations, LogProbs: []any{}}
	if s.a.refusal != "" {
		out.Type = "refusal"
	}
	if citations == nil {
		out.Annotations = []responseCitation{}
	}
	return out
}

// newResponse returns the whole response in OpenAI's format, with the text that was sent, its citations, the number of
// tokens, the verdict and the notes. Its status is "incomplete" if the text was cut off at the limit of tokens,
// otherwise "completed". Call it when the text has been written.
func (s *responseStream) newResponse(found reply.Response) response {
	var cited []responseCitation
	for _, one := range s.a.citationsOf(found) {
		cited = append(cited, responseCitation{one.Type, one.Citation})
	}
	whole := s.whole
	whole.Status = "completed"
	if s.a.finishReason(found) == "length" {
		whole.Status = "incomplete"
		whole.IncompleteDetails = &incompleteDetails{Reason: "max_output_tokens"}
	}
	whole.Output = []responseMessage{{
		ID: s.item, Type: "message", Status: whole.Status, Role: "assistant",
		Content: []responsePart{s.newPart(s.a.text.String(), s.a.refusal, cited)},
	}}
	tokens := usageOf(found).Completion
	whole.Usage = &responseUsage{Output: tokens, Total: tokens}
	whole.Verdict = string(found.Verdict)
	whole.Notes = s.a.allNotes(found)
	return whole
}
