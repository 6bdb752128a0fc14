package generators

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"example.org/conclave/endpoints"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
)

// Written is an answer that a model wrote.
type Written struct {
	Text     string
	Complete bool // it ended by itself, not at the most tokens
	Tokens   int  // pieces that came, one or more characters each
	// Sentences are what Text has, and Dropped what was left out of it.
	Sentences, Dropped []Sentence
	// Refused: the model found no answer in the passages. Text is then "".
	Refused bool
}

// Watching has functions that are called while an answer is written; both may be nil.
type Watching struct {
	// Text is called with the text so far, each time it has grown.
	Text func(text string)
	// Sentence is called with each sentence when it is complete, before Text is called with more.
	Sentence func(s Sentence)
}

// mostBytes is the largest number of bytes of a token, on average: the answer of a model that ignores its limit of
// tokens is cut there.
const mostBytes = 16

// Write asks the model for an answer and compares it with the passages, sentence by sentence. It ends after the
// endpoint's Timeout at the latest, and calls the functions of w in this goroutine. An answer that is much longer than
// a.MaxTokens is cut. With an error it returns what was written before. The error is an *endpoints.Error, or the
// context's.
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
	received := 0
	for received <= mostBytes*a.MaxTokens && stream.Next() {
		for _, choice := range stream.Current().Choices {
			if separatesReasoning(choice.Delta.JSON.ExtraFields) {
				text.reasoning.waits = false
			}
			if piece := choice.Delta.Content; piece != "" {
				wrote.Tokens++
				received += len(piece)
				text.addPiece(piece)
			}
			wrote.Complete = wrote.Complete || choice.FinishReason == "stop"
		}
	}
	endless := received > mostBytes*a.MaxTokens
	wrote.Complete = wrote.Complete && !endless
	if begins == beginsReasoning && !wrote.Complete && text.reasoning.waits && !text.reasoning.bare {
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
	case strings.TrimSpace(text.all) == "" && received > 0:
		return wrote, &endpoints.Error{
			Reason: "the model wrote reasoning and no answer: let it write more tokens (max_tokens), or reason less",
			Err:    errors.New("the stream had no text beside reasoning"),
		}
	case strings.TrimSpace(text.all) == "":
		return wrote, &endpoints.Error{Reason: "the model wrote nothing", Err: errors.New("the stream had no text")}
	}
	return wrote, nil
}

// separatesReasoning reports whether a server sends reasoning in a field of its own, by the other fields of a piece.
func separatesReasoning(others map[string]respjson.Field) bool {
	_, deepSeek := others["reasoning_content"]
	_, openRouter := others["reasoning"]
	return deepSeek || openRouter
}
