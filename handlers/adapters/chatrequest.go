package adapters

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/conclave/search"
)

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
