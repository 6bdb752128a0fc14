package server

import (
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
)

// tellReads shows in /readyz how many passages the experts cannot read or read only in part. If there are none, it
// removes that warning.
func (s *collection) tellReads(r store.Reads) {
	const name = "passages"
	if warnings := r.Warnings(); warnings != nil {
		s.api.Readiness().Set(schema.Component{Name: name, Status: handlers.Ready, Warnings: warnings})
		return
	}
	s.api.Readiness().Remove(name)
}
