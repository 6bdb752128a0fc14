package serving

import (
	"conclave/handlers"
	"conclave/jobs"
	"conclave/opensearch"
)

// writeStore lets passages be written to the store. A change is acknowledged when the
// cluster has it with its vectors, so nothing of it is kept here.
func (s *Server) writeStore() error {
	store := s.assembly.Store.Store()
	writer, err := opensearch.NewWriter(store, s.encoders(expertsOf(store.Manifest())), SharedPasses(s.assembly.Experts.opened))
	if err != nil {
		return err
	}
	s.tellWritable()
	return s.api.AttachWriter(writer, noJobs{}, noSnapshots{})
}

// errNoJobs refuses jobs: their records would lie in a folder of this server, while any
// number of servers are in front of one store.
func errNoJobs() error {
	return jobs.Refuse("no_such_path", "the passages are in a store, which has no jobs: experts are added to it and removed from outside, and the cluster makes its own snapshots")
}

// noJobs are the jobs of a store.
type noJobs struct{}

// Submit implements handlers.Jobs.
func (noJobs) Submit(jobs.Request) (jobs.Job, error) { return jobs.Job{}, errNoJobs() }

// Job implements handlers.Jobs.
func (noJobs) Job(string) (jobs.Job, bool) { return jobs.Job{}, false }

// Jobs implements handlers.Jobs.
func (noJobs) Jobs() []jobs.Job { return []jobs.Job{} }

// Cancel implements handlers.Jobs.
func (noJobs) Cancel(string) (jobs.Job, error) { return jobs.Job{}, errNoJobs() }

// noSnapshots are those of a store.
type noSnapshots struct{}

// List implements handlers.Snapshots.
func (noSnapshots) List() ([]handlers.SnapshotInfo, error) { return []handlers.SnapshotInfo{}, nil }

// Remove implements handlers.Snapshots.
func (noSnapshots) Remove(name string) error {
	return jobs.Refuse("unknown_snapshot", "there is no snapshot %q", name)
}
