package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// TestWriteWhileServing: what is written is found by words and by meaning, also after a
// restart.
func TestWriteWhileServing(t *testing.T) {
	site := newSite(t, named("small"), "small")
	s := site.serve()
	s.call(
		http.MethodPut,
		"/v1/passages/new%2F1?refresh=wait",
		`{"title":"Zebras","text":"A zebra crossed the river."}`,
		http.StatusCreated,
		nil,
	)
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "{\"id\":\"bulk/%d\",\"text\":\"Number %d of the herd of zebra.\"}\n", i, i)
	}
	h := s.call(http.MethodPost, "/v1/passages?refresh=wait", lines.String(), http.StatusOK, nil)
	if h.Get("Conclave-Accepted") != "30" {
		t.Errorf("%v", h)
	}
	s.call(http.MethodDelete, "/v1/passages/2", "", http.StatusOK, nil)
	s.call(http.MethodPut, "/v1/passages/1?refresh=wait", `{"text":"Quite another text."}`, http.StatusOK, nil)
	for range 2 {
		if ids := s.find("zebra crossed river"); len(ids) != 20 || ids[0] != "new/1" {
			t.Errorf("by words: %v", ids)
		}
		if ids := s.find("A zebra crossed the river.", "small"); !slices.Contains(ids, "new/1") || len(ids) != 20 {
			t.Errorf("by meaning: %v", ids)
		}
		if ids := s.find("who hid the lamp"); slices.Contains(ids, "2") {
			t.Errorf("a deleted passage is found: %v", ids)
		}
		if ids := s.find("rice"); len(ids) > 0 {
			t.Errorf("the text before is found: %v", ids)
		}
		var info learned.ExpertInfo
		if s.call(http.MethodGet, "/v1/experts/small", "", http.StatusOK, &info); info.Passages != 33 { // 3 − 1 + 1 + 30
			t.Errorf("%+v", info)
		}
		s.end()
		s = site.serve()
	}
	s.end()
	site.verify(33)
}

// TestLateFollowsGenerations: what is told of late interaction is true of the newest
// generation, as it is of the base.
func TestLateFollowsGenerations(t *testing.T) {
	site := newSite(t, []tiny.Expert{{Name: "base"}, {Name: "tokens", Late: 16}}, "base", "tokens")
	s := site.serve()
	for i := range 3 {
		s.call(
			http.MethodPut,
			fmt.Sprintf("/v1/passages/new%d?refresh=wait", i),
			`{"text":"A zebra."}`,
			http.StatusCreated,
			nil,
		)
		var base, late learned.ExpertInfo
		s.call(http.MethodGet, "/v1/experts/base", "", http.StatusOK, &base)
		s.call(http.MethodGet, "/v1/experts/tokens", "", http.StatusOK, &late)
		if base.Passages != 4+i || late.Passages != 4+i {
			t.Errorf("%d passages are written: base has %d, late interaction %d", i+1, base.Passages, late.Passages)
		}
	}
}

// TestTwoServers: one process writes to a collection; others are told so, and may read.
func TestTwoServers(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	var refused *store.WriteError
	if _, err := site.open(); !errors.As(err, &refused) || !errors.Is(err, folder.ErrLocked) {
		t.Errorf("a second server: %v", err)
	}
	site.config.ReadOnly = true
	reader := site.serve()
	if ids := reader.find("zebra"); !slices.Equal(ids, []string{"new"}) {
		t.Errorf("the reader finds %v", ids)
	}
	reader.call(http.MethodPut, "/v1/passages/x", `{"text":"x"}`, http.StatusForbidden, nil)
	reader.call(http.MethodGet, "/v1/passages/new", "", http.StatusOK, nil)
	s.call(http.MethodPut, "/v1/passages/newer?refresh=wait", `{"text":"Another zebra."}`, http.StatusCreated, nil)
	reader.until("the reader does not follow", func() bool { return same(reader.find("zebra"), "new", "newer") })
}

// TestDamagedBundle: an expert whose bundle is damaged is left out, named in /readyz and in
// answers, and the others answer. A passage would lack vectors of it, and is refused
// with what to do; what needs none is done. A damaged base ends it.
func TestDamagedBundle(t *testing.T) {
	site := newSite(t, named("base", "tales"), "base", "tales")
	middle := func(size int) int { return size / 2 }
	_, mend := site.flip("experts/tales/*.onnx", middle)
	refused := func(s *served) {
		t.Helper()
		for path, method := range map[string]string{"/v1/passages/new": http.MethodPut, "/v1/passages": http.MethodPost} {
			var p schema.Problem
			s.call(method, path, `{"id":"new","text":"A zebra."}`, http.StatusServiceUnavailable, &p)
			if p.Code != "not_written" || !containsAll(p.Detail, "expert tales", "onnx", "DELETE /v1/admin/experts/tales") ||
				strings.Contains(p.Detail, site.dir) {
				t.Errorf("%s: %+v", path, p)
			}
		}
	}
	for _, readOnly := range []bool{true, false} {
		site.config.ReadOnly = readOnly
		s := site.serve()
		if reported := s.warnings("expert tales"); !containsAll(reported, "is left out", "onnx") ||
			strings.Contains(reported, site.dir) {
			t.Errorf("/readyz says %q", reported)
		}
		var r reply.Response
		s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light"}`, http.StatusOK, &r)
		if len(r.Degraded) != 1 || r.Degraded[0].Source != "tales" || len(r.Results) == 0 {
			t.Errorf("left out %+v, %d results", r.Degraded, len(r.Results))
		}
		if s.find("who keeps the light", "base"); !strings.Contains(s.log.String(), "an expert is left out") {
			t.Errorf("the log says nothing of it:\n%s", s.log.String())
		}
		if readOnly {
			s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusForbidden, nil)
			s.end()
			continue
		}
		refused(s)
		s.call(http.MethodDelete, "/v1/passages/3?refresh=wait", "", http.StatusOK, nil)
		if j := s.done(s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"monday"}`, http.StatusAccepted,
			nil)); j.Result.Passages != 2 {
			t.Errorf("a snapshot: %+v", j.Result)
		}
		s.end()
	}
	mend()
	flush := site.config.Ingest.FlushAfter
	site.config.Ingest.FlushAfter = time.Hour
	s := site.serve()
	s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusCreated, nil) // is in the log alone
	s.end()
	site.config.Ingest.FlushAfter = flush

	// Once the expert is removed, everything is written: also what was acknowledged before.
	_, mend = site.flip("experts/tales/*.onnx", middle)
	s = site.serve()
	refused(s)
	s.done(s.call(http.MethodDelete, "/v1/admin/experts/tales", "", http.StatusAccepted, nil))
	s.call(http.MethodPut, "/v1/passages/more", `{"text":"Another zebra."}`, http.StatusCreated, nil)
	// What could not be indexed before is tried again after a while.
	s.until("what was written is not found", func() bool { return same(s.find("another zebra"), "more", "new") })
	if reported := s.warnings("expert tales"); reported != "" {
		t.Errorf("/readyz still says %q", reported)
	}
	s.end()
	site.verify(4)

	mend()
	site.flip("experts/base/*.onnx", middle)
	if _, err := site.open(); err == nil || !containsAll(err.Error(), "base", "onnx") {
		t.Errorf("a damaged base: %v", err)
	}
}

// TestSilentDamagedBundle: an expert that is not searched, and whose bundle is damaged,
// refuses passages, and no answer names it.
func TestSilentDamagedBundle(t *testing.T) {
	site := newSite(t, named("base", "tales"), "base", "tales")
	site.flip("experts/tales/*.onnx", func(size int) int { return size / 2 })
	site.config.Experts = []configs.Expert{{Name: "base"}}
	s := site.serve()
	s.find("who keeps the light", "base")
	var r reply.Response
	s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light"}`, http.StatusOK, &r)
	if len(r.Degraded) != 0 {
		t.Errorf("left out %+v", r.Degraded)
	}
	var p schema.Problem
	if s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusServiceUnavailable, &p); !containsAll(
		p.Detail, "expert tales",
	) {
		t.Errorf("%+v", p)
	}
	if reported := s.warnings("expert tales"); !containsAll(reported, "onnx") {
		t.Errorf("/readyz says %q", reported)
	}
}

// TestLimitsOfNothing: a limit of 0 allows nothing; it does not stand for another.
func TestLimitsOfNothing(t *testing.T) {
	site := newSite(t, named("base"), "base")
	site.config.Limits.Tags, site.config.Limits.MetadataBytes = 0, 0
	s := site.serve()
	s.call(
		http.MethodPut,
		"/v1/passages/new",
		`{"text":"A zebra.","tags":["animals"]}`,
		http.StatusUnprocessableEntity,
		nil,
	)
	s.call(
		http.MethodPut,
		"/v1/passages/new",
		`{"text":"A zebra.","metadata":{"legs":4}}`,
		http.StatusRequestEntityTooLarge,
		nil,
	)
	s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusCreated, nil)
}
