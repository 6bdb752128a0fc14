package conditions

import (
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// Types has the declared types of fields, by the fields' names.
type Types map[string]Type

// ParseTypes returns the types that settings declare; nil if there are none. It fails for a type that does not exist
// and for a name that is empty or too long.
func ParseTypes(written map[string]string) (Types, error) {
	if len(written) == 0 {
		return nil, nil
	}
	out := Types{}
	for _, field := range slices.Sorted(maps.Keys(written)) {
		if field == "" || len(field) > MaxFieldBytes {
			return nil, fmt.Errorf("fields: the name of a field has %d bytes, and has to have 1 to %d", len(field), MaxFieldBytes)
		}
		switch t := Type(written[field]); t {
		case Keyword, Numeric, Date, Boolean:
			out[field] = t
		default:
			return nil, fmt.Errorf("fields: the type of %q is %q, and has to be one of keyword, number, date, bool", field, t)
		}
	}
	return out, nil
}

// kindOf returns the kind that values of a type are compared as.
func (t Type) kindOf() Kind {
	switch t {
	case Numeric:
		return Numbers
	case Date:
		return Dates
	case Boolean:
		return Bools
	}
	return Words
}

// Check returns the error of the first field, by name, whose value does not have its declared type, so that no
// condition could find the passage by it; nil if all fit. Fields without a declared type are not checked, and
// neither are values that no condition compares, such as null.
func (t Types) Check(metadata map[string]any) *corpus.FieldError {
	if len(t) == 0 || len(metadata) == 0 {
		return nil
	}
	has := map[string][]Kind{}
	Each(metadata, func(d Datum) { has[d.Field] = append(has[d.Field], d.Kind) })
	for _, field := range slices.Sorted(maps.Keys(has)) {
		declared, ok := t[field]
		if !ok || slices.Contains(has[field], declared.kindOf()) {
			continue
		}
		how := howToWrite(declared)
		if declared == Keyword && has[field][0] == Long {
			how = fmt.Sprintf("write at most %d bytes", MaxWordBytes)
		}
		return &corpus.FieldError{
			Field: "metadata." + field, Value: quoteValue(metadata[field]),
			Problem: fmt.Sprintf("does not fit the field, which is declared as %s: %s", declared, how),
		}
	}
	return nil
}

// quoteValue returns a value as messages show it: a text in quotes, and shortened if it is long.
func quoteValue(value any) string {
	if text, ok := value.(string); ok {
		return wording.Quote(text)
	}
	return wording.Shorten(fmt.Sprint(value))
}

// Unfitting returns the condition of the passages that have values in a field, none of which is of type t.
func (t Type) Unfitting(field string) Node {
	within := Node{Op: Within, Field: field, Test: Interval{Kind: t.kindOf(), High: ^uint64(0)}}
	if t.kindOf() == Words {
		within.Test = Interval{Kind: Words}
	}
	return Node{Op: And, Nodes: []Node{{Op: HasField, Field: field}, {Op: Not, Nodes: []Node{within}}}}
}
