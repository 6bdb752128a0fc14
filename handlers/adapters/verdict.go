package adapters

import (
	"example.org/conclave/search/reply"
)

// doubt says plainly, to a model, that what was searched may not answer, or does not; "" where it
// does, or where that is not known and the answer's notes say why.
func doubt(r reply.Response) string {
	switch r.Verdict {
	case reply.VerdictDoubtful:
		return "Doubtful: these passages may not answer. Unless one plainly does, say that you do not know."
	case reply.VerdictNotFound:
		return "Not found: what was searched does not answer this. Say that you do not know."
	}
	return ""
}

// verdictKey is what callers name the verdict as an attribute of passages.
const verdictKey = "verdict"

// judged adds the verdict of the whole answer to what is said of one of its passages.
func judged(about map[string]any, r reply.Response) {
	if r.Verdict != "" {
		about[verdictKey] = r.Verdict
	}
}
