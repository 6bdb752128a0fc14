// Package plan declares a Plan, which is a request after it was checked.
package plan

import (
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Plan is a request after validation, with every default filled in and every name resolved. It does not change.
type Plan struct {
	Inquiry       sources.Inquiry
	Experts       []int           // the experts among the sources: indexes of Panel.Sources
	Named         bool            // the request names experts
	Absent        []reply.Missing // experts that cannot be asked, if the request names none
	Methods       []Method        // at least one
	Offer         fusion.Offer    // what the line-up has for the methods
	Listed        bool            // the request has a list of methods, and gets a ranking for each
	Offset        int             // the number of results before the page
	K             int             // the number of results up to the end of the page; Offset is a part of it
	Missing       fusion.Missing
	Normalise     fusion.Normalisation // "": the method's own
	Sharpness     float64              // 0: the method's own
	Weighting     fusion.Weighting     // "": fusion.ByCertainty
	Weights       map[string]float64   // by name of a source, as the request gives them
	Explain       bool                 // results have the terms of their scores
	Fields        Fields
	MinConfidence float64             // below it there are no results; 0: there is no such limit
	Offsets       string              // the unit of places in texts, one of reply.OffsetNames
	Around        int                 // the number of neighbours on each side of a result
	GroupBy       string              // "", ask.GroupByDocument or a metadata field
	GroupSize     int                 // the number of results in a group
	Without       []string            // ids of passages that the request excludes
	Pins          []storage.Reference // passages and documents that an administrator put first, in their order
	Facets        []ask.FacetRequest
	Sort          ask.Sort
	Boost         ask.Boost
	HalfLife      time.Duration           // of Boost
	Answer        ask.AnswerOptions       // with the defaults filled in
	Reader        *learned.LoadedReader   // marks answers; nil: none are wanted
	Marked        int                     // the number of passages that Reader reads
	MarkedOnPage  bool                    // only passages on the page have extracts in the response
	Writer        *learned.LoadedReader   // writes an answer; nil: none is wanted
	Unwritten     *reply.Missing          // why Writer did not rewrite the messages; nil: it did, or need not
	Reranker      *learned.LoadedReranker // scores the first passages; nil: none is wanted
	Reranked      int                     // the number of passages that Reranker scores
	RerankAuto    bool                    // Reranker was not asked for: it is left out if it does not pay here
	Useless       *learned.LoadedReranker // was wanted, but by calibration makes rankings worse; nil: none
}

// Method is a fusion method and its name in the request, which may be "auto".
type Method struct {
	Asked string
	*fusion.Method
}

// Fields says what a result has in addition to id and score.
type Fields struct{ Title, Text, Tags, Metadata, Document, Contributions, Sources, Highlights bool }

// WeighsByQuestion reports whether one of the methods sets the weights of the sources for each question, as the gate
// does.
func (p *Plan) WeighsByQuestion() bool {
	return slices.ContainsFunc(p.Methods, func(m Method) bool { return m.WeighsByQuestion() })
}

// Weighs reports whether the reranker's fitted weight applies: it has one, and the plan's first method weighs sources
// by question, as the gate does.
func (p *Plan) Weighs(x *learned.LoadedReranker) bool {
	return x.Weight != nil && len(p.Methods) > 0 && p.Methods[0].WeighsByQuestion()
}

// Window returns how many of a ranking's first items the reranker scores; 0 without a reranker. items is the length of
// the ranking.
func (p *Plan) Window(items int) int {
	if p.Reranker == nil {
		return 0
	}
	return min(p.Reranked, items)
}

// ReadTwice reports whether the reader that marks answers is also the plan's reranker, so that its scores are in the
// ranking already.
func (p *Plan) ReadTwice() bool {
	return p.Reader != nil && p.Reranker != nil && p.Reranker.Reads && p.Reranker.Name == p.Reader.Name
}

// Judges returns how many models add a contribution to the scores of passages, from 0 to 2: the reranker, and the
// reader if its scores have a weight in the ranking.
func (p *Plan) Judges() (n int) {
	if p.Reranker != nil {
		n++
	}
	if p.Reader != nil && p.Reader.Ranking > 0 {
		n++
	}
	return n
}

// Abstains reports whether the request wants no results at this confidence: it sets a minimum, and the confidence is
// lower or nil.
func (p *Plan) Abstains(confidence *float64) bool {
	return p.MinConfidence > 0 && (confidence == nil || *confidence < p.MinConfidence)
}

// ReadsFields reports whether the answer depends on metadata of the candidates: by a sort field, a boost, or groups of
// a field's values.
func (p *Plan) ReadsFields() bool {
	return p.Sort.Field != "" || p.Boost.Field != "" || p.GroupField() != ""
}

// GroupField returns the metadata field by whose values results are grouped; "" if they are not, or by document.
func (p *Plan) GroupField() string {
	if p.GroupBy == ask.GroupByDocument {
		return ""
	}
	return p.GroupBy
}
