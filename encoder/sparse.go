package encoder

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
)

// sparseTokens is the most tokens of a run of a sparse encoder. A run makes a number for each of its tokens and each
// word piece of the vocabulary: 250 MB with a vocabulary of 30,522.
const sparseTokens = 2048

// pairsOf returns the weights above 0 as pairs of id and weight, in the order of ids. weights has one for each id; an
// id is exact as a float32.
func pairsOf(weights []float32) (pairs []float32) {
	n := 0
	for _, w := range weights {
		if w > 0 {
			n++
		}
	}
	pairs = make([]float32, 0, models.PairNumbers*n)
	for id, w := range weights {
		if w > 0 {
			pairs = append(pairs, float32(id), w)
		}
	}
	return pairs
}

// pairsProduct returns the inner product of two lists of pairs of id and weight, each in ascending order of ids;
// ids that one list lacks count 0.
func pairsProduct(a, b []float32) (sum float64) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[models.PairNumbers:]
		case a[0] > b[0]:
			b = b[models.PairNumbers:]
		default:
			sum += float64(a[1]) * float64(b[1])
			a, b = a[models.PairNumbers:], b[models.PairNumbers:]
		}
	}
	return sum
}

// readQuestionWeights reads the weight of each word piece in a question, by its id, from a sparse bundle's file. It
// fails if the file has another size or a weight is negative or not finite.
func readQuestionWeights(b *models.Bundle) ([]float32, error) {
	v := b.Manifest.Vectors
	path := b.Path(v.QuestionWeights)
	data, err := disk.ReadRegular(path, models.MaxSmallBytes)
	if err != nil {
		return nil, err
	}
	if len(data) != 4*v.Dimension {
		return nil, fmt.Errorf("%s has %d bytes, and %d word pieces need %d", path, len(data), v.Dimension, 4*v.Dimension)
	}
	table := make([]float32, v.Dimension)
	for i := range table {
		table[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		if !(table[i] >= 0 && table[i] <= math.MaxFloat32) {
			return nil, fmt.Errorf("%s: the weight of word piece %d is %v", path, i, table[i])
		}
	}
	return table, nil
}

// lookUpVector returns a question's pairs of id and weight from the table of weights, in the order of ids: each of
// its word pieces once, without the tokens that begin and end it and those of weight 0.
func (e *Encoder) lookUpVector(ids []int32) []float32 {
	distinct := slices.Compact(slices.Sorted(slices.Values(ids[1 : len(ids)-1])))
	pairs := make([]float32, 0, models.PairNumbers*len(distinct))
	for _, id := range distinct {
		if w := e.table[id]; w > 0 {
			pairs = append(pairs, float32(id), w)
		}
	}
	return pairs
}
