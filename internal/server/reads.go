package server

import (
	"fmt"

	"example.org/conclave/handlers"
	"example.org/conclave/store"
)

// ReadingWarnings say how many passages the experts do not read as a whole.
func ReadingWarnings(r store.Reads) (warnings []string) {
	if r.Unread > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"the experts can hardly read %d of %d passages, which are in a script or of characters that they were not trained on (the shipped ones read English): these are found by equal words alone",
				r.Unread,
				r.Known,
			),
		)
	}
	if r.Cut > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"the experts read only the beginning of %d of %d passages, which are longer than their max_tokens: what stands further on is found by equal words alone, or once such passages are split",
				r.Cut,
				r.Known,
			),
		)
	}
	if r.Known > 0 && r.Unknown > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf(
				"of %d of %d passages, which an older version indexed, it is not known whether the experts read them: index them again to learn it",
				r.Unknown,
				r.Known+r.Unknown,
			),
		)
	}
	return warnings
}

// tellReads states in /readyz how the experts read the passages.
func (s *Server) tellReads(r store.Reads) {
	const name = "passages"
	if warnings := ReadingWarnings(r); warnings != nil {
		s.api.Readiness().Set(handlers.Component{Name: name, Status: handlers.Ready, Warnings: warnings})
		return
	}
	s.api.Readiness().Remove(name)
}
