package ann

import (
	"encoding/binary"
	"fmt"
	"slices"

	"example.org/conclave/ann/kernel"
)

// AppendRecord appends to out a vector in the precision in which an index of this kind keeps it: elements of half
// precision, two bits for each element of a token, or pairs with a weight of eight bits. DecodeRecord gives back a
// vector of which the index keeps the same bytes as of vector itself, also where it is a part of a longer list. numbers
// is how many elements that one has. dim is the number of elements of a vector, of a token's vector or of a pair. It
// fails for a vector that the index would refuse, an unknown kind and an impossible dimension.
func AppendRecord(out []byte, kind string, vector []float32, dim int) (record []byte, numbers int, err error) {
	k, err := KindNamed(kind)
	if err != nil {
		return out, 0, err
	}
	switch {
	case k.Tokens:
		out, err = appendTokenRecord(out, vector, dim)
		return out, len(vector), err
	case k.Pairs:
		if err := checkPairs(vector); err != nil {
			return out, 0, err
		}
		list := appendPairs(nil, vector)
		for _, pair := range list {
			out = binary.LittleEndian.AppendUint32(out, pair)
		}
		return out, pairNumbers * len(list), nil
	}
	halves := kernel.AppendHalves(nil, vector)
	if err := checkHalves(halves, vector); err != nil {
		return out, 0, err
	}
	for _, h := range halves {
		out = binary.LittleEndian.AppendUint16(out, uint16(h))
	}
	return out, len(vector), nil
}

// appendTokenRecord appends the blocks of a list of token vectors, and a bit for each token, set if all of its elements
// are 0: in the blocks such a token is a copy of another one. It fails if an index could not keep the list.
func appendTokenRecord(out []byte, list []float32, dim int) ([]byte, error) {
	if err := kernel.CheckTokenDimension(dim); err != nil {
		return out, err
	}
	if err := checkTokens(list, dim, maxPassageTokens); err != nil {
		return out, err
	}
	n := len(list) / dim
	blocks := make([]byte, kernel.TokenBytes(n, dim))
	if err := encodeStored(list, dim, blocks); err != nil {
		return out, err
	}
	zeros := make([]byte, (n+7)/8)
	for i := range n {
		if !slices.ContainsFunc(list[i*dim:][:dim], func(x float32) bool { return x != 0 }) {
			zeros[i/8] |= 1 << (i % 8)
		}
	}
	return append(append(out, blocks...), zeros...), nil
}

// RecordBytes returns the length of the record of a vector of so many numbers (AppendRecord). It returns false if an
// index of the kind has no such vectors, or the kind is unknown.
func RecordBytes(kind string, numbers, dim int) (bytes int, ok bool) {
	k, err := KindNamed(kind)
	if err != nil || numbers < 0 || dim < 1 {
		return 0, false
	}
	n := numbers / dim
	switch {
	case k.Tokens:
		ok = kernel.CheckTokenDimension(dim) == nil && n >= 1 && n <= maxPassageTokens
		return kernel.TokenBytes(n, dim) + (n+7)/8, ok && n*dim == numbers
	case k.Pairs:
		return 4 * n, dim == pairNumbers && n <= maxPairID+1 && n*dim == numbers
	}
	return 2 * numbers, numbers == dim
}

// DecodeRecord returns the vector of so many numbers of a record that AppendRecord made with the same kind and dim. It
// fails if the record has another length than RecordBytes.
func DecodeRecord(record []byte, kind string, numbers, dim int) ([]float32, error) {
	bytes, ok := RecordBytes(kind, numbers, dim)
	if !ok || len(record) != bytes {
		return nil, fmt.Errorf(
			"a record of %d bytes is not that of %d numbers of an index of kind %s with dimension %d", len(record), numbers,
			kind, dim,
		)
	}
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	out := make([]float32, 0, numbers)
	switch {
	case k.Tokens:
		n := numbers / dim
		blocks, zeros := record[:kernel.TokenBytes(n, dim)], record[kernel.TokenBytes(n, dim):]
		all := make([]float32, 4*len(blocks)) // a byte has the codes of four elements
		kernel.DecodeTokens(blocks, dim, all)
		for i := range n {
			if zeros[i/8]>>(i%8)&1 == 1 {
				clear(all[i*dim:][:dim])
			}
		}
		return all[:numbers:numbers], nil
	case k.Pairs:
		for ; len(record) > 0; record = record[4:] {
			out = appendPairNumbers(out, binary.LittleEndian.Uint32(record))
		}
		return out, nil
	}
	for ; len(record) > 0; record = record[2:] {
		out = append(out, kernel.Half(binary.LittleEndian.Uint16(record)).Float())
	}
	return out, nil
}
