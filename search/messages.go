package search

import (
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/question"
)

// Message is one message of a conversation.
type Message struct {
	Role    string `json:"role"` // "user", "assistant", "system", "developer" or "tool"
	Content string `json:"content"`
}

// userRole is the role of the person who asks. The last message with it is the question.
const userRole = "user"

// roles returns the roles that a message may have.
func roles() []string { return []string{userRole, "assistant", "system", "developer", "tool"} }

// Ask returns the request for a question of a user who sent the messages before earlier, oldest first.
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

// Of a long conversation only some of the user's messages are used: the first, which mostly names the subject, and the
// last ones before the question. These are at least mostBefore, and as many more as make the number of omitted ones a
// multiple of leftOutAtOnce, so that two questions in a row mostly have the same earlier messages (lineUp.topics).
const (
	mostBefore    = 4
	leftOutAtOnce = 4
)

// lastMessage returns the last message of the user that is not blank; "" if there is none.
func (r *Request) lastMessage() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == userRole && strings.TrimSpace(m.Content) != "" {
			return m.Content
		}
	}
	return ""
}

// shortenedNote returns a note for users if the last message has more bytes than limit, so that only a part of it was
// asked; nil if not.
func (r *Request) shortenedNote(limit int) []string {
	n := len(r.lastMessage())
	if n <= limit {
		return nil
	}
	return []string{fmt.Sprintf(
		"the message has %d bytes: at most %d were searched for, the sentences that look most like a question", n, limit,
	)}
}

// questionAndEarlier returns the question of a request, and the earlier messages of its user, oldest first (cutBefore).
// Of messages, the question is the last one of the user. A message with more bytes than limit is shortened to the
// sentences that look most like a question. Problems are added to wrong.
func (r *Request) questionAndEarlier(wrong *fault.Problems, limit int) (asked string, before []string) {
	if len(r.Messages) == 0 {
		wrong.Text("/question", "question", "empty_question", r.Question, limit)
		return r.Question, nil
	}
	if r.Question != "" {
		wrong.Add(
			"unused_option", "/messages",
			"there are both a question and messages: the last message of the user is the question, so send one of the two",
		)
	}
	for i, m := range r.Messages {
		if !slices.Contains(roles(), m.Role) {
			wrong.Add(
				"unknown_value", wording.Pointer("/messages", i)+"/role", "there is no role %s: %s are known",
				wording.Quote(m.Role), wording.List(roles()),
			)
		}
		if m.Role != userRole || strings.TrimSpace(m.Content) == "" {
			continue
		}
		shortened := question.Shorten(m.Content, limit)
		wrong.Text(wording.Pointer("/messages", i)+"/content", "message", "empty_question", shortened, limit)
		if asked != "" {
			before = append(before, asked)
		}
		asked = shortened
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	if asked == "" {
		wrong.Add("empty_question", "/messages", "none of the %d messages is of the user and says something", len(r.Messages))
	}
	return asked, cutBefore(before)
}

// cutBefore returns the first of a user's earlier messages and the last ones, at least mostBefore: it leaves out others
// by leftOutAtOnce at a time, so that up to eight messages come back as they are. It does not change before.
func cutBefore(before []string) []string {
	left := (len(before) - 1 - mostBefore) / leftOutAtOnce * leftOutAtOnce
	if left <= 0 {
		return before
	}
	return append(before[:1:1], before[1+left:]...)
}
