// Package presenting makes the response of an answer: texts, highlights, places and neighbours of passages, groups,
// facets, and the order by fields of metadata.
package presenting

import (
	"context"

	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/reply"
)

// Page is a response in the making.
type Page struct {
	Response reply.Response

	answer   *answering.Answer
	asked    Asked
	takeRoom Room
}

// Asked says how the question was changed before it was searched.
type Asked struct {
	Part        string // of a long question; "": all of it was asked
	Corrections []reply.Correction
	Doubt       string // what keeps these from being those of the whole collection, for the user; "": nothing does
	Synonyms    []reply.Expansion
}

// Room waits until there is memory for so many bytes. Its error ends the request.
type Room func(ctx context.Context, bytes int) error

// NewPage returns a page of an answer, without results yet.
func NewPage(a *answering.Answer, asked Asked, takeRoom Room) *Page {
	return &Page{answer: a, asked: asked, takeRoom: takeRoom}
}
