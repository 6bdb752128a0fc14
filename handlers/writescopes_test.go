package handlers

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
)

// TestReadOnly refuses writes and says so; before anything is open they have to
// wait.
func TestReadOnly(t *testing.T) {
	for _, c := range []struct {
		readOnly bool
		status   int
		code     string
	}{{true, 403, "read_only"}, {false, 503, "not_ready"}} {
		s := start(t, Options{ReadOnly: c.readOnly})
		for _, r := range []received{
			s.send(http.MethodPut, "/v1/passages/a", `{"text":"a"}`, "Content-Type", "application/json"),
			s.send(http.MethodDelete, "/v1/passages/a", ""),
			s.send(http.MethodPost, "/v1/passages", "{}", "Content-Type", "application/x-ndjson"),
			s.post("/v1/admin/snapshots", "{}"),
			s.send(http.MethodDelete, "/v1/passages?tags_any=a", ""),
			s.send(http.MethodGet, "/v1/jobs", ""),
		} {
			if p := r.problem(t); r.StatusCode != c.status || p.Code != c.code {
				t.Errorf("read only %v: %d %s", c.readOnly, r.StatusCode, r.body)
			}
		}
		if r := s.send(http.MethodGet, "/v1/passages/bees", ""); r.StatusCode != http.StatusOK { // as searches see it
			t.Errorf("GET: %d", r.StatusCode)
		}
		if r := s.send(http.MethodGet, "/v1/limits", ""); !strings.Contains(
			string(r.body),
			fmt.Sprintf(`"read_only":%v`, c.readOnly),
		) {
			t.Errorf("%s", r.body)
		}
	}
}

// TestWriteScopes: keys write with the scope ingest, and change experts with
// admin.
func TestWriteScopes(t *testing.T) {
	s := startWriting(t, writingOptions{
		Options: Options{Keys: []front.Key{
			{
				Name:   "s",
				SHA256: sha256.Sum256([]byte("s")),
				Scopes: []schema.Scope{schema.ScopeSearch},
			}, {Name: "i", SHA256: sha256.Sum256([]byte("i")), Scopes: []schema.Scope{schema.ScopeIngest}}, {Name: "a", SHA256: sha256.Sum256([]byte("a")), Scopes: []schema.Scope{schema.ScopeAdmin}},
		}},
		kinds: map[string]jobs.Handler{jobs.Snapshot: {}, jobs.AddExpert: {}, jobs.RemoveExpert: {}, jobs.DeleteTagged: {}},
	})
	ask := func(key, method, path, body, contentType string) int {
		header := []string{"X-API-Key", key}
		if contentType != "" {
			header = append(header, "Content-Type", contentType)
		}
		return s.send(method, path, body, header...).StatusCode
	}
	for _, c := range []struct {
		method, path, body, contentType string
		allowed                         string // keys
		status                          int
	}{
		{http.MethodPut, "/v1/passages/a", `{"text":"a"}`, schema.TypeJSON, "ia", 0},
		{http.MethodPost, "/v1/passages", `{"id":"b","text":"a"}`, schema.TypeLines, "ia", 200},
		{http.MethodDelete, "/v1/passages/a", "", "", "i", 200},
		{http.MethodGet, "/v1/passages/b", "", "", "sa", 200},
		{http.MethodPost, "/v1/admin/snapshots", `{}`, schema.TypeJSON, "a", 202},
		{http.MethodPost, "/v1/admin/experts", `{"name":"x"}`, schema.TypeJSON, "a", 202},
		{http.MethodDelete, "/v1/admin/experts/y", "", "", "a", 202},
		{http.MethodDelete, "/v1/passages?tags_any=a", "", "", "a", 202},
		{http.MethodGet, "/v1/jobs", "", "", "a", 200},
		{http.MethodGet, "/v1/jobs/1", "", "", "a", 200},
		{http.MethodDelete, "/v1/jobs/1", "", "", "a", 200},
	} {
		for _, key := range []string{"s", "i", "a"} {
			status := ask(key, c.method, c.path, c.body, c.contentType)
			allowed := strings.Contains(c.allowed, key)
			if c.method == http.MethodDelete && c.path == "/v1/passages/a" && key == "a" {
				allowed, status = true, 200 // it is gone by now
			}
			if !allowed && status != http.StatusForbidden ||
				allowed && (status == http.StatusForbidden || c.status != 0 && status != c.status) {
				t.Errorf("%s %s with the key %s: %d", c.method, c.path, key, status)
			}
		}
		if status := ask("nobody's", c.method, c.path, c.body, c.contentType); status != http.StatusUnauthorized {
			t.Errorf("%s %s with a wrong key: %d", c.method, c.path, status)
		}
	}
}
