package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"conclave/handlers"
	"conclave/jobs"
	"conclave/search"
)

// TestDamagedBundle: an expert whose bundle is damaged is out, named in /readyz,
// by the doctor and in answers, and the others answer; a damaged base ends it.
func TestDamagedBundle(t *testing.T) {
	tinyCollection(t, []string{"base", "tales"}, "base,tales")
	damage := func(name string) (mend func()) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join("experts", name, "*.onnx"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		content, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		damaged := append([]byte{}, content...)
		damaged[len(damaged)/2] ^= 1
		write(t, files[0], string(damaged))
		return func() { write(t, files[0], string(content)) }
	}
	mend := damage("tales")
	for _, args := range [][]string{nil, {"--read-only"}} {
		s := startServer(t, args...)
		var health struct {
			Components []struct {
				Name     string
				Warnings []string
			}
		}
		s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		warned := ""
		for _, c := range health.Components {
			if c.Name == "expert tales" {
				warned = strings.Join(c.Warnings, "\n")
			}
		}
		if !containsAll(warned, []string{"is out", "onnx"}) {
			t.Errorf("%v: /readyz says %q", args, warned)
		}
		var r search.Response
		s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light"}`, http.StatusOK, &r)
		if len(r.Degraded) != 1 || r.Degraded[0].Source != "tales" || len(r.Results) == 0 {
			t.Errorf("%v: left out %+v, %d results", args, r.Degraded, len(r.Results))
		}
		s.call(http.MethodPost, "/v1/search", `{"question":"who keeps the light","experts":["base"]}`, http.StatusOK, &r)
		if len(r.Degraded) != 0 {
			t.Errorf("%v: asked for base alone, %+v", args, r.Degraded)
		}
		if len(args) > 0 { // it only reads
			s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusForbidden, nil)
		} else {
			// A passage would lack vectors of it, and is refused with what to do; what needs
			// none is done.
			for path, method := range map[string]string{"/v1/passages/new": http.MethodPut, "/v1/passages": http.MethodPost} {
				var p handlers.Problem
				s.call(method, path, `{"id":"new","text":"A zebra."}`, http.StatusServiceUnavailable, &p)
				if p.Code != "not_written" || !containsAll(p.Detail, []string{"expert tales", "onnx", "DELETE /v1/admin/experts/tales"}) {
					t.Errorf("%s: %+v", path, p)
				}
			}
			s.call(http.MethodDelete, "/v1/passages/3?refresh=wait", "", http.StatusOK, nil)
			if j := s.job(s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"monday"}`, http.StatusAccepted, nil)); j.State != jobs.Done || j.Result.Passages != 2 {
				t.Errorf("a snapshot: %+v", j)
			}
		}
		if code := s.end(); code != exitOK || !strings.Contains(s.log.String(), "an expert is out") {
			t.Errorf("%v: ended with %d:\n%s", args, code, s.log.String())
		}
	}
	code, out, complaints := conclave(t, "search", "--collection", "c", "who keeps the light")
	if code != exitOK || !strings.Contains(out, "left out: tales: its bundle cannot be used") || strings.Contains(complaints, "level=") {
		t.Errorf("search: exit code %d, %s%s", code, out, complaints)
	}
	if code, out, _ := conclave(t, "doctor", "--collection", "c"); code != exitFailed || !strings.Contains(out, "fails  bundle tales") {
		t.Errorf("doctor: exit code %d, %s", code, out)
	}
	mend()
	s := startServer(t)
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	s.end()

	// The remedy of the refusal: once the expert is out, everything is written.
	damage("tales")
	s = startServer(t)
	s.call(http.MethodPut, "/v1/passages/more", `{"text":"Another zebra."}`, http.StatusServiceUnavailable, nil)
	if j := s.job(s.call(http.MethodDelete, "/v1/admin/experts/tales", "", http.StatusAccepted, nil)); j.State != jobs.Done {
		t.Fatalf("%+v\n%s", j, s.log.String())
	}
	s.call(http.MethodPut, "/v1/passages/more?refresh=wait", `{"text":"Another zebra."}`, http.StatusCreated, nil)
	var r search.Response
	s.call(http.MethodPost, "/v1/search", `{"question":"another zebra"}`, http.StatusOK, &r)
	if len(r.Degraded) != 0 || len(r.Results) == 0 || r.Results[0].ID != "more" {
		t.Errorf("after it left: %+v, left out %+v", r.Results, r.Degraded)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("ended with %d:\n%s", code, s.log.String())
	}

	damage("base")
	code, _, complaints = conclave(t, "serve", "--collection", "c", "--listen", freeAddress(t))
	if code != exitFailed || !containsAll(complaints, []string{"base", "onnx"}) {
		t.Errorf("a damaged base: exit code %d, %s", code, complaints)
	}
}
