package search

import (
	"maps"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/presenting"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// plan returns the plan of a request, with the defaults filled in and the sources, methods and models chosen. r is not
// changed; the plan shares memory with it. It returns a *fault.Error of kind Invalid that lists every field that is
// wrong.
func (l *lineUp) plan(r *Request) (*plan.Plan, error) {
	var wrong fault.Problems
	d, most := l.defaults, l.limits
	p := &plan.Plan{Named: r.Experts != nil, Weights: r.Weights, Explain: r.Explain, Without: r.Without}
	p.Inquiry.AnyLanguage = p.Named
	if !p.Named {
		p.Absent = l.absent
	}
	if len(r.Collections) > 0 {
		wrong.Add("unknown_value", "/collections", "several collections are searched by one request of its own, "+
			"not as a part of a batch, nor below the name of one")
	}
	p.Inquiry.Filter = r.fullFilter()
	p.Inquiry.Exact = r.Exact
	p.Inquiry.Collapse = r.Collapse == nil || *r.Collapse
	p.Inquiry.Question, p.Inquiry.Before = r.questionAndEarlier(&wrong, most.QuestionBytes)
	p.Inquiry.Prefix = r.Prefix
	p.Inquiry.Correct = r.Correct == nil && d.Correct || r.Correct != nil && *r.Correct
	p.K = wrong.Count("/k", r.K, d.K, most.K)
	p.Offset = r.Offset
	if p.Offset < 0 || p.Offset > 0 && p.Offset+p.K > most.K {
		wrong.Add(
			"out_of_range", "/offset", "offset is %d: it has to be from 0 to %d, which with k is limits.k", p.Offset,
			max(most.K-p.K, 0),
		)
	}
	p.K += p.Offset
	p.Inquiry.Candidates = wrong.Count("/candidates", r.Candidates, d.Candidates, most.Candidates)
	milliseconds := wrong.Count(
		"/timeout_ms", r.TimeoutMS, int(d.Timeout/time.Millisecond), int(most.Timeout/time.Millisecond),
	)
	p.Inquiry.Timeout = time.Duration(milliseconds) * time.Millisecond
	p.Missing = fault.OneOf(&wrong, "/missing", r.Missing, d.Missing, missingValues())
	p.Normalise = fault.OneOf(&wrong, "/normalisation", r.Normalisation, "", fusion.Normalisations())
	p.Sharpness = r.Sharpness
	if !(p.Sharpness >= 0 && p.Sharpness <= fusion.MaxSharpness) {
		wrong.Add(
			"out_of_range", "/sharpness", "sharpness is %v: it has to be from 0 to %g, and 0 is the method's own",
			p.Sharpness, float64(fusion.MaxSharpness),
		)
	}
	p.Weighting = fault.OneOf(&wrong, "/weighting", r.Weighting, "", fusion.Weightings())
	p.Fields = readFields(&wrong, r.Fields)
	p.Around = r.Around
	if p.Around < 0 || p.Around > presenting.MostAround {
		wrong.Add("out_of_range", "/around", "around is %d: it has to be from 0 to %d", p.Around, presenting.MostAround)
	}
	planGroups(p, r, &wrong)
	planFields(p, r, &wrong)
	p.Offsets = fault.OneOf(&wrong, "/offsets", r.Offsets, reply.OffsetBytes, reply.OffsetNames())
	storage.CheckFilter(&wrong, p.Inquiry.Filter)
	p.MinConfidence = r.MinConfidence
	wrong.Between("/min_confidence", r.MinConfidence, 1)
	p.Experts = l.planExperts(r.Experts, &wrong)
	p.Methods = l.planMethods(r.Fusion, &wrong)
	p.Listed = r.Fusion.Listed
	l.checkWeights(r.Weights, &wrong)
	l.planAnswer(r, p, &wrong)
	l.planRerank(r, p, &wrong)
	if len(wrong) == 0 {
		l.checkOptions(r, p.Methods, &wrong)
	}
	p.Inquiry.MostSpecialists, p.Inquiry.ChosenOnly = l.planSpecialists(r, p, &wrong)

	if len(p.Experts) == 0 && !r.wantsWords() && len(wrong) == 0 {
		wrong.Add("no_sources", "/experts", `there is nothing to search: "experts" is empty and "bm25" is false`)
	}
	p.Offer = l.methodOffer(p, r.wantsWords())
	for i, m := range p.Methods {
		l.checkNeeds(m, i, p, &wrong)
		p.Inquiry.Confidence = p.Inquiry.Confidence || m.ReadsConfidence(len(p.Experts))
	}
	if p.Weighting == fusion.ByFamiliarity && len(wrong) == 0 && !l.knowsFamiliarity(p.Experts) {
		wrong.Add(
			"needs_experts", "/weighting",
			"weighting %q needs an expert that was trained on a domain, and none is searched: leave it out",
			p.Weighting,
		)
	}
	l.planSources(r, p)
	if p.MinConfidence > 0 && r.Late != nil && !*r.Late && len(l.panel.Late) > 0 && d.GateWithoutLate != nil &&
		p.WeighsByQuestion() {
		wrong.Add(
			"needs_calibration", "/min_confidence",
			"the confidence of an answer without late interaction is not calibrated, so min_confidence has nothing to be compared with: leave out one of the two",
		)
	}
	return p, wrong.Err()
}

// knowsFamiliarity reports whether the familiarity of a question can be computed for one of these experts (indexes of
// panel.Experts): there is a reference, and the expert has representatives.
func (l *lineUp) knowsFamiliarity(experts []int) bool {
	return l.panel.Reference != nil && slices.ContainsFunc(experts, func(at int) bool {
		return len(l.panel.Experts[at].Model.Representatives) > 0
	})
}

// planSources sets which sources the plan asks: its experts, and the others that one of its methods needs. Experts that
// no method uses are marked as unused, with the reason.
func (l *lineUp) planSources(r *Request, p *plan.Plan) {
	p.Inquiry.Wanted = slices.Clone(p.Experts)
	w := sources.Selection{
		Words:   r.wantsWords(),
		Late:    r.Late == nil || *r.Late,
		Experts: r.Experts == nil || len(*r.Experts) > 0,
		Gate:    l.defaults.Gate,
	}
	for at := len(l.panel.Experts); at < len(l.panel.Sources); at++ {
		if slices.ContainsFunc(p.Methods, func(m plan.Method) bool { return l.panel.Sources[at].TakesPart(&w, m.Method) }) {
			p.Inquiry.Wanted = append(p.Inquiry.Wanted, at)
		}
	}
	for _, at := range p.Experts {
		if reason := l.excludedByAll(p, at); reason != "" {
			if p.Inquiry.Unused == nil {
				p.Inquiry.Unused = map[int]string{}
			}
			p.Inquiry.Unused[at] = reason
		}
	}
}

// planExperts returns the indexes of the experts with these names, ascending, so that the order of the names does not
// matter; nil means all. It adds a problem to wrong for each name that is unknown, repeated or that of late
// interaction.
func (l *lineUp) planExperts(names *[]string, wrong *fault.Problems) []int {
	var experts []int
	if names == nil {
		for i := range l.panel.Experts {
			experts = append(experts, i)
		}
		return experts
	}
	for n, name := range *names {
		pointer := wording.Pointer("/experts", n)
		i := l.expertIndex(name)
		switch {
		case l.panel.LateNamed(name) != nil:
			wrong.Add(
				"unknown_expert",
				pointer,
				`expert %s is late interaction, which ranks what the others found: it takes part in the gate by itself, unless "late" is false`,
				wording.Quote(name),
			)
		case i < 0:
			wrong.Add("unknown_expert", pointer, "there is no expert %s: %s", wording.Quote(name), l.knownExperts())
		case slices.Contains(experts, i):
			wrong.Add("duplicate_expert", pointer, "expert %s is named twice", wording.Quote(name))
		default:
			experts = append(experts, i)
		}
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	slices.Sort(experts)
	return experts
}

// planSpecialists returns how many specialists may count for a question (0: all), and whether only those need to be
// asked. A number in the request decides both. Otherwise the default number counts, and only those are asked if all
// methods weigh sources by question; a request that names experts has no default. It adds a problem to wrong if the
// request's number is out of range.
func (l *lineUp) planSpecialists(r *Request, p *plan.Plan, wrong *fault.Problems) (most int, chosenOnly bool) {
	if r.Specialists != 0 {
		return wrong.Count("/specialists", r.Specialists, 0, fusion.MaxSources), true
	}
	if r.Experts != nil || l.defaults.Specialists == 0 {
		return 0, false
	}
	return l.defaults.Specialists, !slices.ContainsFunc(
		p.Methods, func(m plan.Method) bool { return !m.WeighsByQuestion() },
	)
}

// planMethods returns the methods that a request names, or the default one. It adds a problem to wrong for each name
// that is unknown or repeated, and for an empty list.
func (l *lineUp) planMethods(asked Methods, wrong *fault.Problems) []plan.Method {
	names := asked.Names
	if len(names) == 0 {
		if asked.Listed {
			wrong.Add(
				"unknown_method", "/fusion", "the list of fusion methods is empty: %s are known",
				wording.List(MethodNames()),
			)
			return nil
		}
		names = []string{l.defaults.Fusion}
	}
	var methods []plan.Method
	for i, name := range names {
		pointer := methodPointer(asked.Listed, i)
		switch m := l.method(name); {
		case m == nil:
			wrong.Add(
				"unknown_method", pointer, "there is no fusion method %s: %s are known", wording.Quote(name),
				wording.List(MethodNames()),
			)
		case slices.Contains(names[:i], name):
			wrong.Add("duplicate_method", pointer, "fusion method %s is named twice", wording.Quote(name))
		default:
			methods = append(methods, plan.Method{Asked: name, Method: m})
		}
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	return methods
}

// method returns the method with a name, for "auto" the line-up's default for it; nil if there is none. The method
// belongs to the line-up: do not change it.
func (l *lineUp) method(name string) *fusion.Method {
	if name == MethodAuto {
		name = l.defaults.Auto
	}
	for i := range l.methods {
		if l.methods[i].Name == name {
			return &l.methods[i]
		}
	}
	return nil
}

// methodPointer returns the JSON pointer of the request's method number i: "/fusion/i" if the request lists methods
// (listed), else "/fusion".
func methodPointer(listed bool, i int) string {
	if listed {
		return wording.Pointer("/fusion", i)
	}
	return "/fusion"
}

// checkWeights adds a problem to wrong for each weight that is out of range, of an unknown source, or of a source that
// only the gate weighs.
func (l *lineUp) checkWeights(weights map[string]float64, wrong *fault.Problems) {
	for _, name := range sortedKeys(weights) {
		pointer := wording.Pointer("/weights", name)
		switch w := weights[name]; {
		case l.panel.LateNamed(name) != nil:
			wrong.Add(
				"unknown_source", pointer,
				"%s cannot be weighted: it takes part in the gate alone, which weighs it itself", name,
			)
		case name == reply.PhraseSource || name == reply.NearSource:
			wrong.Add(
				"unknown_source", pointer,
				"the source %s cannot be weighted: it takes part in the gate alone, which weighs it itself", name,
			)
		case !slices.ContainsFunc(l.panel.Sources, func(x sources.Source) bool { return x.Name() == name }):
			wrong.Add(
				"unknown_source", pointer, "there is no source %s to weight: %s, and %s is BM25", wording.Quote(name),
				l.knownExperts(), reply.WordSource,
			)
		case !(w >= 0 && w <= fusion.MaxWeight):
			wrong.Add("out_of_range", pointer, "the weight is %v: it has to be from 0 to %g", w, float64(fusion.MaxWeight))
		}
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
}

// sortedKeys returns the keys of a map in ascending order; nil if it is empty.
func sortedKeys(weights map[string]float64) []string {
	if len(weights) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(weights))
}

// expertIndex returns the index of the expert with a name in panel.Experts; -1 if there is none.
func (l *lineUp) expertIndex(name string) int {
	return slices.IndexFunc(l.panel.Experts, func(x *sources.Dense) bool { return x.Name() == name })
}

// knownExperts returns a clause for messages to users that lists the names of the experts, or says that none are
// loaded.
func (l *lineUp) knownExperts() string {
	if len(l.panel.Experts) == 0 {
		return "no experts are loaded"
	}
	names := make([]string, len(l.panel.Experts))
	for i, x := range l.panel.Experts {
		names[i] = x.Name()
	}
	return "the experts are " + wording.List(names)
}
