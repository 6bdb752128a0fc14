package search

import (
	"cmp"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// FuseRequest holds the sources' scores of passages, and how to make one ranking of
// them.
type FuseRequest struct {
	Fusion string `json:"fusion"` // a method, but for "auto", which a collection decides
	// Candidates are the results of a search as they are.
	Candidates []Candidate `json:"candidates"`
	K          int         `json:"k,omitempty"` // 0: all
	// Weights of sources, in place of those that the method has by itself. The gate and
	// hybrid's α have none: those among the contributions are taken where none is named.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Confidences of experts, for the methods that weigh by them. Those of others count
	// for nothing.
	Confidences map[string]float64 `json:"confidences,omitempty"`
	// Granularities are the sources of which the surest answers by cce, and Temperature
	// divides their scores; 0: fusion.DefaultCCETemperature. A search by cce returns the
	// hits of the surest alone, so the candidates have to be another method's.
	Granularities []string `json:"granularities,omitempty"`
	Temperature   float64  `json:"temperature,omitempty"` // for hybrid: experts without confidences are weighed by CCE's
	// as in a Request; 0: fusion.DefaultSharpness, and of cce the surest
	Sharpness     float64 `json:"sharpness,omitempty"`
	Missing       string  `json:"missing,omitempty"`
	Normalisation string  `json:"normalisation,omitempty"`
}

// Candidate is a passage that sources have scored: a Result. Its rank, score,
// highlights and explanation count for nothing; title, text, tags, metadata and the
// place are passed on.
type Candidate struct {
	ID            string         `json:"id"`
	Contributions []Said         `json:"contributions"`
	Rank          int            `json:"rank,omitempty"`
	Title         string         `json:"title,omitempty"`
	Text          string         `json:"text,omitempty"`
	Tags          []string       `json:"tags,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"`
	reply.Place
	reply.Extent
	Before      string              `json:"before,omitempty"`
	After       string              `json:"after,omitempty"`
	Score       float64             `json:"score,omitempty"`
	Highlight   *reply.Highlight    `json:"highlight,omitempty"`
	Highlights  []reply.Highlight   `json:"highlights,omitempty"`
	Explanation []storage.TermScore `json:"explanation,omitempty"`
}

// Said is one source's score of a candidate: a Contribution, whose own contribution is
// ignored.
type Said struct {
	Source       string   `json:"source"`
	Score        *float64 `json:"score,omitempty"`
	Rank         *int     `json:"rank,omitempty"`   // among the source's own hits
	Origin       string   `json:"origin,omitempty"` // "": "hit" with a rank, "exact" without
	Weight       *float64 `json:"weight,omitempty"`
	Contribution float64  `json:"contribution,omitempty"`
}

// FuseResponse is a ranking of the candidates.
type FuseResponse struct {
	Fusion     string         `json:"fusion"`
	Confidence *float64       `json:"confidence"` // where the method gives one without a calibration
	Results    []reply.Result `json:"results"`
}

// Fuse makes a ranking of what sources said, without asking any: a pure function. What
// a search returned, all of its candidates, is ranked by the search's method, weights,
// confidences and options as the search ranked it, but for passages whose scores differ
// by less than what is printed; of some of its candidates only these are ranked, and
// scales and lowest scores are those of these.
//
// It stays beside a search by several methods: who has the candidates tries weights and methods on them without asking
// the sources again, and without the collection.
//
// The error is an *Error of kind Invalid.
func Fuse(r FuseRequest) (FuseResponse, error) {
	var wrong fault.Problems
	e := evidenceOf(&r, &wrong)
	m := e.method(&r, &wrong)
	missing := fault.OneOf(&wrong, "/missing", r.Missing, "", missings())
	normalisation := fault.OneOf(&wrong, "/normalisation", r.Normalisation, "", fusion.Normalisations())
	if err := wrong.Err(); err != nil {
		return FuseResponse{}, err
	}
	table := new(fusion.Candidates)
	err := table.Restore(len(e.sources), e.said)
	ranking := fusion.Ranking{}
	k := cmp.Or(r.K, len(r.Candidates))
	if err == nil {
		ranking, err = m.FuseAgain(fusion.Input{Table: table, Sources: e.observed},
			fusion.Settings{Missing: missing, Normalisation: normalisation, Sharpness: r.Sharpness, Weights: e.weights,
				CCE: fusion.CCEOptions{Temperature: r.Temperature, Sharpness: r.Sharpness}}, k)
	}
	if err != nil {
		return FuseResponse{}, &fault.Error{
			Kind:   fault.Invalid,
			Code:   "out_of_range",
			Detail: "the candidates cannot be fused: " + err.Error(),
			Err:    err,
		}
	}
	return e.response(&r, m, &ranking), nil
}

// method returns the method asked for, when it can do with the sources that there are, with
// the sources that take part and their weights filled in.
func (e *evidence) method(r *FuseRequest, wrong *fault.Problems) *fusion.Method {
	m, ok := fusion.MethodNamed(r.Fusion)
	if !ok {
		wrong.Add(
			"unknown_method",
			"/fusion",
			"there is no fusion method %s that ranks by itself: %s do",
			wording.Quote(r.Fusion),
			wording.List(fusion.MethodNames(nil)),
		)
		return nil
	}
	o := e.Observe(r)
	e.checkNeeds(r, &m, o, wrong)
	e.checkOptions(r, &m, o, wrong)
	e.observed = slices.DeleteFunc(e.observed, func(x fusion.Observed) bool { // as in a search
		if !x.Kind.Dense() {
			return !m.Uses(x.Kind)
		}
		return m.Excludes(o, abilityOf(x)) != fusion.Included
	})
	e.weights = map[int]float64{}
	for column, name := range e.sources {
		w, known := r.Weights[name]
		if !known && m.CalibratedWeight(e.kinds[column]) {
			w, known = e.contributedWeight(name)
			if !known {
				wrong.Add(
					"missing_field",
					wording.Pointer("/weights", name),
					"the weight of source %s is needed for fusion method %q: name it, or leave it among the contributions",
					wording.Quote(name),
					m.Name,
				)
			}
		}
		if known {
			e.weights[column] = w
		}
	}
	return &m
}

// Observe fills in what is known of the sources, and returns what they offer to a method.
func (e *evidence) Observe(r *FuseRequest) fusion.Offer {
	o := fusion.Offer{Gate: true, Temperature: len(r.Confidences) == 0 && r.Temperature > 0}
	for column, name := range e.sources {
		x := fusion.Observed{
			Column:     column,
			Kind:       e.kinds[column],
			Confidence: -1,
			Granular:   slices.Contains(r.Granularities, name),
		}
		if sure, known := r.Confidences[name]; known {
			x.Confidence = sure
		}
		e.observed = append(e.observed, x)
		if x.Kind.Dense() {
			o.Experts = append(o.Experts, abilityOf(x))
		}
		o.Words = o.Words || x.Kind == fusion.Lexical
	}
	return o
}

// abilityOf returns what a method has to know of an expert whose scores are given.
func abilityOf(x fusion.Observed) fusion.Ability {
	return fusion.Ability{Sure: x.Confidence != -1, Granular: x.Granular}
}

// checkNeeds refuses a method that lacks scores, or what the candidates do not tell of their
// sources: which are sure, and which are granularities.
func (e *evidence) checkNeeds(r *FuseRequest, m *fusion.Method, o fusion.Offer, wrong *fault.Problems) {
	for _, lack := range m.Lacks(o) {
		switch {
		case lack == fusion.LacksGranularities && len(r.Granularities) == 0:
			wrong.Add(
				"missing_field",
				"/granularities",
				"fusion method %q answers by the granularity that is surest: name the sources that are granularities, such as base and base@1, or the experts among which it is to choose",
				m.Name,
			)
		case lack == fusion.LacksWords && len(e.sources) > 0:
			wrong.Add(
				"needs_bm25",
				"/candidates",
				"fusion method %q needs scores of %s, and no candidate has one",
				m.Name,
				reply.WordSource,
			)
		case lack == fusion.LacksExperts && len(e.sources) > 0:
			wrong.Add(
				"needs_experts",
				"/candidates",
				"fusion method %q needs scores of an expert, and no candidate has one",
				m.Name,
			)
		case lack == fusion.LacksConfidences:
			wrong.Add(
				"missing_field",
				"/confidences",
				"fusion method %q weighs experts by how sure they are: name the confidences, which a search has among its sources",
				m.Name,
			)
		}
	}
}

// checkOptions refuses options that the method does not take, and values out of range.
func (e *evidence) checkOptions(r *FuseRequest, m *fusion.Method, o fusion.Offer, wrong *fault.Problems) {
	weighsByScores := o.Temperature && m.Takes(fusion.OptionTemperature)
	if !m.RanksGranularities() && (len(r.Granularities) > 0 || r.Temperature != 0 && !weighsByScores) {
		wrong.Add("unused_option", "/fusion", "fusion method %q does not take granularities and a temperature", m.Name)
	}
	if m.RanksGranularities() {
		for i, name := range r.Granularities {
			if at := slices.Index(e.sources, name); len(e.sources) > 0 && (at < 0 || !e.kinds[at].Dense()) {
				wrong.Add(
					"unknown_source",
					wording.Pointer("/granularities", i),
					"no candidate has a score of an expert %s",
					wording.Quote(name),
				)
			}
		}
	}
	inRange("/confidences", r.Confidences, 1, wrong)
	inRange("/weights", r.Weights, fusion.MaxWeight, wrong)
	wrong.Between("/temperature", r.Temperature, maxTemperature)
	wrong.Between("/sharpness", r.Sharpness, fusion.MaxSharpness)
	if r.Sharpness > 0 && !m.Takes(fusion.OptionSharpness) {
		wrong.Add("unused_option", "/sharpness", "fusion method %q does not take a sharpness", m.Name)
	}
	for _, name := range sortedKeys(r.Weights) {
		if !slices.Contains(e.sources, name) && len(e.sources) > 0 && len(*wrong) <= fault.MaxProblems {
			wrong.Add(
				"unknown_source",
				wording.Pointer("/weights", name),
				"no candidate has a score of source %s: the sources are %s",
				wording.Quote(name),
				wording.List(e.sources),
			)
		}
	}
	if len(r.Weights) > 0 && !m.Takes(fusion.OptionWeights) && !m.CalibratedWeight(fusion.Generalist) {
		wrong.Add("unused_option", "/weights", "fusion method %q does not take weights", m.Name)
	}
}

// maxTemperature bounds the temperature of cce: above it, all passages are equally likely.
const maxTemperature = 1000

// contributedWeight returns the weight of a source among the contributions.
func (e *evidence) contributedWeight(source string) (float64, bool) {
	for _, c := range e.candidates {
		for _, given := range c.Contributions {
			if given.Source == source && given.Weight != nil && *given.Weight >= 0 && *given.Weight <= fusion.MaxWeight {
				return *given.Weight, true
			}
		}
	}
	return 0, false
}

// inRange refuses numbers outside 0 to most.
func inRange(pointer string, of map[string]float64, most float64, wrong *fault.Problems) {
	for _, name := range sortedKeys(of) {
		if x := of[name]; !(x >= 0 && x <= most) && len(*wrong) <= fault.MaxProblems {
			wrong.Add(
				"out_of_range",
				wording.Pointer(pointer, name),
				"%s of %s is %v: it has to be from 0 to %g",
				pointer[1:],
				wording.Quote(name),
				x,
				most,
			)
		}
	}
}

// response returns a ranking as answers have it.
func (e *evidence) response(r *FuseRequest, m *fusion.Method, ranking *fusion.Ranking) FuseResponse {
	out := FuseResponse{
		Fusion:     m.Name,
		Confidence: run.PrintedOf(ranking.Confidence),
		Results:    make([]reply.Result, len(ranking.Items)),
	}
	for n, item := range ranking.Items {
		c := e.candidates[item.Ordinal]
		out.Results[n] = reply.Result{
			Rank:          n + 1,
			ID:            c.ID,
			Title:         c.Title,
			Text:          c.Text,
			Tags:          c.Tags,
			Metadata:      c.Metadata,
			Place:         c.Place,
			Extent:        c.Extent,
			Before:        c.Before,
			After:         c.After,
			Score:         run.Printed(item.Score),
			Contributions: make([]reply.Contribution, len(item.Parts)),
		}
		for i := range item.Parts {
			out.Results[n].Contributions[i] = answering.ContributionOf(e.sources[item.Parts[i].Column], &item.Parts[i])
		}
	}
	return out
}
