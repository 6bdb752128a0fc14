package generators

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
)

// Written is what a model wrote.
type Written struct {
	Text     string
	Complete bool // it ended by itself, not at the most tokens
	Tokens   int  // pieces that came, one or more characters each
	// Sentences are what Text has, and Dropped what was left out of it.
	Sentences, Dropped []Sentence
	// Refused: the model found no answer in the passages. Text is then "".
	Refused bool
}

// Watching is told of an answer as it is written; both may be nil.
type Watching struct {
	// Text is told the text so far, whenever it is longer.
	Text func(text string)
	// Sentence is told each sentence once it is whole, before Text is told of more than it. Its
	// places are nothing to go by.
	Sentence func(s Sentence)
}

// mostBytes is how long a token's text may be on average: a model that does not keep to the most tokens
// is cut there.
const mostBytes = 16

// Write asks the model for an answer and compares it with the passages, sentence by sentence. What was
// written before an error is returned with it. The error is an *Error, or the context's.
func (m *Model) Write(ctx context.Context, a Asking, w Watching) (Written, error) {
	ctx, cancel := context.WithTimeout(ctx, m.endpoint.Timeout)
	defer cancel()
	system, user := newPrompt(a, m.endpoint.PromptBytes)
	options := []option.RequestOption{option.WithHeader("Accept", "text/event-stream")}
	if a.Form != nil {
		options = append(options, option.WithJSONSet("response_format", json.RawMessage(a.Form)))
	}
	stream := m.chat.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model:       m.endpoint.Model,
		Messages:    []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(user)},
		MaxTokens:   openai.Int(int64(a.MaxTokens)),
		Temperature: openai.Float(0),
	}, options...)
	defer func() { _ = stream.Close() }()
	begins := m.begins.Load()
	text := newDraft(a, m.endpoint.Drop, begins != beginsAnswer, w)
	wrote := Written{}
	said := 0
	for said <= mostBytes*a.MaxTokens && stream.Next() {
		for _, choice := range stream.Current().Choices {
			if separatesReasoning(choice.Delta.JSON.ExtraFields) {
				text.reasoning.held = false
			}
			if piece := choice.Delta.Content; piece != "" {
				wrote.Tokens++
				said += len(piece)
				text.addPiece(piece)
			}
			wrote.Complete = wrote.Complete || choice.FinishReason == "stop"
		}
	}
	endless := said > mostBytes*a.MaxTokens
	wrote.Complete = wrote.Complete && !endless
	if begins == beginsReasoning && !wrote.Complete && text.reasoning.held && !text.reasoning.bare {
		text.reasoning.all = "" // it was cut before its reasoning ended
	}
	text.endDraft(&wrote, wrote.Complete)
	switch {
	case text.reasoning.bare:
		m.begins.Store(beginsReasoning)
	case wrote.Complete:
		m.begins.Store(beginsAnswer)
	}
	switch err := stream.Err(); {
	case endless:
		return wrote, nil
	case err != nil:
		return wrote, m.explain(ctx, err)
	case ctx.Err() != nil:
		return wrote, ctx.Err()
	case strings.TrimSpace(text.all) == "" && said > 0:
		return wrote, &Error{
			Reason: "the model wrote reasoning and no answer: let it write more tokens (max_tokens), or reason less",
			Err:    errors.New("the stream had no text beside reasoning"),
		}
	case strings.TrimSpace(text.all) == "":
		return wrote, &Error{Reason: "the model wrote nothing", Err: errors.New("the stream had no text")}
	}
	return wrote, nil
}

// separatesReasoning reports whether a server sends reasoning in a field of its own, by the other fields of a piece.
func separatesReasoning(others map[string]respjson.Field) bool {
	_, deepSeek := others["reasoning_content"]
	_, openRouter := others["reasoning"]
	return deepSeek || openRouter
}
