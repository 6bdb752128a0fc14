package server

import (
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/handlers"
)

// TestPassagesNobodyReads: an upload says of each line whether the experts read it, and
// /readyz of how many passages, also after a restart and when one is replaced.
func TestPassagesNobodyReads(t *testing.T) {
	site := newSite(t, named("small"), "small")
	s := site.serve()
	if said := s.warnings("passages"); said != "" {
		t.Errorf("of readable passages: %s", said)
	}
	long := strings.Repeat("the river ", 5000)
	var result handlers.WriteResult
	s.call(http.MethodPut, "/v1/passages/thai?refresh=wait", `{"text":"ต้องชำระใบแจ้งหนี้"}`, http.StatusCreated, &result)
	if !result.Unread || result.Truncated {
		t.Errorf("%+v", result)
	}
	s.call(http.MethodPut, "/v1/passages/other?refresh=wait", `{"text":"`+long+`"}`, http.StatusCreated, nil)
	result = handlers.WriteResult{}
	s.call(http.MethodPut, "/v1/passages/long?refresh=wait", `{"text":"`+long+`"}`, http.StatusCreated, &result)
	if !result.Truncated || result.Unread {
		t.Errorf("%+v", result)
	}
	s.call(http.MethodPut, "/v1/passages/short?refresh=wait", `{"text":"a story"}`, http.StatusCreated, nil)
	for range 2 {
		s.until("the passages are counted", func() bool {
			said := s.warnings("passages")
			return strings.Contains(said, "hardly read 1 of 7") && strings.Contains(said, "do not read all of 2 of 7")
		})
		s.end()
		s = site.serve()
	}
	s.call(http.MethodPut, "/v1/passages/thai?refresh=wait", `{"text":"an invoice"}`, http.StatusOK, nil)
	s.call(http.MethodDelete, "/v1/passages/long", "", http.StatusOK, nil)
	s.until("they are counted again", func() bool {
		said := s.warnings("passages")
		return !strings.Contains(said, "hardly") && strings.Contains(said, "do not read all of 1 of 6")
	})
	s.end()
}
