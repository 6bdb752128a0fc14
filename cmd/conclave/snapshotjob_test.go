package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"conclave/jobs"
)

// TestSnapshotJobAgain: a snapshot job that a kill interrupted is done after the
// restart, and nothing goes that it has not made: a snapshot that is called as
// its own was while it was made.
func TestSnapshotJobAgain(t *testing.T) {
	tinyCollection(t, nil, "none")
	begun := time.Now().UTC().Format(time.RFC3339)
	for path, text := range map[string]string{
		"c/jobs/1.json":                    `{"id":"1","kind":"snapshot","name":"monday","state":"running","created":"` + begun + `","attempts":1}`,
		"c-snapshots/monday.tmp/MANIFEST":  "somebody's",
		"c-snapshots/tuesday.tmp/MANIFEST": "somebody's",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t, "--config", "conclave.yaml")
	var job jobs.Job
	for !job.State.Ended() {
		s.call(http.MethodGet, "/v1/jobs/1", "", http.StatusOK, &job)
		time.Sleep(10 * time.Millisecond)
	}
	if job.State != jobs.Failed || job.Attempts != 2 {
		t.Errorf("with another's folder in the way: %+v", job)
	}
	for _, name := range []string{"wednesday.tmp", "monday.TMP"} {
		s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"`+name+`"}`, http.StatusUnprocessableEntity, nil)
	}
	for _, name := range []string{"monday.tmp", "tuesday.tmp"} {
		if text, err := os.ReadFile(filepath.Join("c-snapshots", name, "MANIFEST")); err != nil || string(text) != "somebody's" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
}
