package models

import (
	"fmt"
	"reflect"
)

// LeastAlike is the least cosine between the vectors that a bundle in 8 bits and one of the same weights in full
// precision give a text, or a token of it, for the one to stand in for the other. Those of the shipped base are at
// .996 and above, those of its tokens at .993 and above.
const LeastAlike = 0.98

// StandIn returns a copy of the bundle with the fingerprints and the calibration of another one, original, in whose
// place it is run: a graph of the same weights in another precision. An index that has original's vectors is then
// asked with the copy's, too. It fails if the two are of different or unknown weights, tokenizers or settings. How
// near the vectors are (LeastAlike) is for the caller to try.
func (b *Bundle) StandIn(original *Bundle) (*Bundle, error) {
	if own, other := b.weights(), original.weights(); own == "" || own != other {
		return nil, fmt.Errorf("%s and %s are of different weights", b.Dir, original.Dir)
	}
	x, y := b.Manifest.withoutPrecision(), original.Manifest.withoutPrecision()
	sameWords := b.Manifest.Files[b.Manifest.Tokenizer] == original.Manifest.Files[original.Manifest.Tokenizer]
	if !reflect.DeepEqual(x, y) || !sameWords {
		return nil, fmt.Errorf(
			"%s and %s are of the same weights, and were imported with different settings, which their %s show", b.Dir,
			original.Dir, ManifestFile,
		)
	}
	out := *b
	out.standsFor = original
	out.Calibration = original.Calibration
	return &out, nil
}

// StandsFor returns the bundle in whose place this one is run (StandIn); nil: it is run as itself.
func (b *Bundle) StandsFor() *Bundle { return b.standsFor }

// weights returns a text that is the same for bundles of the same weights in whichever precision; "": it is not
// known which weights they are.
func (b *Bundle) weights() string {
	l := &b.Manifest.Lineage
	if l.MergedFrom != "" && b.Manifest.Base != nil {
		return l.MergedFrom + " " + b.Manifest.Base.WeightsSHA256
	}
	return l.SourceSHA256
}

// withoutPrecision returns a copy of the manifest with its name, precision, files and lineage empty.
func (m *Manifest) withoutPrecision() Manifest {
	c := m.Clone()
	c.Name, c.Precision = "", ""
	c.Files = nil
	c.Lineage = Lineage{}
	return c
}
