package adapters

import (
	"example.org/conclave/search/reply"
)

// cautionOf returns a sentence that tells a model that the passages may not answer, or do not; "" if they do, if an
// administrator has chosen the first ones, or if that is not known and the response's notes say why.
func cautionOf(r reply.Response) string {
	if len(pinnedResults(r)) > 0 {
		return ""
	}
	switch r.Verdict {
	case reply.VerdictDoubtful:
		return "Doubtful: these passages may not answer. Unless one plainly does, say that you do not know."
	case reply.VerdictNotFound:
		return "Not found: what was searched does not answer this. Say that you do not know."
	}
	return ""
}

// isUnanswered reports whether a client is to be told that nothing answers: the verdict says so, and no administrator
// has chosen a passage for the question.
func isUnanswered(r reply.Response) bool {
	return r.Verdict == reply.VerdictNotFound && len(pinnedResults(r)) == 0
}

// pinnedResults returns the results that an administrator has put first, at most chatPassages.
func pinnedResults(r reply.Response) []reply.Result {
	n := 0
	for n < min(chatPassages, len(r.Results)) && r.Results[n].Pinned {
		n++
	}
	return r.Results[:n]
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
