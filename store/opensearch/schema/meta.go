package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Meta is what conclave keeps under _meta of an index's mapping.
type Meta struct {
	// Manifest says what the index is; nil until all passages are there.
	Manifest *Manifest `json:"manifest,omitempty"`
	// Plan is what is being made of it: passages are written by it, and it becomes the
	// manifest when all of them are. Nil: nothing is being made.
	Plan *Manifest `json:"plan,omitempty"`
	// Filling says what an index that is being filled by several processes gets when all of them have
	// ended.
	Filling *Filling `json:"filling,omitempty"`
}

// Current returns the manifest by which passages are written: the plan if there is one, else the manifest.
func (about *Meta) Current() *Manifest {
	if about.Plan != nil {
		return about.Plan
	}
	return about.Manifest
}

// Remove takes an expert out of the manifest, and drops the plan; of an expert that is still being added it drops the
// plan alone. index is for messages. It fails, and changes nothing, if there is no such expert, or another one needs
// its vectors.
func (about *Meta) Remove(index, name string) error {
	if about.Plan != nil {
		_, planned := about.Plan.Expert(name)
		_, has := about.Manifest.Expert(name)
		if planned && !has {
			about.Plan = nil
			return nil
		}
	}
	left := *about.Manifest
	left.Experts = slices.DeleteFunc(slices.Clone(left.Experts), func(x Expert) bool { return x.Name == name })
	if len(left.Experts) == len(about.Manifest.Experts) {
		return fmt.Errorf("index %s has no expert %q (it has: %v)", index, name, ExpertNames(left.Experts))
	}
	if err := left.Check(); err != nil { // somebody searches its vectors
		return fmt.Errorf("without %s: %w", name, err)
	}
	*about = Meta{Manifest: &left}
	return nil
}

// ParseMeta decodes what conclave keeps under _meta of a mapping. It returns a *FormatError if a manifest or plan there
// has another format, whatever else is in it, and an error if there is neither.
func ParseMeta(data []byte) (*Meta, error) {
	var formats struct {
		Manifest, Plan *struct{ Format int }
	}
	if err := json.Unmarshal(data, &formats); err != nil {
		return nil, err
	}
	if formats.Manifest == nil && formats.Plan == nil {
		return nil, errors.New("it has no manifest")
	}
	for _, described := range []*struct{ Format int }{formats.Manifest, formats.Plan} {
		if described != nil && described.Format != Format {
			return nil, &FormatError{described.Format, Format}
		}
	}
	var about Meta
	if err := decodeStrictly(data, &about); err != nil {
		return nil, err
	}
	return &about, nil
}

// Filling is what an index gets when all processes that fill it have ended; until then it has no copies and no
// refreshes.
type Filling struct {
	Replicas int `json:"replicas"` // that it gets then
}

// ErrUnfinished is the error of an index without a manifest: its first indexing has not ended.
var ErrUnfinished = errors.New("its indexing has not ended: run it again, and it goes on where it was")

// decodeStrictly decodes one JSON value. It fails for a name that the type does not have, and if something follows the
// value.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows its end")
	}
	return nil
}
