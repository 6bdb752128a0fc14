package server

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/rank"
	"example.org/conclave/models"
	"example.org/conclave/store"
)

// granularMark stands in the name of an expert between its bundle and its granularity:
// "base@3" has a vector for every three sentences, made by the bundle "base".
const granularMark = "@"

// granularName returns the name of a bundle's expert of a granularity: that of the bundle
// itself for whole passages.
func granularName(bundle, granularity string) (string, error) {
	g, err := granules.Parse(granularity)
	if err != nil || g == (granules.Granularity{}) {
		return bundle, err
	}
	return bundle + granularMark + granularity, nil
}

// SplitName returns the bundle of an expert, and its granularity; nil where it has none
// of its own.
func SplitName(name string) (bundle string, g *granules.Granularity, err error) {
	bundle, size, found := strings.Cut(name, granularMark)
	if !found {
		return name, nil, nil
	}
	parsed, err := granules.Parse(size)
	if err != nil {
		return "", nil, fmt.Errorf("expert %s: %w", name, err)
	}
	return bundle, &parsed, nil
}

// checkParts returns an error where an expert has a granularity, which a store may not hold.
func checkParts(at store.Location, names []string) error {
	for _, name := range names {
		if !strings.Contains(name, granularMark) {
			continue
		}
		if err := at.CheckParts(); err != nil {
			return badGranularity("%s has a vector for each part of a passage, and %w", name, err)
		}
	}
	return nil
}

// Fingerprint returns the fingerprint of the passage encoder, with how passages are split
// where the expert has a granularity.
func (e *Expert) Fingerprint() string {
	return GranularFingerprint(e.Encoder.Fingerprint(models.Passage), e.granularity)
}

// GranularFingerprint returns a passage encoder's fingerprint with that of a granularity, where there is one.
func GranularFingerprint(own string, g *granules.Granularity) string {
	if g != nil {
		own += fmt.Sprintf("+granules-%d:%v", granules.Version, *g)
	}
	return own
}

// Parts splits passages into the granules of an expert that has some.
func (e *Expert) Parts() func(text string) []rank.Span {
	if e.granularity == nil || e.granularity.Sentences == 0 && e.granularity.Tokens == 0 {
		return nil
	}
	return func(text string) []rank.Span { return e.granularity.Split(text, e.Encoder.WordTokens) }
}

// unit makes the vectors of an expert with a granularity as long as 1, which the
// encoder may not: a long granule counts no more than a short one (Yang et al., 2022,
// section 3.1).
func (e *Expert) unit(vectors [][]float32) [][]float32 {
	if e.granularity == nil || e.Bundle.Manifest.UnitLength() {
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

// granularityIn returns an expert's granularity among others: of one without, that of whole
// passages, if another expert has parts of passages by the same bundle.
func (e *Expert) granularityIn(all []*Expert) string {
	if e.granularity != nil {
		return e.granularity.String()
	}
	if slices.ContainsFunc(all, func(other *Expert) bool { return other.granularity != nil && other.bundle == e.bundle }) {
		return granules.Passage
	}
	return ""
}

// closeUnused closes the encoder of an expert that left, unless another expert uses it.
func (x *Experts) closeUnused(removed *Expert) error {
	if removed.head == nil &&
		slices.ContainsFunc(slices.Concat(x.opened, x.silent), func(e *Expert) bool { return e.Encoder == removed.Encoder }) {
		return nil
	}
	return removed.close()
}
