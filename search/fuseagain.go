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

// FuseRequest asks for a ranking by scores that sources gave passages before, such as in a Response.
type FuseRequest struct {
	Fusion string `json:"fusion"` // a method; "auto" is not allowed, since its meaning depends on a collection
	// Candidates are the results of a search, unchanged.
	Candidates []Candidate `json:"candidates"`
	K          int         `json:"k,omitempty"` // the greatest number of results; 0: all
	// Weights are weights of sources, by name, in the place of the method's own. The weights of the gate and of
	// hybrid's α are calibrated: those that are not named here are taken from the contributions.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Confidences are those of experts, by name, for the methods that weigh experts by confidence. Other names are
	// ignored.
	Confidences map[string]float64 `json:"confidences,omitempty"`
	// Granularities are the sources among which the method cce chooses the surest, and Temperature divides their
	// scores; 0: fusion.DefaultCCETemperature. The candidates have to be from another method, since a search by cce
	// returns the hits of the surest source only. The method hybrid uses Temperature if there are no Confidences.
	Granularities []string `json:"granularities,omitempty"`
	Temperature   float64  `json:"temperature,omitempty"`
	// Sharpness is as in a Request; 0: fusion.DefaultSharpness, and for cce only the surest source.
	Sharpness     float64 `json:"sharpness,omitempty"`
	Missing       string  `json:"missing,omitempty"`
	Normalisation string  `json:"normalisation,omitempty"`
}

// Candidate is a passage with the scores of sources: a reply.Result. Fuse ignores rank, score, pins, highlights and
// explanation, and copies title, text, tags, metadata and place to the result.
type Candidate struct {
	ID            string         `json:"id"`
	Contributions []SourceScore  `json:"contributions"`
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
	Pinned      bool                `json:"pinned,omitempty"`
	Highlight   *reply.Highlight    `json:"highlight,omitempty"`
	Highlights  []reply.Highlight   `json:"highlights,omitempty"`
	Explanation []storage.TermScore `json:"explanation,omitempty"`
}

// SourceScore is one source's score of a candidate: a reply.Contribution. Fuse ignores its Contribution.
type SourceScore struct {
	Source       string   `json:"source"`
	Score        *float64 `json:"score,omitempty"`
	Rank         *int     `json:"rank,omitempty"`   // among the source's hits, from 1; nil: it was not a hit
	Origin       string   `json:"origin,omitempty"` // as in reply.Contribution; "": "hit" with a rank, or "exact"
	Weight       *float64 `json:"weight,omitempty"`
	Contribution float64  `json:"contribution,omitempty"`
}

// FuseResponse is the ranking of the candidates.
type FuseResponse struct {
	Fusion     string         `json:"fusion"`
	Confidence *float64       `json:"confidence"` // nil: the method gives none without a calibration
	Results    []reply.Result `json:"results"`
}

// Fuse ranks passages by the scores that sources gave them in an earlier search. It asks no source and needs no
// collection, so that users can try methods and weights on the same candidates.
//
// With all candidates of a search and the search's method, weights, confidences and options it returns the search's
// ranking, apart from passages whose scores differ by less than the printed digits. With only some of them, the scale
// and the lowest score of a source are those of these.
//
// It returns a *fault.Error of kind Invalid for a request that cannot be fused.
func Fuse(r FuseRequest) (FuseResponse, error) {
	var wrong fault.Problems
	e := fuseTableOf(&r, &wrong)
	m := e.chooseMethod(&r, &wrong)
	missing := fault.OneOf(&wrong, "/missing", r.Missing, "", missingValues())
	normalisation := fault.OneOf(&wrong, "/normalisation", r.Normalisation, "", fusion.Normalisations())
	if err := wrong.Err(); err != nil {
		return FuseResponse{}, err
	}
	table := new(fusion.Candidates)
	err := table.Restore(len(e.sources), e.scores)
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

// chooseMethod returns the fusion method of a request. It keeps in e.observed only the sources that the method uses,
// and sets e.weights. It returns nil for an unknown method, and adds a problem to wrong for whatever the method lacks.
func (e *fuseTable) chooseMethod(r *FuseRequest, wrong *fault.Problems) *fusion.Method {
	m, ok := fusion.MethodNamed(r.Fusion)
	if !ok {
		wrong.Add(
			"unknown_method", "/fusion", "there is no fusion method %s that ranks by itself: %s do",
			wording.Quote(r.Fusion), wording.List(fusion.MethodNames(nil)),
		)
		return nil
	}
	o := e.observeSources(r)
	e.checkNeeds(r, &m, o, wrong)
	e.checkOptions(r, &m, o, wrong)
	e.observed = slices.DeleteFunc(e.observed, func(x fusion.ObservedSource) bool { // as in a search
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
					"missing_field", wording.Pointer("/weights", name),
					"the weight of source %s is needed for fusion method %q: name it, or leave it among the contributions",
					wording.Quote(name), m.Name,
				)
			}
		}
		if known {
			e.weights[column] = w
		}
	}
	return &m
}

// observeSources sets e.observed to the kind and confidence of each source, and returns what they offer to a method.
func (e *fuseTable) observeSources(r *FuseRequest) fusion.Offer {
	o := fusion.Offer{Gate: true, Temperature: len(r.Confidences) == 0 && r.Temperature > 0}
	for column, name := range e.sources {
		x := fusion.ObservedSource{
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

// abilityOf returns whether an expert, whose scores are given in a request, has a confidence and is a granularity.
func abilityOf(x fusion.ObservedSource) fusion.Ability {
	return fusion.Ability{Sure: x.Confidence != -1, Granular: x.Granular}
}

// checkNeeds adds a problem to wrong for each thing that the method lacks: scores of a kind of source, confidences, or
// the names of the granularities.
func (e *fuseTable) checkNeeds(r *FuseRequest, m *fusion.Method, o fusion.Offer, wrong *fault.Problems) {
	for _, lack := range m.Lacks(o) {
		switch {
		case lack == fusion.LacksGranularities && len(r.Granularities) == 0:
			wrong.Add(
				"missing_field", "/granularities",
				"fusion method %q answers by the granularity that is surest: name the sources that are granularities, such as base and base@1, or the experts among which it is to choose",
				m.Name,
			)
		case lack == fusion.LacksWords && len(e.sources) > 0:
			wrong.Add(
				"needs_bm25", "/candidates", "fusion method %q needs scores of %s, and no candidate has one", m.Name,
				reply.WordSource,
			)
		case lack == fusion.LacksExperts && len(e.sources) > 0:
			wrong.Add(
				"needs_experts", "/candidates",
				"fusion method %q needs scores of an expert, and no candidate has one", m.Name,
			)
		case lack == fusion.LacksConfidences:
			wrong.Add(
				"missing_field", "/confidences",
				"fusion method %q weighs experts by how sure they are: name the confidences, which a search has among its sources",
				m.Name,
			)
		}
	}
}

// checkOptions adds a problem to wrong for each option that the method does not take, each value that is out of range,
// and each granularity or weight of a source of which no candidate has a score.
func (e *fuseTable) checkOptions(r *FuseRequest, m *fusion.Method, o fusion.Offer, wrong *fault.Problems) {
	weighsByScores := o.Temperature && m.Takes(fusion.OptionTemperature)
	if !m.RanksGranularities() && (len(r.Granularities) > 0 || r.Temperature != 0 && !weighsByScores) {
		wrong.Add("unused_option", "/fusion", "fusion method %q does not take granularities and a temperature", m.Name)
	}
	if m.RanksGranularities() {
		for i, name := range r.Granularities {
			if at := slices.Index(e.sources, name); len(e.sources) > 0 && (at < 0 || !e.kinds[at].Dense()) {
				wrong.Add(
					"unknown_source", wording.Pointer("/granularities", i),
					"no candidate has a score of an expert %s", wording.Quote(name),
				)
			}
		}
	}
	checkRange("/confidences", r.Confidences, 1, wrong)
	checkRange("/weights", r.Weights, fusion.MaxWeight, wrong)
	wrong.Between("/temperature", r.Temperature, maxTemperature)
	wrong.Between("/sharpness", r.Sharpness, fusion.MaxSharpness)
	if r.Sharpness > 0 && !m.Takes(fusion.OptionSharpness) {
		wrong.Add("unused_option", "/sharpness", "fusion method %q does not take a sharpness", m.Name)
	}
	for _, name := range sortedKeys(r.Weights) {
		if !slices.Contains(e.sources, name) && len(e.sources) > 0 && len(*wrong) <= fault.MaxProblems {
			wrong.Add(
				"unknown_source", wording.Pointer("/weights", name),
				"no candidate has a score of source %s: the sources are %s", wording.Quote(name),
				wording.List(e.sources),
			)
		}
	}
	if len(r.Weights) > 0 && !m.Takes(fusion.OptionWeights) && !m.CalibratedWeight(fusion.Generalist) {
		wrong.Add("unused_option", "/weights", "fusion method %q does not take weights", m.Name)
	}
}

// maxTemperature is the greatest temperature of cce: above it, all passages are equally likely.
const maxTemperature = 1000

// contributedWeight returns the weight that a source has in the first contribution with a valid one; false: there is
// none.
func (e *fuseTable) contributedWeight(source string) (float64, bool) {
	for _, c := range e.candidates {
		for _, given := range c.Contributions {
			if given.Source == source && given.Weight != nil && *given.Weight >= 0 && *given.Weight <= fusion.MaxWeight {
				return *given.Weight, true
			}
		}
	}
	return 0, false
}

// checkRange adds a problem to wrong for each number of a map that is not from 0 to most. pointer is the JSON pointer
// of the map.
func checkRange(pointer string, numbers map[string]float64, most float64, wrong *fault.Problems) {
	for _, name := range sortedKeys(numbers) {
		if x := numbers[name]; !(x >= 0 && x <= most) && len(*wrong) <= fault.MaxProblems {
			wrong.Add(
				"out_of_range", wording.Pointer(pointer, name), "%s of %s is %v: it has to be from 0 to %g",
				pointer[1:], wording.Quote(name), x, most,
			)
		}
	}
}

// response returns the response to a fuse request: the ranking's items with the fields of their candidates. The results
// are in the order of the ranking, and their scores are rounded to the printed digits.
func (e *fuseTable) response(r *FuseRequest, m *fusion.Method, ranking *fusion.Ranking) FuseResponse {
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
