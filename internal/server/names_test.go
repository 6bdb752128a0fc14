package server

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"example.org/conclave/handlers"
)

// TestSnapshotsBeginWithALetter: names that other programs take for options are refused, and
// snapshots that earlier versions gave such names are listed and removed.
func TestSnapshotsBeginWithALetter(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	for _, name := range []string{"-rf", "--help", "_a", ".a", "-", "_"} {
		var p struct{ Code string }
		s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"`+name+`"}`, http.StatusUnprocessableEntity, &p)
		if p.Code != "invalid_name" {
			t.Errorf("%q: %+v", name, p)
		}
	}
	for _, name := range []string{"a-b_c.d", "0"} {
		s.done(s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"`+name+`"}`, http.StatusAccepted, nil))
	}
	folder := snapshotsOf(site.config)
	if err := os.Rename(filepath.Join(folder, "0"), filepath.Join(folder, "-rf")); err != nil {
		t.Fatal(err)
	}
	var list handlers.SnapshotList
	s.call(http.MethodGet, "/v1/admin/snapshots", "", http.StatusOK, &list)
	if len(list.Snapshots) != 2 || list.Snapshots[0].Name != "-rf" {
		t.Errorf("%+v", list)
	}
	s.call(http.MethodDelete, "/v1/admin/snapshots/-rf", "", http.StatusNoContent, nil)
}
