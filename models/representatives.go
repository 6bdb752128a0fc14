package models

import (
	"bytes"
	"fmt"
	"math"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models/convert/safetensors"
)

// Representatives are questions that stand for what an expert was trained on,
// encoded by its base. The expert is familiar with a new question whose vector,
// by the same base, is near theirs. One vector of the question serves all
// experts of a base.
type Representatives struct {
	// BaseSHA256 is the SHA-256 of the base's weights. The base's own bundle has it under
	// Lineage.SourceSHA256; vectors of any other encoder mean nothing here.
	BaseSHA256 string
	// Dimension is the length of the vectors.
	Dimension int
	// Vectors is [R, Dimension], row by row, of unit length within the
	// rounding of 16 bits.
	Vectors []float32
}

const (
	representativesFormat = "conclave-representatives-1"
	representativesTensor = "questions"
)

// Len returns the number of questions.
func (r *Representatives) Len() int { return len(r.Vectors) / r.Dimension }

// Row returns the vector of question i, from 0; it shares memory with Vectors.
func (r *Representatives) Row(i int) []float32 {
	return r.Vectors[i*r.Dimension : (i+1)*r.Dimension : (i+1)*r.Dimension]
}

// Representatives reads the bundle's representatives; nil, without an error, if it has none. It does not compare
// the file with its SHA-256, as Load does. Errors are as for ParseRepresentatives.
func (b *Bundle) Representatives() (*Representatives, error) {
	v := b.Manifest.Vectors
	if v == nil || v.Representatives == "" {
		return nil, nil
	}
	name := v.Representatives
	data, err := disk.ReadRegular(b.Path(name), MaxGraphBytes)
	if err != nil {
		return nil, err
	}
	r, err := ParseRepresentatives(data, &b.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Path(name), err)
	}
	return r, nil
}

// ParseRepresentatives returns the representatives in a file of the bundle with manifest m. It fails if the file
// has another format, tensor or shape, or its vectors are of another base or dimension or not of unit length within
// 0.001. m.Base must not be nil.
func ParseRepresentatives(data []byte, m *Manifest) (*Representatives, error) {
	file, err := safetensors.New(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if format := file.Metadata["format"]; format != representativesFormat {
		return nil, fmt.Errorf("its format is %q; this version of conclave reads %q", format, representativesFormat)
	}
	if sum := file.Metadata["base_sha256"]; sum != m.Base.WeightsSHA256 {
		return nil, fmt.Errorf(
			"its vectors are of a base with SHA-256 %q, and the manifest names %s", sum, m.Base.WeightsSHA256,
		)
	}
	info, ok := file.Info(representativesTensor)
	if !ok || len(file.Names()) != 1 {
		return nil, fmt.Errorf("it has the tensors %q; %q alone is expected", file.Names(), representativesTensor)
	}
	if len(info.Shape) != 2 || info.Shape[0] < 1 || info.Shape[1] != m.Dimension() {
		return nil, fmt.Errorf(
			"tensor %q has shape %v; [R, %d] with one row or more is needed", representativesTensor, info.Shape,
			m.Dimension(),
		)
	}
	r := &Representatives{BaseSHA256: m.Base.WeightsSHA256, Dimension: m.Dimension()}
	r.Vectors, err = file.Floats(representativesTensor, info.Shape...)
	if err != nil {
		return nil, err
	}
	for i := range r.Len() {
		var squares float64
		for _, v := range r.Row(i) {
			squares += float64(v) * float64(v)
		}
		// 16 bits round a component by a part in 2,048 at most.
		if length := math.Sqrt(squares); math.Abs(length-1) > 1e-3 {
			return nil, fmt.Errorf("row %d of %q has length %.4f; unit length is needed", i, representativesTensor, length)
		}
	}
	return r, nil
}
