package ann

import (
	"fmt"

	"conclave/ann/kernel"
)

// TokenCodes are the bytes that an index of kind Late stores for a list of token
// vectors of dim elements, one after the other (kernel.EncodeTokens).
func TokenCodes(list []float32, dim int) ([]byte, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, err
	}
	if err := checkStored(list, dim); err != nil {
		return nil, err
	}
	codes := make([]byte, kernel.TokenBlocks(len(list)/dim)*kernel.BlockTokens*dim)
	kernel.EncodeTokens(list, dim, codes)
	return codes, nil
}

// TokenVectors is the list that codes stand for, with copies of its last vector where
// they fill a block: TokenCodes makes the same codes of it.
func TokenVectors(codes []byte, dim int) ([]float32, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return nil, err
	}
	if block := kernel.BlockTokens * dim; len(codes) == 0 || len(codes)%block != 0 || len(codes)/dim > maxPassageTokens {
		return nil, fmt.Errorf("codes of token vectors: %d bytes are no blocks of %d", len(codes), block)
	}
	if err := kernel.CheckTokens(codes); err != nil {
		return nil, fmt.Errorf("codes of token vectors: %w", err)
	}
	list := make([]float32, len(codes))
	kernel.DecodeTokens(codes, dim, list)
	return list, nil
}
