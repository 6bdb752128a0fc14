package reply

// Verdict says whether a collection answers a question.
type Verdict string

const VerdictFound Verdict = "found"

// The verdicts.
const (
	VerdictDoubtful Verdict = "doubtful"
	VerdictNotFound Verdict = "not_found"
)
