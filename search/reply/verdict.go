package reply

// Verdict says whether a collection answers a question.
type Verdict string

// VerdictFound says that the collection answers the question.
const VerdictFound Verdict = "found"

// The other verdicts: the collection may answer the question, or does not.
const (
	VerdictDoubtful Verdict = "doubtful"
	VerdictNotFound Verdict = "not_found"
)
