package adapters

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// textRequest is the body of OpenAI's older completions. Its prompt is taken as a question.
type textRequest struct {
	Model         string         `json:"model"`
	Collections   []string       `json:"collections"` // as of chatRequest
	Prompt        texts          `json:"prompt"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options"`
	MaxTokens     *int           `json:"max_tokens"`
	Stop          stopTexts      `json:"stop"`
	N             *int           `json:"n"`
	BestOf        *int           `json:"best_of"`
	LogProbs      *int           `json:"logprobs"`
	Echo          *bool          `json:"echo"`
	Suffix        *string        `json:"suffix"`

	Temperature      *float64       `json:"temperature"`
	TopP             *float64       `json:"top_p"`
	PresencePenalty  *float64       `json:"presence_penalty"`
	FrequencyPenalty *float64       `json:"frequency_penalty"`
	Seed             *int           `json:"seed"`
	LogitBias        map[string]any `json:"logit_bias"`
	User             *string        `json:"user"`

	// Others are fields that have no meaning here.
	Others map[string]any `json:",embed"`
}

// checkSupported returns the problem of an option that would change the answer and is not supported; nil if there is
// none.
func (in *textRequest) checkSupported() error {
	refused := func(name, why string) error { return fieldError("unknown_value", "/"+name, "%s %s", name, why) }
	switch {
	case len(in.Prompt) == 0:
		return fieldError("missing_field", "/prompt", "prompt is missing: it has to be a question")
	case len(in.Prompt) > 1:
		return refused("prompt", "has to be one text: there is one answer")
	case in.N != nil && *in.N != 1:
		return refused("n", "has to be 1: there is one answer")
	case in.BestOf != nil && *in.BestOf != 1:
		return refused("best_of", "has to be 1: there is one answer")
	case in.LogProbs != nil && *in.LogProbs > 0:
		return refused("logprobs", "are not supported here: leave it out")
	case in.Echo != nil && *in.Echo:
		return refused("echo", "has to be false: the answer is no continuation of the prompt")
	case in.Suffix != nil && *in.Suffix != "":
		return refused("suffix", "cannot be used here: the answer is no continuation of the prompt")
	}
	return nil
}

// textCompletion is an answer, or a piece of one.
type textCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []textChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	Verdict string       `json:"verdict,omitempty"` // that of the search
	Notes   []string     `json:"notes,omitempty"`   // what to know about the question
}

// textChoice is the text of an answer.
type textChoice struct {
	Index        int     `json:"index"`
	Text         string  `json:"text"`
	FinishReason *string `json:"finish_reason"`
	LogProbs     any     `json:"logprobs"` // always null
}

// modelRequest returns the prompt as a question, in the form that is common to OpenAI's interfaces.
func (in *textRequest) modelRequest() modelRequest {
	return modelRequest{
		model: in.Model, messages: []search.Message{{Role: "user", Content: in.Prompt[0]}}, stop: in.Stop,
		tokens: map[string]*int{"max_tokens": in.MaxTokens}, notes: unknownFields(in.Others),
	}
}

// completeText answers POST /v1/completions: with a completion, or with its pieces as events if the request asks for a
// stream. It returns a problem if the request is invalid or the search fails.
func completeText(r *http.Request, e handlers.AdmittedEngine) (out handlers.Answer, err error) {
	var in textRequest
	request, a, err := readModelRequest(r, e, &in)
	if err != nil {
		return out, err
	}
	head := textCompletion{
		ID: "cmpl-" + strings.ToLower(rand.Text()), Object: "text_completion", Created: time.Now().Unix(), Model: in.Model,
	}
	if in.Stream {
		out.Events = func(send func(any) error) error {
			return a.streamText(r.Context(), e, request, head, in.StreamOptions != nil && in.StreamOptions.IncludeUsage, send)
		}
		return out, nil
	}
	found, err := a.writeAnswer(r.Context(), e, request)
	if err != nil {
		return out, err
	}
	out.Value = a.finishText(head, a.text.String(), found)
	return out, nil
}

// finishText returns a copy of head with text as its only choice, and with the finish reason, the verdict, the notes
// and the token counts of the response found. text is the whole answer, or the last piece of a stream.
func (a *chatAnswer) finishText(head textCompletion, text string, found reply.Response) textCompletion {
	finish := a.finishReason(found)
	head.Choices = []textChoice{{Text: text, FinishReason: &finish}}
	head.Usage = usageOf(found)
	head.Verdict = string(found.Verdict)
	head.Notes = a.allNotes(found)
	return head
}

// streamText sends the answer to a prompt with send, piece by piece, as copies of head with one choice each, and then
// the end with the finish reason. With usage it also sends the counts of tokens at last. It fails if the search or send
// does.
func (a *chatAnswer) streamText(
	ctx context.Context,
	e handlers.Engine,
	request search.Request,
	head textCompletion,
	usage bool,
	send func(any) error,
) error {
	found, err := a.answerTo(ctx, e, request, func(text string) error {
		next := head
		next.Choices = []textChoice{{Text: text}}
		return send(next)
	})
	if err != nil {
		return err
	}
	last := a.finishText(head, "", found)
	counted := last.Usage
	last.Usage = nil
	err = send(last)
	if err == nil && usage {
		head.Choices = []textChoice{}
		head.Usage = counted
		err = send(head)
	}
	return err
}
