package handlers

import (
	"encoding/json"
	"net/http"
	"testing"

	"example.org/conclave/internal/jobs"
)

// noSnapshots is a folder of one snapshot, until that is removed.
type noSnapshots struct{ removed bool }

func (n *noSnapshots) List() ([]SnapshotInfo, error) {
	if n.removed {
		return []SnapshotInfo{}, nil
	}
	return []SnapshotInfo{{Name: "monday", Generation: 3, Passages: 7}}, nil
}

func (n *noSnapshots) Remove(name string) error {
	if n.removed || name != "monday" {
		return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
	}
	n.removed = true
	return nil
}

func TestSnapshotsListed(t *testing.T) {
	s := startWriting(t, writingOptions{})
	var list SnapshotList
	if err := json.Unmarshal(s.send(http.MethodGet, "/v1/admin/snapshots", "").body, &list); err != nil ||
		len(list.Snapshots) != 1 ||
		list.Snapshots[0].Passages != 7 {
		t.Errorf("%+v, %v", list, err)
	}
	for i, status := range []int{http.StatusNoContent, http.StatusNotFound} {
		if r := s.send(http.MethodDelete, "/v1/admin/snapshots/monday", ""); r.StatusCode != status {
			t.Errorf("%d: %d %s", i, r.StatusCode, r.body)
		}
	}
}
