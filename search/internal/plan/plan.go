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
)

// Plan is a request after validation: every default filled in, every name
// resolved. It does not change.
type Plan struct {
	Inquiry       sources.Inquiry
	Experts       []int           // of the sources, those that are experts
	Named         bool            // the request says which experts
	Absent        []reply.Missing // experts that cannot be asked, if the request names none
	Methods       []Method
	Offer         fusion.Offer // to them
	Listed        bool         // a list of methods was asked for
	Offset        int          // results before the first that is answered
	K             int          // results, those before the first too
	Missing       fusion.Missing
	Normalise     fusion.Normalisation // "": the method's own
	Sharpness     float64              // 0: the method's own
	Weights       map[string]float64
	Explain       bool
	Fields        Fields
	MinConfidence float64
	Offsets       string   // one of OffsetNames
	Around        int      // neighbours on each side of a result
	GroupBy       string   // "" or GroupByDocument
	GroupSize     int      // passages of a group
	Without       []string // ids of passages that are not fused
	Facets        []ask.FacetRequest
	Sort          ask.Sort
	Boost         ask.Boost
	HalfLife      time.Duration           // of boost
	Answer        ask.AnswerOptions       // with the defaults filled in
	Reader        *learned.LoadedReader   // that marks answers; nil: none are wanted
	Marked        int                     // passages that it reads
	MostMarked    int                     // extracts are returned of only the first so many of them; 0: of all
	Writer        *learned.LoadedReader   // that writes an answer; nil: none is wanted
	Unwritten     *reply.Missing          // why the writer made no question of the messages; nil: it did, or nobody asked
	Reranker      *learned.LoadedReranker // that scores the first passages; nil: none is wanted
	Reranked      int                     // how many of them
	Useless       *learned.LoadedReranker // the one that was wanted and is known to make the ranking worse
}

// Method is a method and its name in the request: "auto" is resolved.
type Method struct {
	Asked string
	*fusion.Method
}

// Fields are what an answer carries beside ids and scores.
type Fields struct{ Title, Text, Tags, Metadata, Document, Contributions, Sources, Highlights bool }

// WeighsByQuestion reports whether one of the methods decides by question how much sources count.
func (p *Plan) WeighsByQuestion() bool {
	return slices.ContainsFunc(p.Methods, func(m Method) bool { return m.WeighsByQuestion() })
}

// Weighs reports whether what was fitted for a reranker belongs to the ranking.
func (p *Plan) Weighs(x *learned.LoadedReranker) bool {
	return x.Weight != nil && len(p.Methods) > 0 && p.Methods[0].WeighsByQuestion()
}

// Window returns how many of the first items of a ranking are reranked: none where the page that
// is answered lies behind them.
func (p *Plan) Window(items int) int {
	if p.Reranker == nil || p.GroupBy == "" && p.Offset >= p.Reranked {
		return 0
	}
	return min(p.Reranked, items)
}

// ReadTwice reports whether the reader that marks answers has reranked the passages already, by the same selection.
func (p *Plan) ReadTwice() bool {
	return p.Reader != nil && p.Reranker != nil && p.Reranker.Reads && p.Reranker.Name == p.Reader.Name
}

// Judges returns how many models add contributions of their own.
func (p *Plan) Judges() (n int) {
	if p.Reranker != nil {
		n++
	}
	if p.Reader != nil && p.Reader.Ranking > 0 {
		n++
	}
	return n
}

// Abstains reports whether the request wants no answer at this confidence.
func (p *Plan) Abstains(confidence *float64) bool {
	return p.MinConfidence > 0 && (confidence == nil || *confidence < p.MinConfidence)
}

// ReadsFields reports whether the candidates' metadata order them.
func (p *Plan) ReadsFields() bool { return p.Sort.Field != "" || p.Boost.Field != "" }
