package lookup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/presenting"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// DocumentText is a document's text, or a part of it.
type DocumentText struct {
	Document reply.DocumentReference
	Text     string // the text from the wanted passage on
	Next     int    // the number of the passage after Text; 0: the document ends
}

// documentChunk is the number of passages of a document that are looked up at a time.
const documentChunk = 64

// DocumentText returns the text of a document from the passage with the number from on, counted from 1: of as many
// passages as have at most `most` stored bytes together, and of one at least. It waits for memory (Reader.TakeRoom). It
// returns a *fault.Error of kind NotFound if the document does not exist, has no such passage, or may not be seen by
// the caller, and of kind Unavailable if it cannot be read.
func (r Reader) DocumentText(ctx context.Context, id string, from, most int) (out DocumentText, err error) {
	view := r.View
	var passages []corpus.Passage
	err = run.Guard(func() (err error) {
		passages, out.Next, err = r.documentPart(ctx, view.Passages(), id, from, most)
		for i := range passages {
			if !view.Visible(ctx, &passages[i]) {
				passages = nil
				break
			}
		}
		return err
	})
	var refused *fault.Error
	switch {
	case errors.As(err, &refused):
		return out, err
	case err != nil:
		return out, &fault.Error{
			Kind:   fault.Unavailable,
			Code:   "unavailable",
			Detail: fmt.Sprintf("document %s could not be read; the server's log says why", wording.Quote(id)),
			Err:    fmt.Errorf("reading document %s: %w", wording.Quote(id), err),
		}
	case len(passages) == 0:
		return out, &fault.Error{
			Kind:   fault.NotFound,
			Code:   "unknown_document",
			Detail: fmt.Sprintf("there is no document %s, or it has no passage %d", wording.Quote(id), from),
		}
	}
	out.Document = *reply.PlaceOf(&passages[0]).Document
	out.Text = joinTexts(passages, from)
	return out, nil
}

// documentPart reads passages of a document with the number from and on, of at most so many bytes together, and one at
// least. next is the number of the passage after them; 0 if they are the last. It ends before a passage of another
// version of the document. It fails if there is no memory for the passages or the store fails.
func (r Reader) documentPart(
	ctx context.Context,
	all storage.Passages,
	id string,
	from, most int,
) (passages []corpus.Passage, next int, err error) {
	var ordinals []rank.Ordinal
	bytes := 0
	next = from
search:
	for {
		ids := make([]string, documentChunk)
		for i := range ids {
			ids[i] = corpus.PassageID(id, next+i)
		}
		found, err := all.Lookup(ctx, ids)
		if err != nil {
			return nil, 0, err
		}
		for _, f := range found {
			if !f.There {
				next = 0
				break search
			}
			size, err := all.Size(f.Ordinal)
			if err != nil {
				return nil, 0, err
			}
			if bytes+size > most && len(ordinals) > 0 {
				break search
			}
			bytes += size
			ordinals = append(ordinals, f.Ordinal)
			next++
		}
	}
	if err := r.takeRoom(ctx, PassageRoom(bytes)); err != nil {
		return nil, 0, err
	}
	read, err := all.Read(ctx, ordinals)
	if err != nil {
		return nil, 0, err
	}
	for i := range read {
		if reply.PlaceOf(&read[i]).Document == nil || !presenting.SameVersion(&read[i], &read[0]) {
			return read[:i], 0, nil // it is being replaced, in a store
		}
	}
	return read, next, nil
}

// joinTexts returns successive passages of a document as one text, with what the document has between and after them,
// such as headings. number is the first passage's number in the document. If that is not 1, its text is written as it
// is stored, with the context that was put before it.
func joinTexts(passages []corpus.Passage, number int) string {
	var text strings.Builder
	for i := range passages {
		switch p := &passages[i]; {
		case i > 0:
			text.WriteString(corpus.TextBefore(p, number+i) + corpus.OwnText(p))
		case number == 1:
			text.WriteString(corpus.TextBefore(p, 1) + corpus.OwnText(p))
		default:
			text.WriteString(p.Text)
		}
		if after, ok := passages[i].Metadata[corpus.TextAfterKey].(string); ok {
			text.WriteString(after)
		}
	}
	return text.String()
}
