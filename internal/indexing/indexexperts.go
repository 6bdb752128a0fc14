package indexing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/internal/experts"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// The parts of Options that an ExpertChoiceError names.
const (
	ChoiceOfExperts     = "experts"
	ChoiceOfGranularity = "granularity"
)

// ExpertChoiceError is the error of experts or granularities with which a collection cannot be indexed.
type ExpertChoiceError struct {
	Of    string // ChoiceOfExperts or ChoiceOfGranularity
	Cause error
}

// Error returns the text of the cause.
func (e *ExpertChoiceError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ExpertChoiceError) Unwrap() error { return e.Cause }

// badExperts returns an *ExpertChoiceError about the experts, with a formatted cause.
func badExperts(format string, args ...any) error {
	return &ExpertChoiceError{ChoiceOfExperts, fmt.Errorf(format, args...)}
}

// badGranularity returns an *ExpertChoiceError about a granularity, with a formatted cause.
func badGranularity(format string, args ...any) error {
	return &ExpertChoiceError{ChoiceOfGranularity, fmt.Errorf(format, args...)}
}

// expertNames returns the names of the experts that have to encode: those of a new collection; those of the
// collection, if passages are added; or those that the collection is to get. stored are the collection's experts,
// nil if there is no collection. It fails with an *ExpertChoiceError for a choice that is not possible, and with a
// *folder.Error if vectors are to be added and there is no collection.
func (o *Options) expertNames(stored []store.Expert) ([]string, error) {
	var names []string
	for _, e := range stored {
		names = append(names, e.Name)
	}
	isNew := stored == nil
	if isNew && len(o.Inputs) == 0 {
		dir := o.Config.Collection
		return nil, &folder.Error{
			Fault: folder.ErrNotCollection,
			Dir:   dir,
			Err:   fmt.Errorf("there is no collection in %s that could get more vectors", dir),
		}
	}
	if o.Add != "" {
		return []string{o.Add}, nil
	}
	asked, err := shipped.Chosen(o.Experts)
	switch {
	case err != nil:
		return nil, &ExpertChoiceError{ChoiceOfExperts, err}
	case len(o.Granularities) > 0:
		return o.granularNames(stored, asked)
	case isNew:
		return asked, nil
	case o.Experts != "" && !shipped.SameNames(asked, names):
		return nil, badExperts(
			"%q is not what the collection has (%s): passages that are added are encoded by its experts", o.Experts,
			strings.Join(names, ","),
		)
	}
	return names, nil
}

// granularNames returns the names of the experts that o.Granularities add, of the bundle of the first expert that
// finds passages. In a new collection, asked, the other experts, are included; in an existing one, those that it
// has are left out. It fails with an *ExpertChoiceError if passages are added to an existing collection, if there
// is no such expert or nothing is left to add.
func (o *Options) granularNames(stored []store.Expert, asked []string) (names []string, err error) {
	bundle := ""
	if stored == nil {
		names = asked
		if len(asked) > 0 {
			bundle = asked[0]
		}
	} else if len(o.Inputs) > 0 {
		return nil, badGranularity(
			"granularities cannot be added with passages, which get vectors of all experts: add them before or after",
		)
	}
	has := map[string]bool{}
	for _, e := range stored {
		has[e.Name] = true
		if bundle == "" && e.Index.Kind != reply.KindLate {
			bundle = e.Name
		}
	}
	bundle, _, _ = strings.Cut(bundle, experts.GranularMark)
	if bundle == "" {
		return nil, &ExpertChoiceError{
			ChoiceOfGranularity,
			errors.New("there is no expert that could encode the parts of passages"),
		}
	}
	for _, g := range o.Granularities {
		name, err := experts.GranularName(bundle, g)
		if err != nil {
			return nil, &ExpertChoiceError{ChoiceOfGranularity, err}
		}
		if !has[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, badGranularity("%s has %s", o.Config.Collection, strings.Join(o.Granularities, ", "))
	}
	return names, nil
}

// checkParts returns an *ExpertChoiceError if one of the experts has a vector for each part of a passage and the store
// cannot hold these.
func checkParts(at store.Location, names []string) error {
	for _, name := range names {
		if !strings.Contains(name, experts.GranularMark) {
			continue
		}
		if err := at.CheckParts(); err != nil {
			return badGranularity("%s has a vector for each part of a passage, and %w", name, err)
		}
	}
	return nil
}
