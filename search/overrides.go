package search

import (
	"slices"
	"strings"

	"example.org/conclave/internal/normalise"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/storage"
)

// CollectionOverride is an entry of the settings of a collection. Collection is the collection's name if several are
// searched as one, otherwise "".
type CollectionOverride struct {
	ask.Override
	Collection string
}

// overrides finds the entries that are for a question. The zero value has none.
type overrides struct {
	entries    []CollectionOverride
	byQuestion map[string][]int // numbers of entries, by a folded question
	byPhrase   map[string][]int // numbers of entries, by a folded phrase with a space at both ends
}

// newOverrides returns the entries, in their order.
func newOverrides(entries []CollectionOverride) overrides {
	o := overrides{entries: entries, byQuestion: map[string][]int{}, byPhrase: map[string][]int{}}
	for i, x := range entries {
		for _, q := range x.Questions {
			key := normalise.Fold(q)
			o.byQuestion[key] = append(o.byQuestion[key], i)
		}
		for _, phrase := range x.Contains {
			key := " " + normalise.Fold(phrase) + " "
			o.byPhrase[key] = append(o.byPhrase[key], i)
		}
	}
	return o
}

// of returns the entries that are for one of the questions, in their order. It returns nil if there are none.
func (o *overrides) of(questions ...string) (out []CollectionOverride) {
	if len(o.entries) == 0 {
		return nil
	}
	var numbers []int
	for _, question := range questions {
		key := normalise.Fold(question)
		if key == "" {
			continue
		}
		numbers = append(numbers, o.byQuestion[key]...)
		for phrase, some := range o.byPhrase {
			if strings.Contains(" "+key+" ", phrase) {
				numbers = append(numbers, some...)
			}
		}
	}
	slices.Sort(numbers)
	for _, i := range slices.Compact(numbers) {
		out = append(out, o.entries[i])
	}
	return out
}

// override adds to the plan what administrators decided for its question: passages to pin, and to hide by the filter.
// The question is the last message as it was sent, or as a generator wrote it. It changes nothing if there is no entry
// for it. Of each kind the first ask.MostPinned ids count.
func (l *lineUp) override(p *plan.Plan) {
	for _, x := range l.overrides.of(p.Inquiry.Message, p.Inquiry.Question) {
		for _, id := range x.Pin {
			p.Pins = appendNew(p.Pins, storage.Reference{Collection: x.Collection, ID: id})
		}
		for _, id := range x.Hide {
			p.Inquiry.Filter.Hidden = appendNew(p.Inquiry.Filter.Hidden, storage.Reference{Collection: x.Collection, ID: id})
		}
	}
}

// appendNew returns list with one more reference, unless it has it already or has ask.MostPinned.
func appendNew(list []storage.Reference, one storage.Reference) []storage.Reference {
	if len(list) >= ask.MostPinned || slices.Contains(list, one) {
		return list
	}
	return append(list, one)
}
