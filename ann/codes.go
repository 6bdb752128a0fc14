package ann

import (
	"fmt"

	"example.org/conclave/ann/kernel"
)

// TokenCodes returns the bytes that an index of kind Late stores for a list of token vectors of dim elements, one
// after the other: blocks of codes of two bits (kernel.EncodeTokens). It fails for a list that cannot be stored: empty,
// too long, or with a vector that is longer than 1 or not finite.
func TokenCodes(list []float32, dim int) ([]byte, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, err
	}
	if err := checkTokens(list, dim, maxPassageTokens); err != nil {
		return nil, err
	}
	codes := make([]byte, kernel.TokenBytes(len(list)/dim, dim))
	if err := encodeStored(list, dim, codes); err != nil {
		return nil, err
	}
	return codes, nil
}

// TokenVectors returns the token vectors that codes stand for, one after the other, with the copies of the last one
// that fill its block: TokenCodes makes the same codes of them. It fails if codes are not those of a list. dim is the
// number of elements of a token's vector.
func TokenVectors(codes []byte, dim int) ([]float32, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, err
	}
	if err := checkCodes(codes, dim); err != nil {
		return nil, err
	}
	list := make([]float32, 4*len(codes))
	kernel.DecodeTokens(codes, dim, list)
	return list, nil
}

// CodesSimilarity writes to out, which must have an element for each passage, the late-interaction score of each
// passage for a question. question has the token vectors, n·dim elements; codes has those of TokenCodes for each
// passage. The scores are those of an index of kind Late. It fails if the question has more than maxQuestionTokens
// tokens or codes are malformed; out then has the scores before that.
func CodesSimilarity(question []float32, dim int, codes [][]byte, out []float32) error {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return err
	}
	if err := checkTokens(question, dim, maxQuestionTokens); err != nil {
		return fmt.Errorf("the question: %w", err)
	}
	var q kernel.Question
	q.Set(question, dim) // tokens that were let through can be scored
	kernels := kernel.Best()
	for i, c := range codes {
		if err := checkCodes(c, dim); err != nil {
			return err
		}
		out[i] = kernels.MaxSim(&q, c)
	}
	return nil
}

// CodeQuestion returns the n token vectors of a question as CodesSimilarity compares them: n·dim codes and n scales.
// A passage's score is the sum over the tokens of the question, in their order and in float32, of the token's scale
// times the greatest inner product of its codes with a token's levels: -63, -19, 19 and 63 for the codes 0 to 3. A
// block of TokenCodes is [dim/4][16] bytes of 16 tokens; bits 2k and 2k+1 of byte j are the code of token 4k+j/4 in
// dimension j%4 of the four. It fails for a dimension that token vectors cannot have, and for
// a question that is empty, too long or not finite.
func CodeQuestion(question []float32, dim int) (codes []int8, scales []float32, err error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, nil, err
	}
	if err := checkTokens(question, dim, maxQuestionTokens); err != nil {
		return nil, nil, fmt.Errorf("the question: %w", err)
	}
	var q kernel.Question
	q.Set(question, dim) // tokens that were let through can be scored
	codes, scales = q.Codes()
	return codes, scales, nil
}

// checkCodes returns an error unless codes are one or more whole blocks of token vectors of dim elements, at most
// maxPassageTokens.
func checkCodes(codes []byte, dim int) error {
	block := kernel.TokenBlockBytes(dim)
	if len(codes) == 0 || len(codes)%block != 0 || len(codes) > kernel.TokenBytes(maxPassageTokens, dim) {
		return fmt.Errorf("codes of token vectors: %d bytes are no blocks of %d", len(codes), block)
	}
	return nil
}
