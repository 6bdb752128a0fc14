package server

import (
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
)

// tellReads states in /readyz how the experts read the passages.
func (s *collection) tellReads(r store.Reads) {
	const name = "passages"
	if warnings := r.Warnings(); warnings != nil {
		s.api.Readiness().Set(schema.Component{Name: name, Status: handlers.Ready, Warnings: warnings})
		return
	}
	s.api.Readiness().Remove(name)
}
