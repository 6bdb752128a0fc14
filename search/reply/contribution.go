package reply

// Contribution says what one source added to a result's score.
type Contribution struct {
	Source string   `json:"source"`
	Score  *float64 `json:"score"` // the source's own score; null where it has none
	Rank   *int     `json:"rank"`  // in the source's own list; null when it was not among its hits
	// of Score: "hit", "exact" (fetched), "min" (the source's lowest), "none", OriginRead, OriginRerank, OriginEarlier,
	// OriginBoost
	Origin       string  `json:"origin"`
	Weight       float64 `json:"weight"`
	Contribution float64 `json:"contribution"`
}

// The origins of contributions that no source made, and the names that stand for a source in two of them.
const (
	OriginRead    = "read"      // a reader's
	OriginRerank  = "rerank"    // a reranker's
	OriginEarlier = "earlier"   // of the messages before the question
	EarlierSource = "messages"  // the source of OriginEarlier
	OriginBoost   = "boost"     // of an ask.Boost
	BoostSource   = "freshness" // the source of OriginBoost
)

// Judged are the verdict of an answer and the numbers that it was reached by.
type Judged struct {
	// Verdict is "" where the chance is not known, and a note then says why.
	Verdict Verdict `json:"verdict,omitempty"`
	// Answerable is the chance that was compared with the thresholds; nil where nothing was
	// found at all, which needs no chance.
	Answerable *float64    `json:"answerable,omitempty"`
	Thresholds *Thresholds `json:"verdict_thresholds,omitempty"`
}

// Where a confidence comes from.
const (
	BasisCalibrated = "calibrated" // from questions of this collection
	BasisShipped    = "shipped"    // from those of other collections
	// how far the members of the experts' ensembles agree, on the mean: no probability
	BasisEnsembles = "ensembles"
)
