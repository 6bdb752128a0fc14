package search

import (
	"slices"
	"strings"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
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

// mostBefore is how many earlier messages of the user the last one is asked behind.
const mostBefore = 3

// asked returns the question of a request, which of messages is the last of the user, and
// the user's messages before it, the last one last.
func (r *Request) asked(wrong *fault.Problems, limit int) (question string, before []string) {
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
		wrong.Text(wording.Pointer("/messages", i)+"/content", "message", "empty_question", m.Content, limit)
		if question != "" {
			before = append(before, question)
		}
		question = m.Content
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	if question == "" {
		wrong.Add("empty_question", "/messages", "none of the %d messages is of the user and says something", len(r.Messages))
	}
	return question, before[max(0, len(before)-mostBefore):]
}
