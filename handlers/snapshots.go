package handlers

import "time"

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

// Snapshots lists and removes the snapshots of a collection in the server's folder of snapshots.
type Snapshots interface {
	// List returns the snapshots.
	List() ([]SnapshotInfo, error)
	// Remove removes a snapshot. It returns a *jobs.Refusal if there is none of this name.
	Remove(name string) error
}

// getSnapshots answers GET /v1/admin/snapshots with the snapshots of the collection. It returns a problem if the
// collection cannot be written to.
func (a *API) getSnapshots(*call, none) (list SnapshotList, err error) {
	writer, err := a.changeWriter()
	if err != nil {
		return list, err
	}
	list.Snapshots, err = writer.snapshots.List()
	return list, err
}

// deleteSnapshot answers DELETE /v1/admin/snapshots/{name}: it removes the snapshot. It returns a problem if there is
// none of this name, or the collection cannot be written to.
func (a *API) deleteSnapshot(c *call, _ none) (none, error) {
	writer, err := a.changeWriter()
	if err != nil {
		return none{}, err
	}
	if err := writer.snapshots.Remove(c.name); err != nil {
		return none{}, jobProblem(err)
	}
	return none{}, nil
}
