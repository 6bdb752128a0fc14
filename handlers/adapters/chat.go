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

	"github.com/go-json-experiment/json"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
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

// mostStops is the largest number of such texts, as of OpenAI.
const mostStops = 4

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
