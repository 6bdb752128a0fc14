package reply

// Contribution is what one source, or one model after the sources, added to a result's score.
type Contribution struct {
	Source string   `json:"source"`
	Score  *float64 `json:"score"` // the source's own score; null: it has none
	Rank   *int     `json:"rank"`  // among the source's hits, from 1; null: it was not a hit
	// Origin says where Score is from: "hit", "exact" (computed afterwards), "min" (the source's lowest score), "none",
	// OriginRead, OriginRerank, OriginEarlier or OriginBoost.
	Origin       string  `json:"origin"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// The origins of contributions that are not a source's, and the names that Contribution.Source has in two of them.
const (
	OriginRead    = "read"      // a reader's
	OriginRerank  = "rerank"    // a reranker's
	OriginEarlier = "earlier"   // of the messages before the question
	EarlierSource = "messages"  // Contribution.Source with OriginEarlier
	OriginBoost   = "boost"     // of an ask.Boost
	BoostSource   = "freshness" // Contribution.Source with OriginBoost
)

// Judged is the verdict on an answer, with the numbers that it was reached by.
type Judged struct {
	// Verdict is "" if the chance is not known; a note then says why.
	Verdict Verdict `json:"verdict,omitempty"`
	// Answerable is the probability that the collection answers, which was compared with Thresholds; nil: it is not
	// known, or nothing was found.
	Answerable *float64    `json:"answerable,omitempty"`
	Thresholds *Thresholds `json:"verdict_thresholds,omitempty"`
}

// The values of Response.Basis, which say where a confidence comes from.
const (
	BasisCalibrated = "calibrated" // from questions of this collection
	BasisShipped    = "shipped"    // from those of other collections
	// BasisEnsembles: the mean agreement of the experts' ensembles, which is not a probability.
	BasisEnsembles = "ensembles"
)
