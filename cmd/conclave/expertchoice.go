package main

import (
	"slices"
	"strings"

	shipped "conclave/experts"
)

// lateExpert is the late interaction that is shipped; beside the base encoder it
// costs no pass.
const lateExpert = "late"

// What --experts takes beside names.
const (
	chooseDefault = "default"
	chooseAll     = "all"
	chooseNone    = "none"
)

// defaultExperts are those of a collection for which nobody names any: what one
// pass over the passages buys.
func defaultExperts() []string { return []string{baseExpert, lateExpert} }

// allExperts are the base encoder and all experts that are shipped.
func allExperts() []string { return append([]string{baseExpert}, shipped.Names()...) }

// chosenExperts are the experts that --experts names, in its order.
func chosenExperts(list string) ([]string, error) {
	if list == "" {
		list = chooseDefault
	}
	if list == chooseNone {
		return nil, nil
	}
	var names []string
	add := func(more ...string) {
		for _, name := range more {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "", chooseNone:
			return nil, usagef("--experts is %q: default, all, none, or names with commas between them", list)
		case chooseDefault:
			add(defaultExperts()...)
		case chooseAll:
			add(allExperts()...)
		default:
			add(name)
		}
	}
	return names, nil
}
