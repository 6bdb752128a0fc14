package search

import (
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/question"
)

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"` // "user", "assistant", "system", "developer" or "tool"
	Content string `json:"content"`
}

// userRole is that of the messages whose last one is the question.
const userRole = "user"

// roles returns those that a message may have.
func roles() []string { return []string{userRole, "assistant", "system", "developer", "tool"} }

// Ask returns the request of a question behind what its user asked before, the last one last.
func Ask(question string, before []string) Request {
	if len(before) == 0 {
		return Request{Question: question}
	}
	messages := make([]Message, 0, len(before)+1)
	for _, text := range append(slices.Clone(before), question) {
		messages = append(messages, Message{Role: userRole, Content: text})
	}
	return Request{Messages: messages}
}

// A conversation is followed over the first message of its user, which mostly names what all is about, and the last
// ones before the question: at least mostBefore of them, and as many more as make the number of those left out a
// multiple of leftOutAtOnce, so that two turns in a row mostly have the same beginning (lineUp.topics).
const (
	mostBefore    = 4
	leftOutAtOnce = 4
)

// lastMessage returns the last message of the user that says something; "" where the request has none.
func (r *Request) lastMessage() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == userRole && strings.TrimSpace(m.Content) != "" {
			return m.Content
		}
	}
	return ""
}

// shortened returns a note where asked takes only a part of the last message; nil where it takes all.
func (r *Request) shortened(limit int) []string {
	n := len(r.lastMessage())
	if n <= limit {
		return nil
	}
	return []string{fmt.Sprintf(
		"the message has %d bytes: at most %d were searched for, the sentences that look most like a question", n, limit,
	)}
}

// asked returns the question of a request, which of messages is the last of the user, and the user's messages before
// it, the last one last. Of a message that has more bytes than limit it takes the sentences that look most like a
// question.
func (r *Request) asked(wrong *fault.Problems, limit int) (asked string, before []string) {
	if len(r.Messages) == 0 {
		wrong.Text("/question", "question", "empty_question", r.Question, limit)
		return r.Question, nil
	}
	if r.Question != "" {
		wrong.Add(
			"unused_option",
			"/messages",
			"there are both a question and messages: the last message of the user is the question, so send one of the two",
		)
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles(), m.Role) {
			wrong.Add(
				"unknown_value",
				wording.Pointer("/messages", i)+"/role",
				"there is no role %s: %s are known",
				wording.Quote(m.Role),
				wording.List(roles()),
			)
		}
		if m.Role != userRole || strings.TrimSpace(m.Content) == "" {
			continue
		}
		said := question.Shorten(m.Content, limit)
		wrong.Text(wording.Pointer("/messages", i)+"/content", "message", "empty_question", said, limit)
		if asked != "" {
			before = append(before, asked)
		}
		asked = said
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	if asked == "" {
		wrong.Add("empty_question", "/messages", "none of the %d messages is of the user and says something", len(r.Messages))
	}
	return asked, cutBefore(before)
}

// cutBefore returns the messages of a user that a question is understood by: the first and the last of them.
func cutBefore(before []string) []string {
	left := (len(before) - 1 - mostBefore) / leftOutAtOnce * leftOutAtOnce
	if left <= 0 {
		return before
	}
	return append(before[:1:1], before[1+left:]...)
}
