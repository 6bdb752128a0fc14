package search

import (
	"maps"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/storage"
)

// plan is a request after validation: every default filled in, every name
// resolved. It does not change.
type plan struct {
	inquiry       sources.Inquiry
	experts       []int     // of the sources, those that are experts
	named         bool      // the request says which experts
	absent        []Missing // experts that cannot be asked, if the request names none
	methods       []plannedMethod
	offer         fusion.Offer // to them
	listed        bool         // a list of methods was asked for
	offset        int          // results before the first that is answered
	k             int          // results, those before the first too
	missing       fusion.Missing
	normalise     fusion.Normalisation // "": the method's own
	sharpness     float64              // 0: the method's own
	weights       map[string]float64
	explain       bool
	fields        fields
	minConfidence float64
	offsets       string   // one of OffsetNames
	around        int      // neighbours on each side of a result
	groupBy       string   // "" or GroupByDocument
	groupSize     int      // passages of a group
	without       []string // ids of passages that are not fused
	facets        []FacetRequest
	sort          Sort
	boost         Boost
	halfLife      time.Duration   // of boost
	answer        AnswerOptions   // with the defaults filled in
	reader        *LoadedReader   // that marks answers; nil: none are wanted
	marked        int             // passages that it reads
	mostMarked    int             // extracts are returned of only the first so many of them; 0: of all
	writer        *LoadedReader   // that writes an answer; nil: none is wanted
	unwritten     *Missing        // why the writer made no question of the messages; nil: it did, or nobody asked
	reranker      *LoadedReranker // that scores the first passages; nil: none is wanted
	reranked      int             // how many of them
	useless       *LoadedReranker // the one that was wanted and is known to make the ranking worse
}

// plannedMethod is a method and its name in the request: "auto" is resolved.
type plannedMethod struct {
	asked string
	*fusion.Method
}

// weighsByQuestion reports whether one of the methods decides by question how much sources count.
func (p *plan) weighsByQuestion() bool {
	return slices.ContainsFunc(p.methods, func(m plannedMethod) bool { return m.WeighsByQuestion() })
}

// fields are what an answer carries beside ids and scores.
type fields struct{ title, text, tags, metadata, document, contributions, sources, highlights bool }

// plan checks a request and fills in the defaults. Its error names every
// field that is wrong, not just the first.
func (l *lineUp) plan(r *Request) (*plan, error) {
	var wrong fault.Problems
	d, most := l.defaults, l.limits
	p := &plan{named: r.Experts != nil, weights: r.Weights, explain: r.Explain, without: r.Without}
	if !p.named {
		p.absent = l.absent
	}
	if len(r.Collections) > 0 {
		wrong.Add("unknown_value", "/collections", "several collections are searched by one request of its own, "+
			"not as a part of a batch, nor below the name of one")
	}
	p.inquiry.Filter = r.restricted()
	p.inquiry.Exact = r.Exact
	p.inquiry.Collapse = r.Collapse == nil || *r.Collapse
	p.inquiry.Question, p.inquiry.Before = r.asked(&wrong, most.QuestionBytes)
	p.inquiry.Correct = r.Correct == nil && d.Correct || r.Correct != nil && *r.Correct
	p.k = wrong.Count("/k", r.K, d.K, most.K)
	p.offset = r.Offset
	if p.offset < 0 || p.offset > 0 && p.offset+p.k > most.K {
		wrong.Add(
			"out_of_range",
			"/offset",
			"offset is %d: it has to be from 0 to %d, which with k is limits.k",
			p.offset,
			max(most.K-p.k, 0),
		)
	}
	p.k += p.offset
	p.inquiry.Candidates = wrong.Count("/candidates", r.Candidates, d.Candidates, most.Candidates)
	milliseconds := wrong.Count(
		"/timeout_ms",
		r.TimeoutMS,
		int(d.Timeout/time.Millisecond),
		int(most.Timeout/time.Millisecond),
	)
	p.inquiry.Timeout = time.Duration(milliseconds) * time.Millisecond
	p.missing = fault.OneOf(&wrong, "/missing", r.Missing, d.Missing, missings())
	p.normalise = fault.OneOf(&wrong, "/normalisation", r.Normalisation, "", fusion.Normalisations())
	p.sharpness = r.Sharpness
	if !(p.sharpness >= 0 && p.sharpness <= fusion.MaxSharpness) {
		wrong.Add(
			"out_of_range",
			"/sharpness",
			"sharpness is %v: it has to be from 0 to %g, and 0 is the method's own",
			p.sharpness,
			float64(fusion.MaxSharpness),
		)
	}
	p.fields = readFields(&wrong, r.Fields)
	p.around = r.Around
	if p.around < 0 || p.around > MostAround {
		wrong.Add("out_of_range", "/around", "around is %d: it has to be from 0 to %d", p.around, MostAround)
	}
	p.planGroups(r, &wrong)
	p.planFields(r, &wrong)
	p.offsets = fault.OneOf(&wrong, "/offsets", r.Offsets, OffsetBytes, OffsetNames())
	storage.CheckFilter(&wrong, p.inquiry.Filter)
	p.minConfidence = r.MinConfidence
	wrong.Between("/min_confidence", r.MinConfidence, 1)
	p.experts = l.planExperts(r.Experts, &wrong)
	p.methods = l.planMethods(r.Fusion, &wrong)
	p.listed = r.Fusion.Listed
	l.checkWeights(r.Weights, &wrong)
	l.planAnswer(r, p, &wrong)
	l.planRerank(r, p, &wrong)
	if len(wrong) == 0 {
		l.checkOptions(r, p.methods, &wrong)
	}
	p.inquiry.Most, p.inquiry.ChosenOnly = l.planSpecialists(r, p, &wrong)

	if len(p.experts) == 0 && !r.words() && len(wrong) == 0 {
		wrong.Add("no_sources", "/experts", `there is nothing to search: "experts" is empty and "bm25" is false`)
	}
	p.offer = l.offer(p, r.words())
	for i, m := range p.methods {
		l.checkNeeds(m, i, p, &wrong)
		p.inquiry.Confidence = p.inquiry.Confidence || m.ReadsConfidence(len(p.experts))
	}
	l.planSources(r, p)
	if p.minConfidence > 0 && r.Late != nil && !*r.Late && l.panel.Late != nil && d.GateWithoutLate != nil &&
		p.weighsByQuestion() {
		wrong.Add(
			"needs_calibration",
			"/min_confidence",
			"the confidence of an answer without late interaction is not calibrated, so min_confidence has nothing to be compared with: leave out one of the two",
		)
	}
	return p, wrong.Err()
}

// planSources plans the experts, and of the other sources those that a method wants.
func (l *lineUp) planSources(r *Request, p *plan) {
	p.inquiry.Wanted = slices.Clone(p.experts)
	w := sources.Selection{
		Words:   r.words(),
		Late:    r.Late == nil || *r.Late,
		Experts: r.Experts == nil || len(*r.Experts) > 0,
		Gate:    l.defaults.Gate,
	}
	for at := len(l.panel.Experts); at < len(l.panel.Sources); at++ {
		if slices.ContainsFunc(p.methods, func(m plannedMethod) bool { return l.panel.Sources[at].TakesPart(&w, m.Method) }) {
			p.inquiry.Wanted = append(p.inquiry.Wanted, at)
		}
	}
	for _, at := range p.experts {
		if reason := l.excludedByAll(p, at); reason != "" {
			if p.inquiry.Unused == nil {
				p.inquiry.Unused = map[int]string{}
			}
			p.inquiry.Unused[at] = reason
		}
	}
}

// planExperts resolves names to indexes, in the engine's own order, so that
// the order of the names never shows in an answer.
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
		i := l.numberOf(name)
		switch {
		case l.panel.Late != nil && name == l.panel.Late.Name():
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

// planSpecialists decides how many specialists count, and whether the others
// need to be asked at all.
func (l *lineUp) planSpecialists(r *Request, p *plan, wrong *fault.Problems) (most int, chosenOnly bool) {
	if r.Specialists != 0 {
		return wrong.Count("/specialists", r.Specialists, 0, fusion.MaxSources), true
	}
	if r.Experts != nil || l.defaults.Specialists == 0 {
		return 0, false
	}
	return l.defaults.Specialists, !slices.ContainsFunc(
		p.methods,
		func(m plannedMethod) bool { return !m.WeighsByQuestion() },
	)
}

func (l *lineUp) planMethods(asked Methods, wrong *fault.Problems) []plannedMethod {
	names := asked.Names
	if len(names) == 0 {
		if asked.Listed {
			wrong.Add(
				"unknown_method",
				"/fusion",
				"the list of fusion methods is empty: %s are known",
				wording.List(MethodNames()),
			)
			return nil
		}
		names = []string{l.defaults.Fusion}
	}
	var methods []plannedMethod
	for i, name := range names {
		pointer := methodPointer(asked.Listed, i)
		switch m := l.method(name); {
		case m == nil:
			wrong.Add(
				"unknown_method",
				pointer,
				"there is no fusion method %s: %s are known",
				wording.Quote(name),
				wording.List(MethodNames()),
			)
		case slices.Contains(names[:i], name):
			wrong.Add("duplicate_method", pointer, "fusion method %s is named twice", wording.Quote(name))
		default:
			methods = append(methods, plannedMethod{name, m})
		}
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
	return methods
}

// method returns the method of a name, or that "auto" stands for; nil: there is none.
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

func methodPointer(listed bool, i int) string {
	if listed {
		return wording.Pointer("/fusion", i)
	}
	return "/fusion"
}

// checkWeights refuses weights of what is no source, or is not weighted by requests.
func (l *lineUp) checkWeights(weights map[string]float64, wrong *fault.Problems) {
	for _, name := range sortedKeys(weights) {
		pointer := wording.Pointer("/weights", name)
		switch w := weights[name]; {
		case l.panel.Late != nil && name == l.panel.Late.Name():
			wrong.Add(
				"unknown_source",
				pointer,
				"%s cannot be weighted: it takes part in the gate alone, which weighs it itself",
				name,
			)
		case name == sources.PhraseSource:
			wrong.Add(
				"unknown_source",
				pointer,
				"%s cannot be weighted: they take part in the gate alone, which weighs them itself",
				sources.PhraseSource,
			)
		case !slices.ContainsFunc(l.panel.Sources, func(x sources.Source) bool { return x.Name() == name }):
			wrong.Add(
				"unknown_source",
				pointer,
				"there is no source %s to weight: %s, and %s is BM25",
				wording.Quote(name),
				l.knownExperts(),
				sources.WordSource,
			)
		case !(w >= 0 && w <= fusion.MaxWeight):
			wrong.Add("out_of_range", pointer, "the weight is %v: it has to be from 0 to %g", w, float64(fusion.MaxWeight))
		}
		if len(*wrong) > fault.MaxProblems {
			break
		}
	}
}

func sortedKeys(weights map[string]float64) []string {
	if len(weights) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(weights))
}

// numberOf returns an expert's place, -1 where there is none of the name.
func (l *lineUp) numberOf(name string) int {
	return slices.IndexFunc(l.panel.Experts, func(x *sources.Dense) bool { return x.Name() == name })
}

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
