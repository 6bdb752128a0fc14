package indexing

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/store"
)

// FieldFound describes a field of the metadata of the passages that were read.
type FieldFound struct {
	// Type is declared, or else what most of the values are.
	Type     conditions.Type `json:"type"`
	Passages int64           `json:"passages"` // with the field
	// Others is how many passages have a value that is none of the type, of which Example is the first, of Passage.
	Others  int64  `json:"others,omitempty"`
	Example string `json:"example,omitempty"`
	Passage string `json:"passage,omitempty"`
}

// mostFields is the largest number of fields that are described.
const mostFields = 256

// fieldTypes is a stream that checks the passages' values against the declared types of their fields, and counts which
// fields there are.
type fieldTypes struct {
	store.Stream
	types conditions.Types
	found map[string]*fieldValues
}

// fieldValues counts the passages with a field by the type of their values.
type fieldValues struct {
	passages int64
	byType   map[conditions.Type]*ofType
}

// ofType counts the passages whose value is of a type, and has the first one whose value is not.
type ofType struct {
	passages         int64
	example, passage string
}

// typedBy returns the stream source with the types that the collection declares: by o.Settings if set, else by the
// settings of the existing collection. It fails if these cannot be read.
func typedBy(ctx context.Context, at store.Location, source store.Stream, o store.BuildOptions) (*fieldTypes, error) {
	settings, err := settingsOf(ctx, at, o.Settings)
	if err != nil {
		return nil, err
	}
	types, err := conditions.ParseTypes(settings.Fields)
	return &fieldTypes{Stream: source, types: types, found: map[string]*fieldValues{}}, err
}

// settingsOf returns the settings in a text; of nil, those of the existing collection. It fails if these cannot be read
// or parsed.
func settingsOf(ctx context.Context, at store.Location, text []byte) (collections.Settings, error) {
	if text == nil {
		var err error
		text, err = at.Settings(ctx)
		if err != nil {
			return collections.Settings{}, err
		}
	}
	settings, _, err := collections.Parse(text)
	if err != nil {
		return settings, fmt.Errorf("the settings of the collection: %w", err)
	}
	return settings, nil
}

// Next returns the next passage, and counts the fields of one that belongs to no document. The error is a
// recoverable *corpus.ReadError if a value does not fit the declared type of its field, or that of the stream.
func (t *fieldTypes) Next() (corpus.Passage, error) {
	p, err := t.Stream.Next()
	if err != nil {
		return p, err
	}
	if wrong := t.types.Check(p.Metadata); wrong != nil {
		return corpus.Passage{}, &corpus.ReadError{Place: t.Place(), Recoverable: true, Err: wrong}
	}
	_, document := p.Metadata[corpus.DocumentKey]
	if !document && p.Metadata != nil { // whose fields are known
		t.countValues(&p)
	}
	return p, nil
}

// countValues counts, for each metadata field of a passage, one more passage with the field and with each type that the
// value fits. Of a type that it does not fit, the first such value is kept as an example. Once mostFields fields are
// known, it ignores new ones.
func (t *fieldTypes) countValues(p *corpus.Passage) {
	for field, value := range p.Metadata {
		f := t.found[field]
		if f == nil {
			if len(t.found) == mostFields {
				continue
			}
			f = &fieldValues{byType: map[conditions.Type]*ofType{}}
			for _, kind := range []conditions.Type{conditions.Keyword, conditions.Numeric, conditions.Date, conditions.Boolean} {
				f.byType[kind] = &ofType{}
			}
			t.found[field] = f
		}
		f.passages++
		for kind, n := range f.byType {
			if (conditions.Types{field: kind}).Check(map[string]any{field: value}) == nil {
				n.passages++
			} else if n.passage == "" {
				n.passage = p.ID
				n.example = wording.Shorten(fmt.Sprint(value))
			}
		}
	}
}

// fieldsFound returns the description of each field by its name; nil if there are none. A field without a declared
// type gets the type that more than half of its values have: numbers, dates and booleans before texts.
func (t *fieldTypes) fieldsFound() map[string]FieldFound {
	if len(t.found) == 0 {
		return nil
	}
	out := map[string]FieldFound{}
	for _, field := range slices.Sorted(maps.Keys(t.found)) {
		f := t.found[field]
		best, declared := t.types[field]
		if !declared {
			best = conditions.Keyword
			for _, kind := range []conditions.Type{conditions.Numeric, conditions.Date, conditions.Boolean} {
				if 2*f.byType[kind].passages > f.passages {
					best = kind
				}
			}
		}
		n := f.byType[best]
		found := FieldFound{Type: best, Passages: f.passages, Others: f.passages - n.passages}
		if found.Others > 0 {
			found.Example, found.Passage = n.example, n.passage
		}
		out[field] = found
	}
	return out
}
