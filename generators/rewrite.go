package generators

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"

	"github.com/openai/openai-go/v3"
)

// rewriting says how to make a question that stands alone.
const rewriting = `You are given what one person asked, message by message. Write the last message as one question that is understood without the others: put names in the place of pronouns, and add what it leaves out. Change nothing else, answer nothing, and keep its language.
If the last message can be understood by itself, repeat it. Write only the question, on one line.`

// mostRewritten is how many tokens a question may have that a model writes.
const mostRewritten = 128

// Rewrite returns the last question of a conversation as the model words it so that it stands alone, by the
// questions before it, the last one last: the first line that it writes. The error is an *Error, or the context's.
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
	return "", &Error{Reason: "the model wrote nothing", Err: errors.New("the answer had no text")}
}

const (
	// leastKnown is the share of the words of a reworded question that have to stand in the messages: one that
	// says more is an answer.
	leastKnown = 2. / 3
	// leastKept is the share of the last message's words that the reworded question has to have.
	leastKept = .5
)

// checkRewritten returns an *Error unless a line is the question in other words: most of its words stand in the
// conversation, and most words of the question stand in it. An answer fails the first, an earlier message again the
// second.
func checkRewritten(line string, before []string, question string) error {
	wrong := func(why string) error {
		return &Error{
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

// shareIn returns the share of some words that are among others; 1 of none.
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
