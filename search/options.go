package search

import (
	"fmt"
	"slices"

	"conclave/fusion"
)

// MethodAuto stands for the method that calibration found best.
const MethodAuto = "auto"

// MethodNames lists the fusion methods that a request may ask for: those of
// fusion.Methods, and "auto".
func MethodNames() []string { return append([]string{MethodAuto}, fusion.MethodNames(nil)...) }

// checkOptions refuses what none of the methods asked for would look at, so that
// nobody believes in what does nothing. Of a list of methods one has to look at it.
// "late": false is no option of a method: it leaves late interaction out, as the others
// do anyway.
func (l *lineUp) checkOptions(r *Request, methods []plannedMethod, wrong *problems) {
	if len(methods) == 0 {
		return // told already
	}
	refuse := func(pointer, what string, takes func(fusion.Method) bool) {
		if slices.ContainsFunc(methods, func(m plannedMethod) bool { return takes(*m.Method) }) {
			return
		}
		asked, verb := fmt.Sprintf("fusion method %q", methods[0].asked), "does not take"
		switch {
		case len(methods) > 1:
			asked, verb = "none of the fusion methods asked for", "takes"
		case methods[0].asked != methods[0].Name:
			asked += fmt.Sprintf(", which is %s here,", methods[0].Name)
		}
		wrong.add("unused_option", pointer, "%s %s %s: it is for %s; leave it out or name one of these in fusion", asked, verb, what, list(fusion.MethodNames(takes)))
	}
	weighs := func(m fusion.Method) bool { return m.Weighs != fusion.Nobody }
	if len(r.Weights) > 0 {
		refuse("/weights", "weights", weighs)
		for _, name := range sortedKeys(r.Weights) {
			if l.numberOf(name) >= 0 && slices.ContainsFunc(methods, func(m plannedMethod) bool { return weighs(*m.Method) }) {
				refuse("/weights/"+escapePointer(name), "weights of experts", func(m fusion.Method) bool { return m.Weighs == fusion.Everybody })
			}
		}
	}
	if r.Normalisation != "" {
		refuse("/normalisation", "a normalisation", func(m fusion.Method) bool { return m.Normalises })
	}
	if r.Missing != "" {
		refuse("/missing", `"missing"`, func(m fusion.Method) bool { return m.Completes })
	}
	if r.Late != nil && *r.Late {
		refuse("/late", "late interaction", func(m fusion.Method) bool { return m.Gated })
	}
}

// canAnswer is nil if requests for a fusion method, of all experts and without
// further options, are answered, and else says what is missing.
func (l *lineUp) canAnswer(name string) error {
	_, err := l.plan(&Request{Question: "can it be answered?", Fusion: Methods{Names: []string{name}}})
	return err
}

// missings are the ways to complete that a request may ask for.
func missings() []fusion.Missing { return []fusion.Missing{fusion.Exact, fusion.Min} }
