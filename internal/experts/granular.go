package experts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/rank"
	"example.org/conclave/models"
)

// GranularMark stands in the name of an expert between its bundle and its granularity:
// "base@3" has a vector for every three sentences, made by the bundle "base".
const GranularMark = "@"

// GranularName returns the name of a bundle's expert with this granularity: bundle, GranularMark and the granularity,
// or just the bundle for whole passages. It fails if the granularity is invalid.
func GranularName(bundle, granularity string) (string, error) {
	g, err := granules.Parse(granularity)
	if err != nil || g == (granules.Granularity{}) {
		return bundle, err
	}
	return bundle + GranularMark + granularity, nil
}

// SplitName returns the bundle and the granularity in an expert's name; g is nil if the name has none. It fails if the
// granularity is invalid.
func SplitName(name string) (bundle string, g *granules.Granularity, err error) {
	bundle, size, found := strings.Cut(name, GranularMark)
	if !found {
		return name, nil, nil
	}
	parsed, err := granules.Parse(size)
	if err != nil {
		return "", nil, fmt.Errorf("expert %s: %w", name, err)
	}
	return bundle, &parsed, nil
}

// Fingerprint returns the fingerprint of the passage encoder and, if the expert has a granularity, of how it splits
// passages. Experts with equal fingerprints have equal vectors.
func (e *Expert) Fingerprint() string {
	return GranularFingerprint(e.Encoder.Fingerprint(models.Passage), e.Granularity)
}

// GranularFingerprint returns a passage encoder's fingerprint with a granularity added; own itself if g is nil.
func GranularFingerprint(own string, g *granules.Granularity) string {
	if g != nil {
		own += fmt.Sprintf("%s%d:%v", granularFingerprint, granules.Version, *g)
	}
	return own
}

// granularFingerprint stands in a fingerprint between that of the encoder and the granularity.
const granularFingerprint = "+granules-"

// Parts returns the function that splits a passage's text into the parts that get vectors; nil if the whole passage
// gets one.
func (e *Expert) Parts() func(text string) []rank.Span {
	if e.Granularity == nil || e.Granularity.Sentences == 0 && e.Granularity.Tokens == 0 {
		return nil
	}
	return func(text string) []rank.Span { return e.Granularity.Split(text, e.Encoder.WordTokens) }
}

// scaleToUnit scales the vectors of an expert with a granularity to length 1, in place, and returns them. Zero vectors
// stay. A long part then counts no more than a short one (Yang et al., 2022, section 3.1). Vectors of other experts are
// returned as they are.
func (e *Expert) scaleToUnit(vectors [][]float32) [][]float32 {
	if e.Granularity == nil || e.Bundle.Manifest.UnitLength() {
		return vectors
	}
	for _, v := range vectors {
		squares := 0.0
		for _, x := range v {
			squares += float64(x) * float64(x)
		}
		if length := float32(math.Sqrt(squares)); length > 0 {
			for i := range v {
				v[i] /= length
			}
		}
	}
	return vectors
}

// granularityIn returns the name of an expert's granularity. For one without, it is granules.Passage if all has an
// expert of the same bundle with a granularity, and "" otherwise.
func (e *Expert) granularityIn(all []*Expert) string {
	if e.Granularity != nil {
		return e.Granularity.String()
	}
	if slices.ContainsFunc(all, func(other *Expert) bool { return other.Granularity != nil && other.bundle == e.bundle }) {
		return granules.Passage
	}
	return ""
}

// CloseUnused closes the model of an expert that the caller has taken out of the set. It does nothing if an expert of
// the set still uses the same encoder, or if the pool shares it. The error is that of closing.
func (x *Set) CloseUnused(removed *Expert) error {
	uses := func(e *Expert) bool { return e.Encoder == removed.Encoder }
	if removed.head == nil && slices.ContainsFunc(slices.Concat(x.Searched, x.Silent), uses) {
		return nil
	}
	return x.closeOne(removed)
}
