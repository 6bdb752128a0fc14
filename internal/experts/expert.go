package experts

import (
	"context"

	"example.org/conclave/encoder"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/rank"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
)

// Expert is one loaded bundle.
type Expert struct {
	Bundle  *models.Bundle
	Encoder *encoder.Encoder // that experts of one bundle share
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
}

// The methods below make an expert what collection and search need of it.

func (e *Expert) Name() string   { return e.name }
func (e *Expert) Dimension() int { return e.Encoder.Dimension() }

// Late says that the expert gives each token a vector: late interaction.
func (e *Expert) Late() bool { return e.Encoder.Late() }

// Sparse says that the expert weighs word pieces: its vectors are lists of pairs.
func (e *Expert) Sparse() bool { return e.Encoder.Sparse() }

// Owner returns the expert whose vectors this one finds passages by; "": it has its own.
func (e *Expert) Owner() string {
	if e.owner != nil {
		return e.owner.name
	}
	return e.shares
}

// PassageWords says which word each token of a passage is of.
func (e *Expert) PassageWords(p corpus.Passage) ([]learned.Word, error) {
	places, err := e.Encoder.Places(encoder.Text{Title: p.Title, Text: p.Text})
	words := make([]learned.Word, len(places))
	for i, place := range places {
		words[i] = learned.Word(place)
	}
	return words, err
}

// PassageTokens returns how many tokens the encoder reads of a passage, and whether there
// are more.
func (e *Expert) PassageTokens(p corpus.Passage) (read int, cut bool) {
	return e.Encoder.PassageTokens(encoder.Text{Title: p.Title, Text: p.Text})
}

// Reads reports whether the encoder reads only the beginning of a passage, and whether it
// can hardly read it. Granularities cut passages, so that they say nothing of their length.
func (e *Expert) Reads(p corpus.Passage) (cut, unread bool) {
	read, cut := e.Encoder.ReadablePassage(encoder.Text{Title: p.Title, Text: p.Text})
	return cut && e.Granularity == nil, read < 1
}

// mostWindowTokens is how many tokens of a passage are read at most in windows: as many as an index of late
// interaction has of one.
const mostWindowTokens = 4096

// Windows implements store.WindowReader. A passage that is longer than the encoder reads is read in windows of whole
// sentences, of half as many tokens as it reads, as passages of documents are: so a sentence counts in its window's
// vector.
func (e *Expert) Windows(p corpus.Passage) (windows []rank.Span, cut bool) {
	if e.Granularity != nil || e.Sparse() || e.head != nil {
		return nil, false
	}
	of := encoder.Text{Title: p.Title, Text: p.Text}
	if _, cut := e.Encoder.PassageTokens(of); !cut {
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

// EncodePassages gives the vectors of passages as they are stored: a vector is as long as
// it counts.
func (e *Expert) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors, read, err := e.readPassages(ctx, passages)
	if !e.Late() && !e.Sparse() { // whose unknown words have no word piece
		asRead(vectors, read)
	}
	return vectors, err
}

// readPassages encodes passages through the bundle's template, and tells what each vector
// counts.
func (e *Expert) readPassages(ctx context.Context, passages []corpus.Passage) ([][]float32, []float64, error) {
	of := encoderTexts(passages)
	if e.Granularity != nil && e.Granularity.Untitled {
		for i := range of {
			of[i].Title = ""
		}
	}
	vectors, read, err := e.Encoder.ReadPassages(ctx, of)
	return e.scaleToUnit(vectors), read, err
}

// asRead makes each vector as long as it counts: its inner products with questions are
// then worth that much, in searches of all kinds and beside random passages.
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

func encoderTexts(passages []corpus.Passage) []encoder.Text {
	out := make([]encoder.Text, len(passages))
	for i, p := range passages {
		out[i] = encoder.Text{Title: p.Title, Text: p.Text}
	}
	return out
}
