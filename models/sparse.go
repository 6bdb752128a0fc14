package models

// PairNumbers is the length of a pair of a sparse expert's vectors.
const PairNumbers = 2

// sparse notes what is wrong with the fields of the vectors' section in which a sparse expert differs.
//
// A sparse expert (SPLADE) gives a text a weight for each word piece, of which all but some dozens are 0. Its
// graph's output is float32 [batch, Vectors.Dimension], the vocabulary, of weights that are never negative. A
// vector is the list of those above 0: pairs of the word piece's id, in ascending order, and its weight. So
// Manifest.Dimension is PairNumbers. Vectors are compared by their inner product.
//
// With Vectors.QuestionWeights a question takes no run of the model. Its vector has, for each word piece in it, the
// weight in this file, which has a float32 in little-endian for each id.
func (v *validation) sparse() {
	x := v.m.Vectors
	v.oneOf("pooling", x.Pooling, PoolingMax)
	if x.Normalise {
		v.fail("normalise", "the weights of a sparse expert are as long as they are")
	}
	if v.m.Delta != "" {
		v.fail("delta", "a sparse expert is no delta: it has to have its graphs")
	}
	if x.QuestionWeights != "" {
		v.file("question_weights", x.QuestionWeights)
	}
	if x.Ensemble != nil || x.Representatives != "" {
		v.fail("ensemble", "a sparse expert has neither an ensemble nor representatives")
	}
}
