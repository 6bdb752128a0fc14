// Package presenting makes the response to an answer: texts, highlights, places and neighbours of passages, groups,
// facets, and the order by fields of metadata.
package presenting

import (
	"context"

	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/reply"
)

// Page makes a response: its methods fill in Response.
type Page struct {
	Response reply.Response

	answer   *answering.Answer
	asked    QuestionChanges
	takeRoom Room
}

// QuestionChanges says how the question was changed before it was searched.
type QuestionChanges struct {
	Part        string // the part of a long question that was asked; "": all of it
	Corrections []reply.Correction
	Doubt       string // what was not searched for corrections, for users; "": all was (question.Speller.Correct)
	Synonyms    []reply.Expansion
}

// Room waits until there is memory for so many bytes and takes it. It fails if there is none in time, which ends the
// request.
type Room func(ctx context.Context, bytes int) error

// NewPage returns a page of an answer, without results yet.
func NewPage(a *answering.Answer, asked QuestionChanges, takeRoom Room) *Page {
	return &Page{answer: a, asked: asked, takeRoom: takeRoom}
}
