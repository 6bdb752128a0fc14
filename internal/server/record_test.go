package server

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
	"example.org/conclave/search/reply"
)

// TestUnanswerableCalibration: a record whose method the collection cannot answer by
// changes nothing: neither for a running server nor for one that starts; each says so.
func TestUnanswerableCalibration(t *testing.T) {
	site := newSite(t, named("small"), "small") // without an ensemble
	path := filepath.Join("c", calibration.RecordFile)
	record := func(auto string) {
		site.write(path, "format: 3\nwritten: 2026-01-01T00:00:00Z\nquestions: []\nalpha: 0.5\nauto: "+auto+"\n")
	}
	auto := func(s *served) string {
		var r reply.Response
		s.call(http.MethodPost, "/v1/search", `{"question": "who hid the lamp"}`, http.StatusOK, &r)
		return r.Fusion
	}
	s := site.serve()
	record("sum")
	s.until("a calibration is not taken over", func() bool { return auto(s) == fusion.MethodSum })
	record("muf") // needs an ensemble
	s.until(
		"nothing is said of a calibration that cannot be used",
		func() bool { return strings.Contains(s.warnings("calibration"), "the one before is used") },
	)
	if reported := s.warnings("calibration"); !containsAll(reported, calibration.RecordFile, "small") ||
		auto(s) != fusion.MethodSum ||
		!strings.Contains(s.log.String(), "cannot be used") {
		t.Errorf("auto is %s, /readyz says %q", auto(s), reported)
	}
	s.end()

	s = site.serve()
	if reported := s.warnings("calibration"); !containsAll(reported, calibration.RecordFile, "the shipped one is used") ||
		auto(s) != fusion.MethodGate {
		t.Errorf("after a start auto is %s, /readyz says %q", auto(s), reported)
	}
	record("rrf")
	s.until(
		"a good calibration is not taken over",
		func() bool { return auto(s) == fusion.MethodRRF && s.warnings("calibration") == "" },
	)
}
