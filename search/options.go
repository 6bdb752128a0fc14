package search

import (
	"fmt"
	"slices"
)

// checkOptions refuses what none of the methods asked for would look at, so that
// nobody believes in what does nothing:
//
//	method       weights        normalisation   missing   late
//	muf          -              yes             yes       -
//	muf-sparse   -              -               -         -
//	hybrid       bm25 alone     yes             yes       -
//	sum          yes            yes             yes       -
//	rrf          yes            -               -         -
//	gate         -              -               yes       yes
//
// Of a list of methods one has to look at it. "late": false is no option of a
// method: it leaves late interaction out, as the others do anyway.
func (e *lineUp) checkOptions(r *Request, methods []plannedMethod, wrong *problems) {
	if len(methods) == 0 {
		return // told already
	}
	refuse := func(pointer, what string, takes func(method) bool) {
		if slices.ContainsFunc(methods, func(m plannedMethod) bool { return takes(m.method) }) {
			return
		}
		var names []string
		for _, name := range MethodNames() {
			if name != MethodAuto && takes(methodOf(name)) {
				names = append(names, name)
			}
		}
		asked := fmt.Sprintf("fusion method %q", methods[0].asked)
		switch {
		case len(methods) > 1:
			asked = "none of the fusion methods asked for"
		case methods[0].asked != methods[0].name:
			asked += fmt.Sprintf(", which is %s here,", methods[0].name)
		}
		verb := "does not take"
		if len(methods) > 1 {
			verb = "takes"
		}
		wrong.add("unused_option", pointer, "%s %s %s: it is for %s; leave it out or name one of these in fusion", asked, verb, what, list(names))
	}
	if len(r.Weights) > 0 {
		refuse("/weights", "weights", func(m method) bool { return m.weighs })
		for _, name := range sortedKeys(r.Weights) {
			if _, expert := e.byName[name]; expert && slices.ContainsFunc(methods, func(m plannedMethod) bool { return m.weighs }) {
				refuse("/weights/"+escapePointer(name), "weights of experts", func(m method) bool { return m.weighsAll })
			}
		}
	}
	if r.Normalisation != "" {
		refuse("/normalisation", "a normalisation", func(m method) bool { return m.normalises })
	}
	if r.Missing != "" {
		refuse("/missing", `"missing"`, func(m method) bool { return m.completes })
	}
	if r.Late != nil && *r.Late {
		refuse("/late", "late interaction", func(m method) bool { return m.gated })
	}
}

// leftOut is why none of the methods has a use for an expert; "" where one has.
func (e *lineUp) leftOut(p *plan, expert int) string {
	reason := ""
	for _, m := range p.methods {
		if reason = e.leavesOut(p, m, expert); reason == "" {
			return ""
		}
	}
	return reason
}

// leavesOut is why a method has no use for an expert; "" where it has: one that
// weighs experts by how sure they are goes without those that cannot say.
func (e *lineUp) leavesOut(p *plan, m plannedMethod, expert int) string {
	if !m.asksConfidence(len(p.experts)) || e.experts[expert].calibrated() {
		return ""
	}
	return fmt.Sprintf("%s weights experts by how sure they are, and this one cannot say: it has no ensemble, or nobody calibrated it", m.name)
}

// canAnswer is nil if requests for a fusion method, of all experts and without
// further options, are answered, and else says what is missing.
func (e *lineUp) canAnswer(name string) error {
	_, err := e.plan(&Request{Question: "can it be answered?", Fusion: Methods{Names: []string{name}}})
	return err
}
