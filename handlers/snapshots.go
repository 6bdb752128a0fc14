package handlers

import (
	"net/http"
	"time"
)

// SnapshotInfo is one snapshot of the collection.
type SnapshotInfo struct {
	Name       string    `json:"name"`
	Created    time.Time `json:"created"`
	Generation uint64    `json:"generation"`
	Passages   int       `json:"passages"`
}

// SnapshotList is the answer of GET /v1/admin/snapshots.
type SnapshotList struct {
	Snapshots []SnapshotInfo `json:"snapshots"`
}

// Snapshots are those in the server's folder of snapshots.
type Snapshots interface {
	List() ([]SnapshotInfo, error)
	// Remove removes a snapshot; what keeps it from that is a *jobs.Refusal.
	Remove(name string) error
}

// getSnapshots answers GET /v1/admin/snapshots.
func (a *API) getSnapshots(w http.ResponseWriter, r *http.Request) error {
	if p := noParameters(r); p != nil {
		return p
	}
	writer, err := a.writer()
	if err != nil {
		return err
	}
	list, err := writer.snapshots.List()
	if err != nil {
		return err
	}
	return respond(w, SnapshotList{Snapshots: list})
}

// deleteSnapshot answers DELETE /v1/admin/snapshots/{name}.
func (a *API) deleteSnapshot(w http.ResponseWriter, r *http.Request) error {
	if p := noParameters(r); p != nil {
		return p
	}
	name, p := lastOf(r, "/v1/admin/snapshots/")
	if p != nil {
		return p
	}
	writer, err := a.writer()
	if err != nil {
		return err
	}
	if err := writer.snapshots.Remove(name); err != nil {
		return jobProblem(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
