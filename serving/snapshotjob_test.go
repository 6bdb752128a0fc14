package serving

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
	site := newSite(t, nil)
	begun := time.Now().UTC().Format(time.RFC3339)
	site.write("c/jobs/1.json", `{"id":"1","kind":"snapshot","name":"monday","state":"running","created":"`+begun+`","attempts":1}`)
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
		if text, err := os.ReadFile(filepath.Join(site.dir, "c-snapshots", name, "MANIFEST")); err != nil || string(text) != "somebody's" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	s.end()
}
