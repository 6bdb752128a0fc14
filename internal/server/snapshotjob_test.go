package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.org/conclave/internal/jobs"
	"example.org/conclave/store/folder"
)

// TestSnapshotJobAgain: a snapshot job that a kill interrupted is done after the
// restart, and nothing goes that it has not made: a snapshot that is called as
// its own was while it was made.
func TestSnapshotJobAgain(t *testing.T) {
	site := newSite(t, nil)
	begun := time.Now().UTC().Format(time.RFC3339)
	site.write(
		"c/jobs/1.json",
		`{"id":"1","kind":"snapshot","name":"monday","state":"running","created":"`+begun+`","attempts":1}`,
	)
	site.write("c-snapshots/monday.tmp/MANIFEST", "somebody's")
	site.write("c-snapshots/tuesday.tmp/MANIFEST", "somebody's")
	s := site.serve()
	job := s.job(http.Header{"Location": {"/v1/jobs/1"}})
	if job.State != jobs.Failed || job.Attempts != 2 {
		t.Errorf("with another's folder in the way: %+v", job)
	}
	for _, name := range []string{"wednesday.tmp", "monday.TMP"} {
		s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"`+name+`"}`, http.StatusUnprocessableEntity, nil)
	}
	for _, name := range []string{"monday.tmp", "tuesday.tmp"} {
		if text, err := os.ReadFile(filepath.Join(site.dir, "c-snapshots", name, "MANIFEST")); err != nil ||
			string(text) != "somebody's" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	s.end()
}

// TestSnapshotJobKnowsItsOwn: a snapshot job that is begun again takes the folder
// of its name for its own where it made it, and no other collection's.
func TestSnapshotJobKnowsItsOwn(t *testing.T) {
	site := newSite(t, nil)
	others, mine := filepath.Join(site.dir, "c-snapshots", "others"), filepath.Join(site.dir, "c-snapshots", "mine")
	for _, out := range []string{others, mine} {
		if _, err := folder.Snapshot(t.Context(), site.config.Collection, out); err != nil {
			t.Fatal(err)
		}
	}
	c, err := folder.Open(mine)
	if err != nil {
		t.Fatal(err)
	}
	id := c.ID()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now().UTC().Format(time.RFC3339)
	for number, name := range map[string]string{"1": "others", "2": "mine"} { // killed before the end was written down
		site.write(
			"c/jobs/"+number+".json",
			`{"id":"`+number+`","kind":"snapshot","name":"`+name+`","state":"running","created":"`+begun+`","attempts":1}`,
		)
	}
	site.write("c/jobs/2.work", id)
	s := site.serve()
	if job := s.job(http.Header{"Location": {"/v1/jobs/1"}}); job.State != jobs.Failed {
		t.Errorf("another's snapshot was taken for the job's: %+v", job)
	}
	if job := s.job(http.Header{"Location": {"/v1/jobs/2"}}); job.State != jobs.Done || job.Result.Folder != mine {
		t.Errorf("the job's own snapshot: %+v", job)
	}
	s.end()
}
