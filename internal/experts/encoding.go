package experts

import (
	"context"

	"example.org/conclave/encoder"
	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
)

// Encoder is the encoder of an expert: that of a bundle (*encoder.Encoder), or a model behind an interface.
type Encoder interface {
	learned.QuestionEncoder

	Dimension() int
	Late() bool
	Sparse() bool
	Fingerprint(side models.Side) string
	Provider() string
	Fallback() error // why it does not run on a GPU that was wanted
	Ensemble() *encoder.Ensemble
	Carried() *encoder.Encoder // whose vectors ReadPassagesBoth gives, too; nil: no other's

	// What encoder.Encoder says of these holds for both.

	ReadPassages(ctx context.Context, texts []encoder.Text) (vectors [][]float32, read []float64, err error)
	ReadPassagesBoth(ctx context.Context, texts []encoder.Text) (own, carried [][]float32, read []float64, err error)
	Places(t encoder.Text) ([]encoder.WordPlace, error)
	PassageTokens(t encoder.Text) (read int, cut bool)
	ReadablePassage(t encoder.Text) (read float64, cut bool)
	WordTokens(word string) int
	CutPassages() int64
	UnreadPassages() int64
	Stats() batcher.Stats
	Close() error
}
