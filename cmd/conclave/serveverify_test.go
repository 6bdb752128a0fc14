package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"conclave/search"
)

// TestServeDamagedVectors: a server over a file with a flipped bit says so
// before anybody asks; the damaged expert is left out of every answer, with the
// file's name in the log, and the others answer.
func TestServeDamagedVectors(t *testing.T) {
	tinyCollection(t, []string{"base", "tales"}, "base,tales")
	files, err := filepath.Glob("c/seg-*/tales*.vectors")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-33] ^= 1 // in the last vector, or the sum of them: 24 bytes of seal are behind it
	if err := os.WriteFile(files[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	type readiness struct {
		Components []struct {
			Name     string
			Warnings []string
		}
	}
	said := func() string {
		var r readiness
		s.call(http.MethodGet, "/readyz", "", http.StatusOK, &r)
		for _, c := range r.Components {
			if c.Name == "vectors" && len(c.Warnings) == 1 {
				return c.Warnings[0]
			}
		}
		return ""
	}
	for deadline := time.Now().Add(30 * time.Second); said() == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("/readyz says nothing of the damage:\n%s", s.log.String())
		}
	}
	if name := filepath.Base(files[0]); !strings.Contains(said(), name) || !strings.Contains(s.log.String(), name) {
		t.Errorf("%s is not named: %s", name, said())
	}
	var r search.Response
	s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light","fusion":"rrf"}`, http.StatusOK, &r)
	if len(r.Degraded) != 1 || r.Degraded[0].Source != "tales" || len(r.Results) == 0 {
		t.Errorf("left out %+v, %d results", r.Degraded, len(r.Results))
	}
	s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light","fusion":"rrf","experts":["tales"],"bm25":false}`, http.StatusServiceUnavailable, nil)
	if code := s.end(); code != exitOK {
		t.Errorf("ended with %d", code)
	}
}
