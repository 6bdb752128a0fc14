package models

// A late expert (Khattab & Zaharia 2020, "ColBERT") gives a text one vector
// for each of its tokens. A passage's score is a sum over the question's
// tokens. Each contributes its largest inner product with any token of the
// passage, weighted by the importance of the question's token. Such an expert is trained
// as a head on a base, so it travels as a delta that brings the head's tensors
// and may change the base's like any other.

// The lengths that a token's vector may have. The comparison takes four numbers at
// a time.
const (
	lateStep    = 4
	lateLongest = 256
)

func (m *Manifest) validateLate(fail func(key, format string, a ...any)) {
	if m.Pooling != PoolingTokens {
		fail("pooling", "%q; a late expert's is %q", m.Pooling, PoolingTokens)
	}
	if !m.Normalise {
		fail("normalise", "false; the tokens' vectors of a late expert have unit length")
	}
	if m.Dimension > lateLongest || m.Dimension%lateStep != 0 {
		fail("dimension", "%d; that of a late expert is a multiple of %d and at most %d", m.Dimension, lateStep, lateLongest)
	}
	if m.Ensemble != nil {
		fail("ensemble", "a late expert has none: members are made of one vector a text")
	}
	if m.Representatives != "" {
		fail("representatives", "a late expert has none")
	}
}
