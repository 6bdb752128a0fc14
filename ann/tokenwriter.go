package ann

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/ann/graph"
	"example.org/conclave/ann/kernel"
	"example.org/conclave/ann/mapped"
	"example.org/conclave/internal/disk"
)

// maxPassageTokens is how many token vectors a stored list may have,
// maxQuestionTokens how many a query.
const (
	maxPassageTokens  = 4096
	maxQuestionTokens = 512
)

// maxTokenLength is 1, the length of a stored token vector, and what rounding in
// an encoder may add.
const maxTokenLength = 1.01

// tokenWriter writes a file of lists of token vectors: see tokens.
type tokenWriter struct {
	out     *mapped.Writer
	dim     int
	offsets []uint32 // where each list's blocks begin, and the last ones' end
	blocks  []byte   // of the list being appended
}

// createTokens begins a file of lists of token vectors of dim elements at path, which appears there only when Close
// succeeds. It fails for a dimension that token vectors cannot have.
func createTokens(d disk.Disk, path string, dim int) (Writer, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, err
	}
	out, err := mapped.Create(d, path, tokensKind, tokensVersion)
	if err != nil {
		return nil, err
	}
	return &tokenWriter{out: out, dim: dim, offsets: []uint32{0}}, nil
}

// Append adds a list of token vectors, which is empty for a passage without vectors. It fails if checkTokens does for
// another one, encodeStored does, or the file is full.
func (w *tokenWriter) Append(vector []float32) error {
	if err := checkTokens(vector, w.dim, maxPassageTokens); err != nil && len(vector) > 0 {
		return fmt.Errorf("token vectors: list %d: %w", w.Len(), err)
	}
	if w.Len() == graph.MaxRows {
		return fmt.Errorf("token vectors: a file holds at most %d lists", graph.MaxRows)
	}
	size := kernel.TokenBytes(len(vector)/w.dim, w.dim)
	count := size / kernel.TokenBlockBytes(w.dim)
	end := w.offsets[len(w.offsets)-1]
	if uint64(end)+uint64(count) > math.MaxUint32 {
		return fmt.Errorf(
			"token vectors: a file holds at most %d blocks of %d vectors", uint32(math.MaxUint32), kernel.BlockTokens,
		)
	}
	if len(w.blocks) < size {
		w.blocks = make([]byte, size)
	}
	if err := encodeStored(vector, w.dim, w.blocks[:size]); err != nil {
		return fmt.Errorf("token vectors: list %d: %w", w.Len(), err)
	}
	w.offsets = append(w.offsets, end+uint32(count))
	return mapped.Append(w.out, w.blocks[:size])
}

// encodeStored writes the codes of a list of token vectors to blocks, which must have kernel.TokenBytes for it. It
// fails for a vector that is longer than 1, beyond some rounding, unless storing does not change it: that one comes
// from another file. The list must have passed checkTokens. dim is the number of elements of a token's vector.
func encodeStored(list []float32, dim int, blocks []byte) error {
	kernel.EncodeTokens(list, dim, blocks)
	var back []float32 // what is stored, once it is needed
	for i := range len(list) / dim {
		token := list[i*dim : (i+1)*dim]
		square := 0.0
		for _, x := range token {
			square += float64(x) * float64(x)
		}
		if square <= maxTokenLength*maxTokenLength {
			continue
		}
		// Rounding to codes may have made longer what comes from another file, and
		// it must find its way into the next.
		if back == nil {
			back = make([]float32, 4*len(blocks))
			kernel.DecodeTokens(blocks, dim, back)
		}
		if !slices.Equal(back[i*dim:(i+1)*dim], token) {
			return fmt.Errorf("token %d has length %g; a stored token vector is of length 1", i, math.Sqrt(square))
		}
	}
	return nil
}

// checkTokens returns an error unless vector has 1 to most finite token vectors of dim elements.
func checkTokens(vector []float32, dim, most int) error {
	switch n := len(vector) / dim; {
	case n < 1 || n*dim != len(vector):
		return fmt.Errorf("it has %d elements, no positive multiple of %d, a token's", len(vector), dim)
	case n > most:
		return fmt.Errorf("it has %d tokens; at most %d are possible", n, most)
	}
	return checkElements(vector)
}

// Len returns the number of lists appended.
func (w *tokenWriter) Len() int { return len(w.offsets) - 1 }

// Close makes the file durable and gives it its name. If it fails, nothing is left.
func (w *tokenWriter) Close() error {
	if err := errors.Join(w.out.Section(), mapped.Append(w.out, w.offsets)); err != nil {
		w.out.Abort()
		return err
	}
	return w.out.Commit(uint64(w.Len()), uint64(w.dim))
}

// Abort removes what was written. After Close it does nothing, so it can be deferred.
func (w *tokenWriter) Abort() { w.out.Abort() }
