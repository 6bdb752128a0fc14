package search

import (
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

// MethodAuto is the name that stands for the method that calibration found best for the collection.
const MethodAuto = "auto"

// MethodNames returns the fusion methods that a request may name: "auto" and those of fusion.Methods.
func MethodNames() []string { return append([]string{MethodAuto}, fusion.MethodNames(nil)...) }

// MethodsWith returns the names of the fusion methods that take an option of a request: "missing", "weights",
// "normalisation" or "sharpness".
func MethodsWith(option string) []string {
	return fusion.MethodNames(takesOption(fusion.Option(option)))
}

// takesOption returns a function that reports whether a method takes an option.
func takesOption(option fusion.Option) func(fusion.Method) bool {
	return func(m fusion.Method) bool { return m.Takes(option) }
}

// checkOptions adds a problem to wrong for each option of a request that none of its methods takes, so that no option
// is ignored silently. "late": false is always allowed: it leaves late interaction out, as methods other than the gate
// do anyway. It adds nothing if methods is empty.
func (l *lineUp) checkOptions(r *Request, methods []plan.Method, wrong *fault.Problems) {
	if len(methods) == 0 {
		return // told already
	}
	taken := func(option fusion.Option) bool {
		return slices.ContainsFunc(methods, func(m plan.Method) bool { return m.Takes(option) })
	}
	refuse := func(pointer, noun string, option fusion.Option) {
		if taken(option) {
			return
		}
		asked := fmt.Sprintf("fusion method %q", methods[0].Asked)
		verb := "does not take"
		switch {
		case len(methods) > 1:
			asked, verb = "none of the fusion methods asked for", "takes"
		case methods[0].Asked != methods[0].Name:
			asked += fmt.Sprintf(", which is %s here,", methods[0].Name)
		}
		wrong.Add(
			"unused_option", pointer, "%s %s %s: it is for %s; leave it out or name one of these in fusion", asked,
			verb, noun, wording.List(fusion.MethodNames(takesOption(option))),
		)
	}
	if len(r.Weights) > 0 {
		refuse("/weights", "weights", fusion.OptionWeights)
		for _, name := range sortedKeys(r.Weights) {
			if l.expertIndex(name) >= 0 && taken(fusion.OptionWeights) {
				refuse(wording.Pointer("/weights", name), "weights of experts", fusion.OptionExpertWeights)
			}
		}
	}
	if r.Normalisation != "" {
		refuse("/normalisation", "a normalisation", fusion.OptionNormalisation)
	}
	if r.Sharpness != 0 {
		refuse("/sharpness", "a sharpness", fusion.OptionSharpness)
	}
	if r.Weighting != "" {
		refuse("/weighting", "a weighting", fusion.OptionWeighting)
	}
	if r.Missing != "" {
		refuse("/missing", `"missing"`, fusion.OptionMissing)
	}
	if r.Late != nil && *r.Late {
		refuse("/late", "late interaction", fusion.OptionLate)
	}
}

// canAnswer returns nil if a request that sets nothing but the fusion method with this name would be accepted,
// otherwise the error of planning it.
func (l *lineUp) canAnswer(name string) error {
	_, err := l.plan(&Request{Question: "can it be answered?", Fusion: Methods{Names: []string{name}}})
	return err
}

// missingValues returns the values that Request.Missing may have.
func missingValues() []fusion.Missing { return []fusion.Missing{fusion.Exact, fusion.Min} }
