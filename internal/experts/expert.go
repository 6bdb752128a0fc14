package experts

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/encoder"
	"example.org/conclave/endpoints"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/rank"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
)

// Expert is one loaded bundle.
type Expert struct {
	Bundle  *models.Bundle
	Encoder Encoder // that experts of one bundle share
	name    string
	// head is on the vectors of owner, whose Encoder it is; nil: the expert has its own.
	head  *encoder.Head
	owner *Expert
	// shares names the expert whose vectors of passages are this one's too, since their
	// passage encoders are the same; "": no other's are. Unlike a head it has an encoder.
	shares string
	bundle string // its name
	// Granularity of what the vectors are of; nil: of passages, as the bundle says.
	Granularity *granules.Granularity
	elsewhere   []*models.Manifest // of the other dense experts that read passages of the collection
}

// The methods below make an expert what collection and search need of it.

// Name returns the name of the expert in its collection, with its granularity if it has one.
func (e *Expert) Name() string { return e.name }

// Dimension returns how many numbers a vector has (Encoder.Dimension).
func (e *Expert) Dimension() int { return e.Encoder.Dimension() }

// Late reports whether the expert has a vector for each token of a passage (late interaction).
func (e *Expert) Late() bool { return e.Encoder.Late() }

// Sparse reports whether the expert weighs word pieces: its vectors are lists of pairs of a piece and a weight.
func (e *Expert) Sparse() bool { return e.Encoder.Sparse() }

// Owner returns the name of the expert whose vectors this one searches; "" if it has its own.
func (e *Expert) Owner() string {
	if e.owner != nil {
		return e.owner.name
	}
	return e.shares
}

// PassageWords returns, for each token that the encoder reads of a passage, which word of it the token belongs to.
// There are no words if the bundle's template hides their places (encoder.Encoder.Places). The error is that of the
// tokenizer.
func (e *Expert) PassageWords(p corpus.Passage) ([]learned.Word, error) {
	places, err := e.Encoder.Places(encoder.Text{Title: p.Title, Text: p.Text})
	words := make([]learned.Word, len(places))
	for i, place := range places {
		words[i] = learned.Word(place)
	}
	return words, err
}

// PassageTokens returns how many tokens the encoder reads of a passage; cut reports whether the passage has more.
func (e *Expert) PassageTokens(p corpus.Passage) (read int, cut bool) {
	return e.Encoder.PassageTokens(encoder.Text{Title: p.Title, Text: p.Text})
}

// Reads reports whether the encoder reads only the beginning of a passage (cut), and whether some of its words are
// unknown to the vocabulary so that it can hardly read it (unread). cut is false for an expert with a granularity,
// which splits passages. Both are false for a passage that is left to other experts (LeavesToOthers).
func (e *Expert) Reads(p corpus.Passage) (cut, unread bool) {
	if e.LeavesToOthers(p) {
		return false, false
	}
	read, cut := e.Encoder.ReadablePassage(encoder.Text{Title: p.Title, Text: p.Text})
	return cut && e.Granularity == nil, read < 1
}

// mostWindowTokens is how many tokens of a passage are read at most in windows: as many as an index of late
// interaction has of one.
const mostWindowTokens = 4096

// Windows implements store.WindowReader. It returns the windows of a passage that is longer than the encoder reads,
// in order: whole sentences, at most half as many tokens as the encoder reads. It returns nil if the passage fits,
// the title leaves no room, or the expert cannot have windows, and none, but not nil, for a passage that is left to
// other experts (LeavesToOthers). cut reports that text after the windows is read in none.
func (e *Expert) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if e.LeavesToOthers(p) {
		return []rank.Span{}, false
	}
	if e.Granularity != nil || e.Sparse() || e.head != nil {
		return nil, false
	}
	text := encoder.Text{Title: p.Title, Text: p.Text}
	if _, cut := e.Encoder.PassageTokens(text); !cut {
		return nil, false
	}
	limit := e.Bundle.Manifest.Vectors.MaxTokens.Passage
	titled, _ := e.Encoder.PassageTokens(encoder.Text{Title: p.Title})
	room := min(limit/2, limit-titled)
	if room < limit/8 {
		return nil, true // the title leaves no room
	}
	total := 0
	for _, s := range granules.Packed(p.Text, room, e.Encoder.WordTokens) {
		read, _ := e.Encoder.PassageTokens(encoder.Text{Title: p.Title, Text: p.Text[s.Begin:s.End]})
		total += read
		if total > mostWindowTokens {
			return windows, true
		}
		windows = append(windows, s)
	}
	return windows, false
}

// EncodePassages returns a vector for each passage, in their order, as they are stored: multiplied by the share of the
// passage that the encoder can read, so that a passage with unknown words scores less (asRead). Vectors of experts that
// are Late or Sparse are not multiplied. It fails if the encoder fails or ctx ends.
func (e *Expert) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors, read, err := e.readPassages(ctx, passages)
	if !e.Late() && !e.Sparse() { // whose unknown words have no word piece
		asRead(vectors, read)
	}
	return vectors, err
}

// readPassages returns a vector for each passage, encoded with the bundle's template (scaleToUnit), and for each the
// share that the encoder can read, from 0 to 1. A granularity that is Untitled encodes the texts without titles. It
// fails if the encoder fails or ctx ends.
func (e *Expert) readPassages(ctx context.Context, passages []corpus.Passage) ([][]float32, []float64, error) {
	texts := encoderTexts(passages)
	if e.Granularity != nil && e.Granularity.Untitled {
		for i := range texts {
			texts[i].Title = ""
		}
	}
	vectors, read, err := e.Encoder.ReadPassages(ctx, texts)
	if refused, ok := errors.AsType[*endpoints.TextError](err); ok && refused.Refused {
		err = fmt.Errorf("passage %q: %w", passages[refused.Text].ID, err)
	}
	return e.scaleToUnit(vectors), read, err
}

// asRead multiplies each vector, in place, with the share of its passage that the encoder could read, and returns
// vectors: inner products with questions are then worth that much less. read has a share from 0 to 1 for each vector.
func asRead(vectors [][]float32, read []float64) [][]float32 {
	for i, v := range vectors {
		if read[i] < 1 {
			for n := range v {
				v[n] *= float32(read[i])
			}
		}
	}
	return vectors
}

// encoderTexts returns the titles and texts of passages as the encoder takes them.
func encoderTexts(passages []corpus.Passage) []encoder.Text {
	out := make([]encoder.Text, len(passages))
	for i, p := range passages {
		out[i] = encoder.Text{Title: p.Title, Text: p.Text}
	}
	return out
}
