package search

import (
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

// methodOffer returns what the plan's experts and the line-up's calibration offer to a method. words says whether BM25
// takes part.
func (l *lineUp) methodOffer(p *plan.Plan, words bool) fusion.Offer {
	d := &l.defaults
	other := func(at int) bool { return !l.panel.Experts[at].Granular }
	o := fusion.Offer{
		Words:       words,
		Named:       p.Named,
		Gate:        d.Gate != nil,
		Chances:     d.Chances != nil,
		Surest:      d.CCE.Temperature > 0 && p.Sharpness == 0 && (!p.Named || !slices.ContainsFunc(p.Experts, other)),
		Temperature: true,
	}
	for _, at := range p.Experts {
		o.Experts = append(o.Experts, l.panel.Experts[at].Ability())
	}
	return o
}

// leastAUROC is the least ConfidenceAUROC of a method at which min_confidence is allowed; 0.5 is chance.
const leastAUROC = .6

// checkNeeds adds a problem to wrong for each thing that method m needs and the plan's offer lacks, and if the request
// sets min_confidence and the method's confidence is no use for that (checkConfidence). i is the index of m in the
// request's list of methods.
func (l *lineUp) checkNeeds(m plan.Method, i int, p *plan.Plan, wrong *fault.Problems) {
	pointer := methodPointer(p.Listed, i)
	for _, lack := range m.Lacks(p.Offer) {
		switch {
		case lack == fusion.LacksWords:
			wrong.Add("needs_bm25", pointer, `fusion method %q needs BM25, and "bm25" is false`, m.Asked)
		case lack == fusion.LacksExperts && len(*wrong) == 0:
			wrong.Add("needs_experts", pointer, "fusion method %q needs at least one expert, and none is searched", m.Asked)
		case lack == fusion.LacksGranularities && len(p.Experts) > 0:
			wrong.Add(
				"needs_experts", pointer,
				"fusion method %q needs experts that have vectors of parts of passages, and there are none: name the experts among which it is to choose",
				m.Asked,
			)
		case lack == fusion.LacksGate:
			wrong.Add(
				"needs_calibration", pointer,
				"fusion method %q needs what is fitted when a collection is calibrated, and this one is not: use %s or %s",
				m.Asked, fusion.MethodRRF, fusion.MethodSum,
			)
		case lack == fusion.LacksConfidences:
			var without []string
			ensembles := false
			for _, at := range p.Experts {
				without = append(without, l.panel.Experts[at].Name())
				ensembles = ensembles || l.panel.Experts[at].Model.HasEnsemble()
			}
			if !ensembles {
				wrong.Add(
					"needs_experts",
					pointer,
					`fusion method %q weights experts by how far the members of their ensembles agree, and none of these has an ensemble: %s. Calibrating cannot help: add a specialist that has one to the collection, or use %s or %s`,
					m.Asked,
					wording.List(without),
					fusion.MethodGate,
					fusion.MethodRRF,
				)
				continue
			}
			wrong.Add(
				"needs_calibration",
				pointer,
				`fusion method %q weights experts by how sure they are, which needs an ensemble and a calibration; without: %s. Calibrate them, name only others in "experts", or use %s or %s`,
				m.Asked,
				wording.List(without),
				fusion.MethodRRF,
				fusion.MethodSum,
			)
		}
	}
	if p.MinConfidence > 0 {
		l.checkConfidence(m, p, wrong)
	}
}

// checkConfidence adds a problem to wrong if the confidence of a method is not calibrated, or hardly distinguishes
// right from wrong answers, so that min_confidence would be meaningless.
func (l *lineUp) checkConfidence(m plan.Method, p *plan.Plan, wrong *fault.Problems) {
	if !m.Confident(p.Offer) {
		wrong.Add(
			"needs_calibration", "/min_confidence",
			"the confidence of fusion method %q is not calibrated on this collection, so min_confidence has nothing to be compared with: leave it out, or have the collection calibrated",
			m.Asked,
		)
	}
	if area, known := l.defaults.ConfidenceAUROC[m.Name]; known && area < leastAUROC {
		wrong.Add(
			"uninformative_confidence", "/min_confidence",
			"the confidence of fusion method %q hardly tells right answers from wrong ones: on the questions that the collection was calibrated on, a right one has the higher of the two %.0f times in 100, and %g are needed. Leave min_confidence out, or use %s",
			m.Asked, 100*area, 100*leastAUROC, fusion.MethodGate,
		)
	}
}

// excludedByAll returns why no method of the plan uses an expert, as a sentence for users (the last method's reason);
// "" if one does or the plan has no methods. expert is an index of Sources.
func (l *lineUp) excludedByAll(p *plan.Plan, expert int) string {
	reason := ""
	for _, m := range p.Methods {
		reason = l.panel.ExclusionReason(p.Offer, m.Method, expert)
		if reason == "" {
			return ""
		}
	}
	return reason
}
