package experts

import (
	"fmt"
	"slices"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// NoBaseError is the error of an expert with a head whose base expert is not loaded.
type NoBaseError struct{ Name, Base string }

// Error names the expert and its base, and what to do.
func (e *NoBaseError) Error() string {
	return fmt.Sprintf(
		"%s needs expert %s, whose question vectors it changes and whose passage vectors it searches: that expert has to be in the collection and among those that are searched",
		e.Name, e.Base,
	)
}

// openHead returns the expert of a bundle that holds a head, which runs on the encoder of its owner. It returns a
// *NoBaseError if the owner is neither in among nor in the set, and an error if their dimensions differ.
func (x *Set) openHead(name string, found encoder.Opening, among []*Expert) (*Expert, error) {
	b := found.Bundle
	m := &b.Manifest
	all := slices.Concat(among, x.Searched, x.Silent)
	at := slices.IndexFunc(all, func(e *Expert) bool {
		if owner := x.owners[name]; owner != "" {
			return e.name == owner
		}
		return IsBaseItself(e.Bundle, m.Base.WeightsSHA256)
	})
	if at < 0 {
		return nil, &NoBaseError{name, m.Base.Name}
	}
	owner := all[at]
	if owner.Dimension() != m.Dimension() {
		return nil, fmt.Errorf(
			"%s changes vectors of %d numbers, and those of %s have %d", name, m.Dimension(), owner.name,
			owner.Dimension(),
		)
	}
	head, err := x.runtime.OpenHead(b)
	if err != nil {
		return nil, err
	}
	return &Expert{name: name, Bundle: b, Encoder: owner.Encoder, head: head, owner: owner}, nil
}

// IsBaseItself reports whether the bundle is the encoder with these weights itself, not one fine-tuned from it.
// weights is the SHA-256 of the encoder's source, in hexadecimal.
func IsBaseItself(b *models.Bundle, weights string) bool {
	m := &b.Manifest
	return m.Base == nil && m.Lineage.MergedFrom == "" && m.Lineage.SourceSHA256 == weights
}

// vectorOwners returns, for each stored expert that searches the vectors of another one, the name of that one.
func vectorOwners(stored []store.Expert) map[string]string {
	out := map[string]string{}
	for _, x := range stored {
		if x.Owner != "" {
			out[x.Name] = x.Owner
		}
	}
	return out
}

// missingOwners returns the stored experts that are not in names but have to be loaded for them: the owners of
// heads among these, each once. A bundle that cannot be read has none. It fails if there is no cache folder.
func missingOwners(config configs.Config, names []string, stored []store.Expert) (more []string, err error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, err
	}
	bundle := func(name string) *models.Bundle {
		dir, err := shipped.Folder(config, cache, name)
		if err != nil {
			return nil // whoever opens it says so
		}
		b, _ := models.Peek(dir)
		return b
	}
	for _, name := range names {
		b := bundle(name)
		if b == nil || b.Manifest.Head == nil {
			continue
		}
		owner := vectorOwners(stored)[name]
		isBase := func(other string) bool {
			o := bundle(other)
			return o != nil && IsBaseItself(o, b.Manifest.Base.WeightsSHA256)
		}
		for _, x := range stored {
			if owner == "" && !slices.ContainsFunc(names, isBase) && isBase(x.Name) {
				owner = x.Name
			}
		}
		if owner != "" && !slices.Contains(names, owner) && !slices.Contains(more, owner) {
			more = append(more, owner)
		}
	}
	return more, nil
}

// closeModel closes the model that this expert alone uses: its head, or its encoder if it has no head. The error is
// that of closing.
func (e *Expert) closeModel() error {
	if e.head != nil {
		return e.head.Close()
	}
	return e.Encoder.Close()
}

// Fingerprints returns what identifies the models that make the expert's vectors, by "question" and "passage". Of an
// expert with a head it also has that of the encoder's run, by learned.FingerprintRun.
func (e *Expert) Fingerprints() map[string]string {
	run := e.Encoder.Fingerprint(models.Question)
	out := map[string]string{"question": run, "passage": e.Fingerprint()}
	if e.head != nil {
		out["question"] = e.head.Fingerprint(run)
		out[learned.FingerprintRun] = run
	}
	return out
}

// encoderManifest returns the manifest of the bundle with the expert's encoder.
func (e *Expert) encoderManifest() *models.Manifest {
	if e.owner != nil {
		return &e.owner.Bundle.Manifest
	}
	return &e.Bundle.Manifest
}

// WithEncoders returns the experts that have encoders of their own: those without a head.
func WithEncoders(all []*Expert) []*Expert {
	return slices.DeleteFunc(slices.Clone(all), func(e *Expert) bool { return e.head != nil })
}
