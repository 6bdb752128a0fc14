package conditions

import (
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// Types are the types that fields are declared to have.
type Types map[string]Type

// ParseTypes reads types as settings write them.
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

// kindOf returns what values of a type are compared as.
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

// Check returns the error of the first field, in the order of their names, with a value that its type does
// not have: no condition could ever find the passage by it.
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

// quoteValue returns a value as a message shows it.
func quoteValue(value any) string {
	if text, ok := value.(string); ok {
		return wording.Quote(text)
	}
	return wording.Shorten(fmt.Sprint(value))
}

// Unfitting returns the condition of the passages whose field has values, and none of its declared type.
func (t Type) Unfitting(field string) Node {
	within := Node{Op: Within, Field: field, Test: Interval{Kind: t.kindOf(), High: ^uint64(0)}}
	if t.kindOf() == Words {
		within.Test = Interval{Kind: Words}
	}
	return Node{Op: And, Nodes: []Node{{Op: HasField, Field: field}, {Op: Not, Nodes: []Node{within}}}}
}
