package generators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/endpoints"

	"github.com/openai/openai-go/v3"
)

// rewriting says how to make a question that stands alone.
const rewriting = `You are given what one person asked, message by message. Write the last message as one question that is understood without the others: put names in the place of pronouns, and add what it leaves out. Change nothing else, answer nothing, and keep its language.
If the last message can be understood by itself, repeat it. Write only the question, on one line.`

// mostRewritten is the largest number of tokens of a rewritten question.
const mostRewritten = 128

// Rewrite returns the last question of a conversation, reworded by the model so that it can be understood alone. before
// are the earlier questions, oldest first. The error is an *endpoints.Error if the model fails or writes something
// else, or the context's. It returns one line without quotation marks.
func (m *Model) Rewrite(ctx context.Context, before []string, question string) (string, error) {
	var b strings.Builder
	for _, text := range append(before[:len(before):len(before)], question) {
		_, _ = fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(disarm(text)), " "))
	}
	answer, err := m.chat.New(ctx, openai.ChatCompletionNewParams{
		Model: m.endpoint.Model,
		Messages: []openai.ChatCompletionMessageParamUnion{
			openai.SystemMessage(rewriting), openai.UserMessage(b.String()),
		},
		MaxTokens:   openai.Int(mostRewritten),
		Temperature: openai.Float(0),
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", m.explain(ctx, err)
	}
	for _, choice := range answer.Choices {
		for line := range strings.Lines(cutReasoning(choice.Message.Content, true).answer) {
			line = strings.Trim(line, " \t\r\n\"“”-")
			if line != "" {
				if err := checkRewritten(line, before, question); err != nil {
					return "", err
				}
				return line, nil
			}
		}
	}
	return "", &endpoints.Error{Reason: "the model wrote nothing", Err: errors.New("the answer had no text")}
}

const (
	// leastKnown is the share of the words of a reworded question that have to stand in the messages: one that
	// says more is an answer.
	leastKnown = 2. / 3
	// leastKept is the share of the last message's words that the reworded question has to have.
	leastKept = .5
)

// checkRewritten returns an *endpoints.Error unless a line is the question in other words: the conversation has most of
// its words, and it has most words of the question. An answer fails the first test, an earlier message the second.
func checkRewritten(line string, before []string, question string) error {
	wrong := func(why string) error {
		return &endpoints.Error{
			Reason: "what the model made of it " + why, Err: fmt.Errorf("it made %q", cutText(line, mostRepeated)),
		}
	}
	words, last := forms.Analyse(line), forms.Analyse(question)
	asked := forms.Analyse(strings.Join(before, " "))
	switch {
	case shareIn(words, append(asked, last...)) < leastKnown:
		return wrong("says what was not asked")
	case shareIn(last, words) < leastKept:
		return wrong("leaves out what was asked")
	}
	return nil
}

// shareIn returns the share of words that are in others; 1 without words.
func shareIn(words, others []string) float64 {
	if len(words) == 0 {
		return 1
	}
	n := 0
	for _, w := range words {
		if slices.Contains(others, w) {
			n++
		}
	}
	return float64(n) / float64(len(words))
}
