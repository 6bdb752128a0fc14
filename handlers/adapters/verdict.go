package adapters

import (
	"example.org/conclave/search/reply"
)

// cautionOf returns a sentence that tells a model that the passages may not answer, or do not; "" if they do, or if
// that is not known and the response's notes say why.
func cautionOf(r reply.Response) string {
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

// addVerdict sets verdictKey in the metadata of a passage to the verdict on the whole response. It does nothing if the
// response has no verdict.
func addVerdict(about map[string]any, r reply.Response) {
	if r.Verdict != "" {
		about[verdictKey] = r.Verdict
	}
}
