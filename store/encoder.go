package store

import (
	"context"
	"fmt"
	"regexp"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// Encoder is what distinguishes a passage encoder from another.
type Encoder interface {
	Name() string
	Dimension() int
	Fingerprint() string
}

// MaxDimension is the greatest dimension that an encoder or a manifest may state.
const MaxDimension = 1 << 16

// PassageEncoder turns passages into the vectors of one expert. The vectors
// are in the order of the passages and have Dimension numbers each. Its
// Fingerprint covers everything that decides a vector.
//
// A Late one gives a passage a vector for each token (late interaction): its
// vectors are lists of them, of a multiple of Dimension numbers, and its index is of
// the kind that compares such lists (ann.Late), whatever Index says.
type PassageEncoder interface {
	Name() string
	Dimension() int
	Fingerprint() string
	Late() bool
	// Parts cuts the text of a passage into parts that get a vector each; nil: a
	// passage has one vector. Parts begin and end between characters and may
	// overlap. Without any, the whole text is one.
	Parts() func(text string) []rank.Span
	// Owner is the expert whose vectors are this one's too; "": it has its own.
	Owner() string
	EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error)
}

// checkEncoder returns an error for an encoder whose name no expert can have, whose dimension is out of bounds or that
// has no fingerprint.
func checkEncoder(x Encoder) error {
	name := x.Name()
	if err := CheckExpertName(name); err != nil {
		return err
	}
	switch {
	case x.Dimension() < 1 || x.Dimension() > MaxDimension:
		return fmt.Errorf("expert %q has vectors of %d numbers; allowed are 1 to %d", name, x.Dimension(), MaxDimension)
	case x.Fingerprint() == "":
		return fmt.Errorf("expert %q has no fingerprint", name)
	}
	return nil
}

// ExpertNames matches the names that an expert can have.
var ExpertNames = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}(@[a-z0-9-]{1,31})?$`)

// CheckExpertName returns an error for a name that no expert can have: one of a word index (bm25, phrases), or one
// that ExpertNames does not match.
func CheckExpertName(name string) error {
	switch {
	case name == "bm25", name == "phrases":
		return fmt.Errorf("an expert cannot be called %q: that is the name of a word index", name)
	case !ExpertNames.MatchString(name):
		return fmt.Errorf(
			"%q is no name for an expert: lower-case letters, digits, - and _, beginning with a letter or digit, 64 at most, and for a granularity @ and its size, as in base@3",
			name,
		)
	}
	return nil
}

// Continuing is a PassageEncoder that may have another Fingerprint each time that it is opened, such as a model behind
// an HTTP interface.
type Continuing interface {
	// Continues reports whether vectors made with this fingerprint are this encoder's, too.
	Continues(fingerprint string) bool
}

// SharedPass is two experts whose vectors one run of an encoder makes: a late one
// and its base. Encode gives the vectors of both, in the order of the passages.
type SharedPass struct {
	Late, Dense PassageEncoder
	Encode      func(ctx context.Context, passages []corpus.Passage) (late, dense [][]float32, err error)
}
