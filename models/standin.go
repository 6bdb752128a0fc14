package models

import (
	"fmt"
	"reflect"
)

// LeastAlike is the least cosine between the vectors that a bundle in 8 bits and one of the same weights in full
// precision give a text, or a token of it, for the one to stand in for the other. Those of the shipped base are at
// .996 and above, those of its tokens at .993 and above.
const LeastAlike = 0.98

// StandIn returns the bundle with the fingerprints and the calibration of another one, of: a graph of the same
// weights in another precision, in whose place it is run. What it says of texts is then held to be what of says: an
// index that has of's vectors is asked with it, too. The error says what makes them two different encoders. How near
// the vectors are, LeastAlike, is for the caller to try.
func (b *Bundle) StandIn(of *Bundle) (*Bundle, error) {
	if own, other := b.weights(), of.weights(); own == "" || own != other {
		return nil, fmt.Errorf("%s and %s are of different weights", b.Dir, of.Dir)
	}
	x, y := b.Manifest.withoutPrecision(), of.Manifest.withoutPrecision()
	if !reflect.DeepEqual(x, y) || b.Manifest.Files[b.Manifest.Tokenizer] != of.Manifest.Files[of.Manifest.Tokenizer] {
		return nil, fmt.Errorf(
			"%s and %s are of the same weights, and were imported with different settings, which their %s show", b.Dir,
			of.Dir, ManifestFile,
		)
	}
	out := *b
	out.standsFor = of
	out.Calibration = of.Calibration
	return &out, nil
}

// StandsFor returns the bundle in whose place this one is run; nil: it is run as itself.
func (b *Bundle) StandsFor() *Bundle { return b.standsFor }

// weights names the weights of a bundle; "": they are not known.
func (b *Bundle) weights() string {
	l := &b.Manifest.Lineage
	if l.MergedFrom != "" && b.Manifest.Base != nil {
		return l.MergedFrom + " " + b.Manifest.Base.WeightsSHA256
	}
	return l.SourceSHA256
}

// withoutPrecision returns what a manifest says beside its name, precision, files and lineage.
func (m *Manifest) withoutPrecision() Manifest {
	c := m.Clone()
	c.Name, c.Precision = "", ""
	c.Files = nil
	c.Lineage = Lineage{}
	return c
}
