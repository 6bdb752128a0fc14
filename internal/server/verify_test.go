package server

import (
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/search/reply"
)

// TestDamagedVectors: a server over a file with a flipped bit says so before anybody
// asks; the damaged expert is left out of every answer, with the file's name in the
// log, and the others answer.
func TestDamagedVectors(t *testing.T) {
	site := newSite(t, named("base", "tales"), "base", "tales")
	// In the last vector, or the sum of them: 24 bytes of seal are behind it.
	name, _ := site.flip("c/seg-*/tales*.vectors", func(size int) int { return size - 33 })
	s := site.serve()
	s.until("/readyz says nothing of the damage", func() bool { return s.warnings("vectors") != "" })
	if !strings.Contains(s.warnings("vectors"), name) || !strings.Contains(s.log.String(), name) {
		t.Errorf("%s is not named: %s", name, s.warnings("vectors"))
	}
	var r reply.Response
	s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light","fusion":"rrf"}`, http.StatusOK, &r)
	if len(r.Degraded) != 1 || r.Degraded[0].Source != "tales" || len(r.Results) == 0 {
		t.Errorf("left out %+v, %d results", r.Degraded, len(r.Results))
	}
	s.call(
		http.MethodPost,
		"/v1/search",
		`{"question":"who keeps the light","fusion":"rrf","experts":["tales"],"bm25":false}`,
		http.StatusServiceUnavailable,
		nil,
	)
}
