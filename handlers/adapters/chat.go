package adapters

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chatModel is the model that answers by whatever the server has: a generator, or the words that a
// reader marks, or passages.
const chatModel = "conclave"

// chatRoutes returns the routes of OpenAI's interfaces that answer a question: chat completions, responses and
// completions.
func chatRoutes() []handlers.Adapter {
	route := func(
		path string, serve func(*http.Request, handlers.AdmittedEngine) (handlers.Answer, error),
	) handlers.Adapter {
		return handlers.Adapter{
			Method:  http.MethodPost,
			Path:    path,
			Scope:   schema.ScopeSearch,
			Cost:    front.Conversing(0),
			Refusal: openAIError("model"),
			Choose:  collectionsOfChat,
			Serve:   serve,
		}
	}
	return []handlers.Adapter{
		route("/v1/chat/completions", completeChat),
		route("/v1/responses", createResponse),
		route("/v1/completions", completeText),
	}
}

// collectionsOfChat returns the names in the field collections of a chat request's body; nil if there are none: the
// request is then for the collection in its path, or else the default one. needed is always true, since a chat searches
// a collection. It ignores errors in the body: readModelRequest decodes the body again and reports them. That has to
// wait until the engine is open, since the other fields depend on the engine. It implements handlers.Adapter.Choose.
func collectionsOfChat(_ *http.Request, body []byte) (collections []string, needed bool) {
	var in struct {
		Collections []string `json:"collections"`
	}
	_ = json.Unmarshal(body, &in) // Serve says what is wrong
	return in.Collections, true
}

// chatRequest is the body of OpenAI's chat completions. Sampling options, such as temperature, have no effect: the
// likeliest words are taken.
type chatRequest struct {
	Model string `json:"model"`
	// Collections are those that are searched, as one where they are several; OpenAI has no such field.
	Collections []string `json:"collections"`

	Messages            []chatMessage  `json:"messages"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`

	N              *int            `json:"n"`
	Stop           stopTexts       `json:"stop"`
	LogProbs       bool            `json:"logprobs"`
	TopLogProbs    *int            `json:"top_logprobs"`
	ResponseFormat *responseFormat `json:"response_format"`
	Modalities     []string        `json:"modalities"`
	Tools          []any           `json:"tools"`
	ToolChoice     any             `json:"tool_choice"`
	Functions      []any           `json:"functions"`
	FunctionCall   any             `json:"function_call"`
	Audio          any             `json:"audio"`
	WebSearch      any             `json:"web_search_options"`

	Temperature      *float64       `json:"temperature"`
	TopP             *float64       `json:"top_p"`
	PresencePenalty  *float64       `json:"presence_penalty"`
	FrequencyPenalty *float64       `json:"frequency_penalty"`
	Seed             *int           `json:"seed"`
	LogitBias        map[string]any `json:"logit_bias"`
	ParallelTools    *bool          `json:"parallel_tool_calls"`
	Prediction       any            `json:"prediction"`
	ReasoningEffort  *string        `json:"reasoning_effort"`
	Verbosity        *string        `json:"verbosity"`
	Metadata         map[string]any `json:"metadata"`
	Store            *bool          `json:"store"`
	ServiceTier      *string        `json:"service_tier"`
	User             *string        `json:"user"`
	SafetyIdentifier *string        `json:"safety_identifier"`
	PromptCacheKey   *string        `json:"prompt_cache_key"`
	PromptRetention  *string        `json:"prompt_cache_retention"`

	// Others are fields that have no meaning here. Programs send them for models that they know.
	Others map[string]any `json:",embed"`
}

type streamOptions struct {
	IncludeUsage       bool  `json:"include_usage"`
	IncludeObfuscation *bool `json:"include_obfuscation"`
}

// chatMessage is one message of a conversation. Fields that are unknown here are ignored, since chat programs send back
// what they were answered.
type chatMessage struct {
	Role    string    `json:"role"`
	Content chatTexts `json:"content"`
	Calls   []any     `json:"tool_calls"`
}

// UnmarshalJSON reads a message and ignores unknown fields, whatever options its caller decodes with. It fails if the
// JSON is no object with the types of its fields.
func (m *chatMessage) UnmarshalJSON(data []byte) error {
	type plain chatMessage
	return json.Unmarshal(data, (*plain)(m), json.RejectUnknownMembers(false))
}

// chatTexts is the content of a message: its texts, and the first part that is not a text.
type chatTexts struct {
	text  string
	other string
}

// UnmarshalJSON reads a string, or a list of parts, whose texts it joins with line breaks; c.other becomes the type of
// the last part that is not a text. null is no text. It fails for anything else.
func (c *chatTexts) UnmarshalJSON(data []byte) error {
	*c = chatTexts{}
	if string(data) == "null" || json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type string         `json:"type"`
		Text jsontext.Value `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fieldError("wrong_type", "", "has to be a string or a list of parts")
	}
	var texts []string
	for _, part := range parts {
		var text string
		kinds := []string{"text", "input_text", "output_text"} // the last two are of responses
		if !slices.Contains(kinds, part.Type) || json.Unmarshal(part.Text, &text) != nil {
			c.other = part.Type
			continue
		}
		texts = append(texts, text)
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

// checkSupported returns the problem of an option that would change the answer and is not supported, or of missing
// messages; nil if there is none.
func (in *chatRequest) checkSupported() error {
	refused := func(name, why string) error {
		return fieldError("unknown_value", "/"+name, "%s %s", name, why)
	}
	const noTools = "cannot be used here: the answer is written from the passages of the collection alone; leave it out"
	switch {
	case len(in.Messages) == 0:
		return fieldError("missing_field", "/messages", "messages is missing: it has to have a message of the user")
	case len(in.Tools) > 0:
		return refused("tools", noTools)
	case len(in.Functions) > 0:
		return refused("functions", noTools)
	case in.WebSearch != nil:
		return refused("web_search_options", noTools)
	case in.N != nil && *in.N != 1:
		return refused("n", "has to be 1: there is one answer")
	case in.LogProbs || in.TopLogProbs != nil && *in.TopLogProbs > 0:
		return refused("logprobs", "are not supported here: leave it out")
	case in.Audio != nil || slices.ContainsFunc(in.Modalities, func(m string) bool { return m != "text" }):
		return refused("modalities", "has to be text alone")
	}
	for i, m := range in.Messages {
		at := fmt.Sprintf("/messages/%d", i)
		switch {
		case m.Content.other != "":
			return fieldError("unknown_value", at+"/content",
				"a part of message %d is of the type %.32q: only text is read",
				i+1, m.Content.other)
		case m.Role == "tool" || m.Role == "function" || len(m.Calls) > 0:
			return fieldError("unknown_value", at, "message %d is of a tool, and tools %s", i+1, noTools)
		}
	}
	return nil
}

// stopTexts are texts before which an answer ends: a string, or a list of strings.
type stopTexts []string

// mostStops is the largest number of such texts, as of OpenAI.
const mostStops = 4

// UnmarshalJSON reads a string, a list of strings, or null. It fails for anything else, and for more than mostStops
// texts.
func (s *stopTexts) UnmarshalJSON(data []byte) error {
	*s = nil
	one := ""
	if string(data) == "null" {
		return nil
	}
	if json.Unmarshal(data, &one) == nil {
		*s = stopTexts{one}
		return nil
	}
	var all []string
	if err := json.Unmarshal(data, &all); err != nil {
		return fieldError("wrong_type", "", "has to be a string or a list of strings")
	}
	if len(all) > mostStops {
		return fieldError("out_of_range", "", "has %d texts: at most %d are possible", len(all), mostStops)
	}
	*s = all
	return nil
}

// modelRequest returns the request in the form that is common to OpenAI's interfaces.
func (in *chatRequest) modelRequest() modelRequest {
	out := modelRequest{model: in.Model, stop: in.Stop, notes: unknownFields(in.Others), tokens: map[string]*int{
		"max_tokens": in.MaxTokens, "max_completion_tokens": in.MaxCompletionTokens,
	}, form: in.ResponseFormat, formName: "response_format"}
	for _, m := range in.Messages {
		out.messages = append(out.messages, search.Message{Role: m.Role, Content: m.Content.text})
	}
	return out
}

// modelRequest is a request for an answer, in the common form of OpenAI's interfaces.
type modelRequest struct {
	model    string
	messages []search.Message
	tokens   map[string]*int // how many a generator may write, by the name of the parameter; nil: it is not said
	stop     []string        // texts before which the answer ends
	notes    []string        // on the request
	form     *responseFormat // nil: text
	formName string          // of form in the request
}

// answerBody is a body of one of OpenAI's interfaces that asks for an answer.
type answerBody interface {
	// checkSupported returns the problem of a field that would change the answer and is not supported; nil if there is
	// none.
	checkSupported() error
	// modelRequest returns the request in the common form of OpenAI's interfaces.
	modelRequest() modelRequest
}

// readModelRequest decodes a request's body into in, and returns the search that it asks for and an answer without any
// text yet. It returns a problem if the body is invalid or asks for what is not supported.
func readModelRequest(r *http.Request, e handlers.AdmittedEngine, in answerBody) (search.Request, *chatAnswer, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return search.Request{}, nil, err
	}
	if err := json.Unmarshal(body, in); err != nil {
		return search.Request{}, nil, bodyError(body, err)
	}
	if err := in.checkSupported(); err != nil {
		return search.Request{}, nil, err
	}
	asked := in.modelRequest()
	form, err := formOf(asked.form, asked.formName)
	if err != nil {
		return search.Request{}, nil, err
	}
	mustNot := asked.takeExclusions()
	request, err := asked.searchRequest(e, form != nil)
	request.MustNot = mustNot
	return request, &chatAnswer{
		collection: collectionOf(e), base: addressOf(r, e), stop: stopFilter{texts: asked.stop}, notes: asked.notes,
		form: form, emit: func(string) error { return nil },
	}, err
}

// takeExclusions removes the words with - or NOT before them from the user's last message, as -Panama of "canal
// -Panama", and returns them; it also adds a note that says so. A message of several lines is left as it is, since it
// may be a list. It returns nil if there are none.
func (in *modelRequest) takeExclusions() []string {
	for i, m := range slices.Backward(in.messages) {
		if m.Role != "user" || strings.TrimSpace(m.Content) == "" {
			continue
		}
		question, _, mustNot := ask.Typed(m.Content)
		if len(mustNot) == 0 || strings.Contains(strings.TrimSpace(m.Content), "\n") {
			return nil
		}
		in.messages = slices.Clone(in.messages)
		in.messages[i].Content = question
		in.notes = append(
			in.notes,
			"passages with "+strings.Join(mustNot, ", ")+" are left out, which the message has with - or NOT before it",
		)
		return mustNot
	}
	return nil
}

// searchRequest returns the search for the request's last message. formed says that the answer has to be JSON. It
// returns a problem if the model does not exist or there are no messages. The generator writes at most mostChatTokens
// tokens, however many are asked for. Without a reader the search asks for no answer.
func (in modelRequest) searchRequest(e handlers.Engine, formed bool) (r search.Request, err error) {
	r.Fields = passageFields
	r.Messages = in.messages
	readers := e.Readers()
	writers := slices.DeleteFunc(slices.Clone(readers), func(x learned.ReaderInfo) bool { return !x.Generates })
	names := []string{chatModel}
	for _, x := range writers {
		names = append(names, x.Name)
	}
	switch {
	case in.model == "":
		return r, fieldError("missing_field", "/model",
			"model is missing: it has to be one of those that /v1/models lists, such as %q", chatModel)
	case !slices.Contains(names, in.model):
		return r, fieldError("unknown_expert", "/model", "there is no model %.64q that answers: there are %s",
			in.model, strings.Join(names, ", "))
	case formed && writerOfForms(writers, in.model) == "":
		return r, fieldError("unknown_value", "/"+strings.ReplaceAll(in.formName, ".", "/"), "%s has to be text: "+
			"only a generator behind an interface writes JSON, and there is none here with the name %.64q", in.formName, in.model)
	case len(readers) == 0:
		return r, nil
	}
	r.Answer = ask.AnswerOptions{Wanted: true, Reader: in.model}
	switch {
	case formed:
		r.Answer.Reader = writerOfForms(writers, in.model)
	case in.model == chatModel:
		r.Answer.Reader = ask.ReaderAuto
	}
	for name, given := range in.tokens {
		switch {
		case given == nil || len(writers) == 0:
		case *given < 1:
			return r, fieldError("out_of_range", "/"+name, "%s is %d: it has to be from 1", name, *given)
		default:
			r.Answer.MaxTokens = min(*given, mostChatTokens)
		}
	}
	return r, nil
}

// mostChatTokens is what is asked of a generator where a chat program asks for more.
const mostChatTokens = 8192

// completeChat answers POST /v1/chat/completions: with a chat completion, or with its pieces as events if the request
// asks for a stream. It returns a problem if the request is invalid or the search fails.
func completeChat(r *http.Request, e handlers.AdmittedEngine) (out handlers.Answer, err error) {
	var in chatRequest
	request, a, err := readModelRequest(r, e, &in)
	if err != nil {
		return out, err
	}
	head := chatCompletion{
		ID: "chatcmpl-" + strings.ToLower(rand.Text()), Created: time.Now().Unix(), Model: in.Model,
	}
	if in.Stream {
		out.Events = func(send func(any) error) error {
			return a.stream(r.Context(), e, request, head, in.StreamOptions != nil && in.StreamOptions.IncludeUsage, send)
		}
		return out, nil
	}
	response, err := a.writeAnswer(r.Context(), e, request)
	if err != nil {
		return out, err
	}
	head.Object = "chat.completion"
	finish := a.finishReason(response)
	head.Choices = []chatChoice{{FinishReason: &finish, Message: &chatReply{
		Role: "assistant", Content: a.text.String(), Annotations: a.citationsOf(response), Refusal: a.refusal,
	}}}
	head.Usage = usageOf(response)
	head.setVerdict(response, a)
	out.Value = head
	return out, nil
}

// unknownFields returns one note for users that names the fields in others, which this server ignored, in alphabetical
// order; nil if there are none.
func unknownFields(others map[string]any) []string {
	if len(others) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(others))
	return []string{fmt.Sprintf("ignored, since this server does not know them: %.200s", strings.Join(names, ", "))}
}

// chatCompletion is an answer or, with delta instead of message, a piece of one.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	Verdict string       `json:"verdict,omitempty"` // that of the search
	Notes   []string     `json:"notes,omitempty"`   // what to know about the question
}

// setVerdict sets the verdict of r, and the notes on r and on answer a.
func (c *chatCompletion) setVerdict(r reply.Response, a *chatAnswer) {
	c.Verdict = string(r.Verdict)
	c.Notes = a.allNotes(r)
}

type chatChoice struct {
	Index        int        `json:"index"`
	Message      *chatReply `json:"message,omitempty"`
	Delta        *chatDelta `json:"delta,omitempty"`
	FinishReason *string    `json:"finish_reason"`
}

type chatReply struct {
	Role        string           `json:"role"`
	Content     string           `json:"content"`
	Refusal     string           `json:"refusal,omitempty"` // why there is no JSON
	Annotations []chatAnnotation `json:"annotations,omitempty"`
}

type chatDelta struct {
	Role        string           `json:"role,omitempty"`
	Content     string           `json:"content,omitempty"`
	Refusal     string           `json:"refusal,omitempty"`
	Annotations []chatAnnotation `json:"annotations,omitempty"`
}

type chatAnnotation struct {
	Type     string      `json:"type"`
	Citation urlCitation `json:"url_citation"`
}

// urlCitation says which passage a part of the text, counted in characters, comes from.
type urlCitation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// chatUsage counts tokens: those that a generator wrote, if its server reports them.
type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// usageOf returns the token counts of a response's generated text: zeros without one. Prompt tokens are not counted.
func usageOf(r reply.Response) *chatUsage {
	if r.Generated == nil {
		return &chatUsage{}
	}
	return &chatUsage{Completion: r.Generated.Tokens, Total: r.Generated.Tokens}
}

// stream sends the answer to a conversation as pieces with the fields of head, and the usage behind them if asked for.
// It fails if the search or send does.
func (a *chatAnswer) stream(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
	head chatCompletion,
	usage bool,
	send func(any) error,
) error {
	head.Object = "chat.completion.chunk"
	piece := func(delta chatDelta, finish *string) chatCompletion {
		next := head
		next.Choices = []chatChoice{{Delta: &delta, FinishReason: finish}}
		return next
	}
	begun := false
	response, err := a.answerTo(ctx, e, request, func(text string) error {
		delta := chatDelta{Content: text}
		if !begun {
			begun = true
			delta.Role = "assistant"
		}
		return send(piece(delta, nil))
	})
	if err != nil {
		return err
	}
	finish := a.finishReason(response)
	last := piece(chatDelta{Annotations: a.citationsOf(response), Refusal: a.refusal}, &finish)
	last.setVerdict(response, a)
	err = send(last)
	if err == nil && usage {
		head.Choices = []chatChoice{}
		head.Usage = usageOf(response)
		err = send(head)
	}
	return err
}
