package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/collections"
	"example.org/conclave/search/reply"
)

// TestSettingsAreFollowed: synonyms and types of fields of a changed file count without indexing; a file
// that cannot be read changes nothing.
func TestSettingsAreFollowed(t *testing.T) {
	site := newSite(t, named("small"), "small")
	s := site.serve()
	path := filepath.Join("c", collections.SettingsFile)
	found := func(question string) (n int, used []reply.Expansion) {
		var r reply.Response
		body := `{"question": "` + question + `", "experts": [], "fusion": "sum"}`
		s.call(http.MethodPost, "/v1/search", body, http.StatusOK, &r)
		return len(r.Results), r.Synonyms
	}
	if n, used := found("luminaire"); n != 0 || used != nil {
		t.Fatalf("%d results, %v", n, used)
	}
	lamps, _ := found("lamp")
	site.write(path, "synonyms:\n  - {from: [luminaire], to: [lamp]}\nfields: {year: number}\n")
	s.until("synonyms are not taken over", func() bool { n, _ := found("luminaire"); return n == lamps && n > 0 })
	if _, used := found("Luminaire"); len(used) != 1 || used[0].Word != "Luminaire" || used[0].As[0] != "lamp" {
		t.Errorf("%+v", used)
	}
	s.call(http.MethodPost, "/v1/search", `{"question": "lamp", "filter": {"field": "year", "eq": "old"}}`,
		http.StatusUnprocessableEntity, nil)
	site.write(path, "synonyms:\n  - {words: [alone]}\n")
	s.until("nothing is said", func() bool { return strings.Contains(s.log.String(), "at least two words") })
	if n, _ := found("luminaire"); n != lamps {
		t.Errorf("%d results, want %d: a file that cannot be used changed something", n, lamps)
	}
}
