package assembly

import (
	"context"
	"fmt"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// Encoders returns an encoder for each stored expert, since every new passage needs vectors of all. It loads those
// that are not searched, adds them to a.Experts.Silent and logs them. For an expert whose bundle cannot be used,
// which it adds to Absent, and for one that searches another expert's vectors, the encoder only returns errors.
func (a *Assembly) Encoders(stored []store.Expert) (encoders []store.PassageEncoder) {
	for _, e := range a.Experts.Searched {
		encoders = append(encoders, e)
	}
	for _, x := range stored {
		if a.Experts.Named(x.Name) != nil {
			continue
		}
		if a.IsAbsent(x.Name) || x.Owner != "" {
			encoders = append(encoders, noEncoder{x})
			continue
		}
		e, err := a.Experts.LoadMore(x.Name)
		if err != nil {
			a.options.Log.Error(
				"passages cannot be written: they need vectors of every expert of the collection", "expert", x.Name,
				"cause", err,
			)
			a.Absent = append(a.Absent, Absent{Name: x.Name, Cause: err, Silent: true})
			encoders = append(encoders, noEncoder{x})
			continue
		}
		a.Experts.Silent = append(a.Experts.Silent, e)
		encoders = append(encoders, e)
		a.options.Log.Warn(
			"expert of the collection is not searched, since experts in the configuration does not name it; what is written is encoded for it all the same",
			"expert", x.Name,
		)
	}
	return encoders
}

// noEncoder stands for the encoder of an expert whose bundle cannot be used, or is not
// needed. Passages that were acknowledged before it was damaged wait until it is mended.
type noEncoder struct{ files store.Expert }

// Name returns the expert's name in the collection's files.
func (n noEncoder) Name() string { return n.files.Name }

// Dimension returns the length of the expert's stored vectors.
func (n noEncoder) Dimension() int { return n.files.Dimension }

// Fingerprint returns the fingerprint of the encoder of the stored vectors.
func (n noEncoder) Fingerprint() string { return n.files.Fingerprint }

// Late reports whether the expert has a vector for each token of a passage.
func (n noEncoder) Late() bool { return n.files.Index.Kind == ann.Late }

// Sparse reports whether the expert is sparse: it gives weights to word pieces in place of a vector.
func (n noEncoder) Sparse() bool { return n.files.Index.Kind == ann.Sparse }

// Parts returns nil if the expert has one vector a passage, and otherwise a function that returns no parts, so that the
// kind of the expert is known though nothing is encoded.
func (n noEncoder) Parts() func(text string) []rank.Span {
	if !n.files.Parts || n.files.Owner != "" {
		return nil
	}
	return func(string) []rank.Span { return nil }
}

// Owner returns the name of the expert whose vectors this one searches; "" if it has its own.
func (n noEncoder) Owner() string { return n.files.Owner }

// EncodePassages always returns an error, which says that the expert's bundle cannot be used.
func (n noEncoder) EncodePassages(context.Context, []corpus.Passage) ([][]float32, error) {
	return nil, fmt.Errorf("the bundle of expert %s cannot be used, so passages have no vectors of it", n.files.Name)
}
