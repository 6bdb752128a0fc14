package handlers

import (
	"errors"
	"fmt"
	"net/http"

	"conclave/jobs"
)

// snapshotBody asks for a snapshot.
type snapshotBody struct {
	Name string `json:"name,omitempty" doc:"What the snapshot's folder is called, in the server's folder of snapshots. Default: the time." example:"monday"`
}

// expertBody asks for another expert.
type expertBody struct {
	Name  string `json:"name" doc:"The expert's name: its bundle lies under that name in the server's folder of bundles, or in its cache." example:"health"`
	Index string `json:"index,omitempty" doc:"The kind of its vector index. Default: index.kind of the configuration." enum:"hnsw,flat,coder"`
}

// JobList is the answer of /v1/jobs.
type JobList struct {
	Jobs []jobs.Job `json:"jobs"`
}

// postSnapshot answers POST /v1/admin/snapshots.
func (a *API) postSnapshot(w http.ResponseWriter, r *http.Request) error {
	body, err := administer[snapshotBody](a, w, r, "SnapshotRequest")
	if err != nil {
		return err
	}
	if body.Name == "" {
		body.Name = a.now().UTC().Format("20060102-150405")
	}
	return a.submit(w, jobs.Request{Kind: jobs.Snapshot, Name: body.Name})
}

// postExpert answers POST /v1/admin/experts.
func (a *API) postExpert(w http.ResponseWriter, r *http.Request) error {
	body, err := administer[expertBody](a, w, r, "ExpertRequest")
	if err != nil {
		return err
	}
	return a.submit(w, jobs.Request{Kind: jobs.AddExpert, Name: body.Name, Index: body.Index})
}

// deleteExpert answers DELETE /v1/admin/experts/{name}.
func (a *API) deleteExpert(w http.ResponseWriter, r *http.Request) error {
	if p := noParameters(r); p != nil {
		return p
	}
	name, p := lastOf(r, "/v1/admin/experts/")
	if p != nil {
		return p
	}
	return a.submit(w, jobs.Request{Kind: jobs.RemoveExpert, Name: name})
}

// administer reads the body of a request that asks for a job.
func administer[T any](a *API, w http.ResponseWriter, r *http.Request, schemaName string) (body T, err error) {
	if p := noParameters(r); p != nil {
		return body, p
	}
	parsed, err := a.readJSON(w, r)
	if err != nil {
		return body, err
	}
	registry := a.document.Components.Schemas
	body, p := decode[T](registry, registry.SchemaFromRef(schemaRef(schemaName)), parsed, maxViolations)
	if p != nil {
		return body, p
	}
	return body, nil
}

// submit asks for a job and answers where to follow it.
func (a *API) submit(w http.ResponseWriter, request jobs.Request) error {
	writer, err := a.writer()
	if err != nil {
		return err
	}
	job, err := writer.jobs.Submit(request)
	if err != nil {
		return jobProblem(err)
	}
	w.Header().Set("Location", "/v1/jobs/"+job.ID)
	return respondWith(w, http.StatusAccepted, job)
}

// jobProblem makes a problem of a refusal.
func jobProblem(err error) error {
	var refusal *jobs.Refusal
	if errors.As(err, &refusal) {
		return newProblem(refusal.Code, sentence(refusal.Detail))
	}
	return notWritten(err)
}

// getJobs answers GET /v1/jobs.
func (a *API) getJobs(w http.ResponseWriter, r *http.Request) error {
	if p := noParameters(r); p != nil {
		return p
	}
	writer, err := a.writer()
	if err != nil {
		return err
	}
	return respond(w, JobList{Jobs: writer.jobs.Jobs()})
}

// getJob answers GET /v1/jobs/{id}.
func (a *API) getJob(w http.ResponseWriter, r *http.Request) error {
	return a.oneJob(w, r, func(j Jobs, id string) (jobs.Job, error) {
		job, ok := j.Job(id)
		if !ok {
			return job, newProblem("unknown_job", fmt.Sprintf("There is no job %s; /v1/jobs lists those that are remembered.", quoted(id)))
		}
		return job, nil
	})
}

// deleteJob answers DELETE /v1/jobs/{id}: it cancels the job.
func (a *API) deleteJob(w http.ResponseWriter, r *http.Request) error {
	return a.oneJob(w, r, func(j Jobs, id string) (jobs.Job, error) {
		job, err := j.Cancel(id)
		if err != nil {
			return job, jobProblem(err)
		}
		return job, nil
	})
}

func (a *API) oneJob(w http.ResponseWriter, r *http.Request, do func(j Jobs, id string) (jobs.Job, error)) error {
	if p := noParameters(r); p != nil {
		return p
	}
	id, p := lastOf(r, "/v1/jobs/")
	if p != nil {
		return p
	}
	writer, err := a.writer()
	if err != nil {
		return err
	}
	job, err := do(writer.jobs, id)
	if err != nil {
		return err
	}
	return respond(w, job)
}
