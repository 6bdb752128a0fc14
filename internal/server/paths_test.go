package server

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/jobs"
)

// TestNoPathsInAnswers: whatever goes wrong, no answer tells where things are on the
// machine. (What a snapshot job has made is the exception: it names the folder.)
func TestNoPathsInAnswers(t *testing.T) {
	site := newSite(t, named("base", "tales", "broken"), "base", "tales")
	site.flip("experts/broken/*.onnx", func(size int) int { return size / 2 })
	site.flip("c/seg-*/tales*.vectors", func(size int) int { return size - 33 })
	site.write("c/jobs/7.json", "damaged")
	site.write("c-snapshots/taken/x", "")
	s := site.serve()
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		} else {
			request.Body, request.ContentLength = nil, 0
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, root := range []string{site.dir, filepath.Dir(site.config.Runtime), os.TempDir()} {
			if strings.Contains(string(text), root) {
				t.Errorf("%s %s: %s", method, path, text)
			}
		}
		return response.StatusCode, string(text)
	}
	s.until("/readyz says nothing of the damage", func() bool { return s.warnings("vectors") != "" })
	if status, text := ask(http.MethodPost, "/v1/admin/experts",
		`{"name":"nobody"}`); status != http.StatusUnprocessableEntity ||
		!strings.Contains(text, "unknown_bundle") {
		t.Errorf("%d %s", status, text)
	}
	ask(http.MethodPost, "/v1/admin/snapshots", `{"name":"taken"}`)
	ask(http.MethodPost, "/v1/admin/snapshots", `{"name":"x.tmp"}`)
	ask(http.MethodPost, "/v1/search", `{"question":"who keeps the light","experts":["tales"],"bm25":false}`)
	ask(http.MethodPost, "/v1/search", `{"question":"who keeps the light"}`)
	if j := s.job(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"broken"}`, http.StatusAccepted,
		nil)); j.State != jobs.Failed ||
		!strings.Contains(j.Error, "onnx") {
		t.Errorf("%+v", j)
	}
	// The collection cannot be written to any more, and then not be read.
	if err := os.RemoveAll(filepath.Join(site.config.Collection, "wal")); err != nil {
		t.Fatal(err)
	}
	ask(http.MethodPut, "/v1/passages/1", `{"text":"x"}`)
	files, err := filepath.Glob(filepath.Join(site.config.Collection, "seg-*", "passages"))
	if err != nil || len(files) != 1 || os.Truncate(files[0], 0) != nil {
		t.Fatal(files, err)
	}
	ask(http.MethodPost, "/v1/search", `{"question":"who keeps the light"}`)
	for _, path := range []string{"/readyz", "/healthz", "/startupz", "/metrics", "/v1/jobs", "/v1/experts", "/v1/passages/2", "/v1/passages", "/v1/limits", "/v1/admin/snapshots"} {
		ask(http.MethodGet, path, "")
	}
}
