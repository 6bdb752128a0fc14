package search

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"conclave/fusion"
)

// plan is a request after validation: every default filled in, every name
// resolved.
type plan struct {
	question      string
	offset        int // results before the first that is answered
	k             int // results, those before the first too
	candidates    int
	timeout       time.Duration
	experts       []int          // into Engine.experts, ascending
	unused        map[int]string // of these, those that no method has a use for, and why
	words         bool           // BM25 is asked
	phrases       bool           // so is BM25 over phrases, where the collection has them
	late          bool           // late interaction ranks what the others found
	exact         bool
	methods       []plannedMethod
	listed        bool // a list of methods was asked for
	specialists   int  // that a gate weighs; 0: all
	named         bool // the request says which experts
	chosenOnly    bool // no method needs more specialists than those
	confidence    bool // a method needs to know how sure the experts are
	missing       fusion.Missing
	normalise     fusion.Normalisation // "": the method's own
	weights       map[string]float64
	explain       bool
	fields        fields
	filter        Filter
	minConfidence float64
	reference     []float32 // the question's vector by the reference, where it is there already
}

// The plan's sources are its experts, BM25, phrases, which never are alone, and
// late interaction: of these last three the ones that are asked. Where they are
// among the sources is -1 for one that is not.
func (p *plan) wordsAt() int   { return p.placed(p.words, 0) }
func (p *plan) phrasesAt() int { return p.placed(p.phrases, 1) }
func (p *plan) lateAt() int    { return p.placed(p.late, p.lexical()) }

func (p *plan) placed(asked bool, behind int) int {
	if !asked {
		return -1
	}
	return len(p.experts) + behind
}

// lexical is how many sources search words.
func (p *plan) lexical() int {
	n := 0
	for _, asked := range []bool{p.words, p.phrases} {
		if asked {
			n++
		}
	}
	return n
}

func (p *plan) sources() int {
	n := len(p.experts) + p.lexical()
	if p.late {
		n++
	}
	return n
}

type plannedMethod struct {
	asked string // as in the request
	name  string // what it means: "auto" is resolved
	method
}

// fields are what an answer carries beside ids and scores.
type fields struct{ title, text, tags, metadata, contributions, sources bool }

// plan checks a request and fills in the defaults. Its error names every
// field that is wrong, not just the first.
func (e *lineUp) plan(r *Request) (*plan, error) {
	var wrong problems
	d, l := e.defaults, e.limits
	p := &plan{question: r.Question, exact: r.Exact, named: r.Experts != nil, weights: r.Weights, explain: r.Explain}
	wrong.question(r.Question, l.QuestionBytes)
	p.k = wrong.count("/k", r.K, d.K, l.K)
	if p.offset = r.Offset; p.offset < 0 || p.offset > 0 && p.offset+p.k > l.K {
		wrong.add("out_of_range", "/offset", "offset is %d: it must be from 0 to %d, which with k is limits.k", p.offset, max(l.K-p.k, 0))
	}
	p.k += p.offset
	p.candidates = wrong.count("/candidates", r.Candidates, d.Candidates, l.Candidates)
	milliseconds := wrong.count("/timeout_ms", r.TimeoutMS, int(d.Timeout/time.Millisecond), int(l.Timeout/time.Millisecond))
	p.timeout = time.Duration(milliseconds) * time.Millisecond
	p.missing = fusion.Missing(wrong.oneOf("/missing", r.Missing, d.Missing, missingNames()))
	p.normalise = fusion.Normalisation(wrong.oneOf("/normalisation", r.Normalisation, "", normalisationNames()))
	p.fields = wrong.fields(r.Fields)
	p.filter = r.Filter
	wrong.filter(r.Filter, l)
	if p.minConfidence = r.MinConfidence; !(p.minConfidence >= 0 && p.minConfidence <= 1) {
		wrong.add("out_of_range", "/min_confidence", "min_confidence is %v: it must be from 0 to 1", r.MinConfidence)
	}
	p.experts = e.planExperts(r.Experts, &wrong)
	p.methods, p.listed = e.planMethods(r.Fusion, &wrong), r.Fusion.Listed
	e.checkWeights(r.Weights, &wrong)
	if len(wrong) == 0 {
		e.checkOptions(r, p.methods, &wrong)
	}
	e.planSpecialists(r, p, &wrong)

	useWords := r.BM25 == nil || *r.BM25
	if len(p.experts) == 0 && !useWords && len(wrong) == 0 {
		wrong.add("no_sources", "/experts", `there is nothing to search: "experts" is empty and "bm25" is false`)
	}
	for i, m := range p.methods {
		pointer := "/fusion"
		if p.listed {
			pointer = fmt.Sprintf("/fusion/%d", i)
		}
		e.checkNeeds(m, pointer, p, useWords, &wrong)
		p.words = p.words || m.words && useWords
		p.phrases = p.phrases || m.gated && useWords && e.defaults.Gate != nil && e.defaults.Gate.Phrases > 0
		// No expert named is words alone.
		p.late = p.late || m.gated && e.late != nil && (r.Late == nil || *r.Late) && (r.Experts == nil || len(p.experts) > 0) && e.defaults.Gate != nil && len(e.defaults.Gate.Late) > 0
		p.confidence = p.confidence || m.gated || m.asksConfidence(len(p.experts))
	}
	for _, i := range p.experts {
		if reason := e.leftOut(p, i); reason != "" {
			if p.unused == nil {
				p.unused = map[int]string{}
			}
			p.unused[i] = reason
		}
	}
	if p.minConfidence > 0 && r.Late != nil && !*r.Late && e.late != nil && e.defaults.GateWithoutLate != nil &&
		slices.ContainsFunc(p.methods, func(m plannedMethod) bool { return m.gated }) {
		wrong.add("needs_calibration", "/min_confidence", "the confidence of an answer without late interaction is not calibrated, so min_confidence has nothing to be compared with: leave out one of the two")
	}
	return p, wrong.err()
}

// planExperts resolves names to indexes, in the engine's own order, so that
// the order of the names never shows in an answer.
func (e *lineUp) planExperts(names *[]string, wrong *problems) []int {
	var experts []int
	if names == nil {
		for i := range e.experts {
			experts = append(experts, i)
		}
		return experts
	}
	for n, name := range *names {
		pointer := fmt.Sprintf("/experts/%d", n)
		i, ok := e.byName[name]
		switch {
		case !ok && e.late != nil && name == e.late.Name:
			wrong.add("unknown_expert", pointer, `expert %s is late interaction, which ranks what the others found: it takes part in the gate by itself, unless "late" is false`, quote(name))
		case !ok:
			wrong.add("unknown_expert", pointer, "there is no expert %s: %s", quote(name), e.knownExperts())
		case slices.Contains(experts, i):
			wrong.add("duplicate_expert", pointer, "expert %s is named twice", quote(name))
		default:
			experts = append(experts, i)
		}
		if len(*wrong) > maxProblems {
			break
		}
	}
	slices.Sort(experts)
	return experts
}

// planSpecialists decides how many specialists count, and whether the others
// need to be asked at all.
func (e *lineUp) planSpecialists(r *Request, p *plan, wrong *problems) {
	if r.Specialists != 0 {
		p.specialists = wrong.count("/specialists", r.Specialists, 0, fusion.MaxSources)
		p.chosenOnly = true
		return
	}
	if r.Experts != nil || e.defaults.Specialists == 0 {
		return
	}
	p.specialists, p.chosenOnly = e.defaults.Specialists, true
	for _, m := range p.methods {
		p.chosenOnly = p.chosenOnly && m.gated
	}
}

func (e *lineUp) planMethods(asked Methods, wrong *problems) []plannedMethod {
	names := asked.Names
	if len(names) == 0 {
		if asked.Listed {
			wrong.add("unknown_method", "/fusion", "the list of fusion methods is empty: %s are known", list(MethodNames()))
			return nil
		}
		names = []string{e.defaults.Fusion}
	}
	var methods []plannedMethod
	for i, name := range names {
		pointer := "/fusion"
		if asked.Listed {
			pointer = fmt.Sprintf("/fusion/%d", i)
		}
		switch {
		case !known(MethodNames(), name):
			wrong.add("unknown_method", pointer, "there is no fusion method %s: %s are known", quote(name), list(MethodNames()))
		case slices.Contains(names[:i], name):
			wrong.add("duplicate_method", pointer, "fusion method %s is named twice", quote(name))
		default:
			m := plannedMethod{asked: name, name: name}
			if name == MethodAuto {
				m.name = e.defaults.Auto
			}
			m.method = methodOf(m.name)
			methods = append(methods, m)
		}
		if len(*wrong) > maxProblems {
			break
		}
	}
	return methods
}

// checkNeeds refuses a method that needs what is not there.
func (e *lineUp) checkNeeds(m plannedMethod, pointer string, p *plan, words bool, wrong *problems) {
	experts := p.experts
	if m.needsWords && !words {
		wrong.add("needs_bm25", pointer, `fusion method %q needs BM25, and "bm25" is false`, m.asked)
	}
	if m.needsDense && len(experts) == 0 && len(*wrong) == 0 {
		wrong.add("needs_experts", pointer, "fusion method %q needs at least one expert, and none is searched", m.asked)
	}
	if m.gated && e.defaults.Gate == nil {
		wrong.add("needs_calibration", pointer, "fusion method %q needs what `conclave calibrate` fits, and this collection has none: use %s or %s",
			m.asked, MethodRRF, MethodSum)
	}
	if sure := m.gated && e.defaults.Chances != nil || m.needsDense && m.confidence && !m.onlyAmong; p.minConfidence > 0 && !sure {
		wrong.add("needs_calibration", "/min_confidence",
			"the confidence of fusion method %q is not calibrated on this collection, so min_confidence has nothing to be compared with: run `conclave calibrate`, or leave it out", m.asked)
	}
	if !m.asksConfidence(len(experts)) {
		return
	}
	var without []string
	for _, i := range experts {
		if !e.experts[i].calibrated() {
			without = append(without, e.experts[i].Name)
		}
	}
	if len(without) == len(experts) && len(experts) > 0 {
		wrong.add("needs_calibration", pointer,
			`fusion method %q weights experts by how sure they are, which needs an ensemble and a calibration; without: %s. Calibrate them, name only others in "experts", or use %s or %s`,
			m.asked, list(without), MethodRRF, MethodSum)
	}
}

func (e *lineUp) checkWeights(weights map[string]float64, wrong *problems) {
	for _, name := range sortedKeys(weights) {
		pointer := "/weights/" + escapePointer(name)
		if e.late != nil && name == e.late.Name {
			wrong.add("unknown_source", pointer, "%s cannot be weighted: it takes part in the gate alone, which weighs it itself", name)
		} else if name == PhraseSource {
			wrong.add("unknown_source", pointer, "%s cannot be weighted: they take part in the gate alone, which weighs them itself", PhraseSource)
		} else if _, ok := e.byName[name]; !ok && name != WordSource {
			wrong.add("unknown_source", pointer, "there is no source %s to weight: %s, and %s is BM25", quote(name), e.knownExperts(), WordSource)
		} else if w := weights[name]; !(w >= 0 && w <= fusion.MaxWeight) {
			wrong.add("out_of_range", pointer, "weight %v is not between 0 and %g", w, float64(fusion.MaxWeight))
		}
		if len(*wrong) > maxProblems {
			break
		}
	}
}

func sortedKeys(weights map[string]float64) []string { return slices.Sorted(maps.Keys(weights)) }

func (e *lineUp) knownExperts() string {
	if len(e.experts) == 0 {
		return "no experts are loaded"
	}
	names := make([]string, len(e.experts))
	for i := range e.experts {
		names[i] = e.experts[i].Name
	}
	return "the experts are " + list(names)
}
