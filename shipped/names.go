package shipped

import (
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/models"
)

// Base is the name of the base encoder. Late and DesireMe are the late interaction and
// the DESIRE-ME head that are shipped; beside the base they cost no pass. Reader is the
// name of the shipped reader, which is no expert: it marks answers.
const (
	Base     = "base"
	Late     = "late"
	DesireMe = "desire-me"
	Reader   = "reader"
)

// InFull returns the name of an expert's bundle in full precision; the bundle NAME is in 8 bits.
func InFull(name string) string { return name + "-" + models.PrecisionFP32 }

// What Chosen takes beside names.
const (
	ChooseDefault = "default"
	ChooseAll     = "all"
	ChooseNone    = "none"
)

// Default returns the names of the experts of a collection for which none are named: the base encoder and late
// interaction, which take one pass over the passages together.
func Default() []string { return []string{Base, Late} }

// All returns the names of the base encoder and all shipped experts, the base first, the others in ascending order.
func All() []string { return append([]string{Base}, expertNames()...) }

// Specialists returns the names of the shipped experts that were trained on a domain, in ascending order.
func Specialists() []string {
	return slices.DeleteFunc(expertNames(), func(name string) bool { return name == Late || name == DesireMe })
}

// SameNames reports whether two lists name the same experts, in any order.
func SameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Chosen returns the names of the experts in a list with commas, in its order and each once; "default" and "all" in
// it stand for those experts. It returns nil for "none", and the default experts for "". It fails for an empty name,
// and for "none" among others. It does not check that an expert exists.
func Chosen(list string) ([]string, error) {
	if list == "" {
		list = ChooseDefault
	}
	if list == ChooseNone {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		more := []string{name}
		switch name {
		case "", ChooseNone:
			return nil, fmt.Errorf("%q is not possible: name default, all, none, or experts separated by commas", list)
		case ChooseDefault:
			more = Default()
		case ChooseAll:
			more = All()
		}
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
