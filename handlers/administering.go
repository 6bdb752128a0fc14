package handlers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/storage"
)

// snapshotBody asks for a snapshot.
type snapshotBody struct {
	Name string `json:"name,omitempty"`
}

// expertBody asks for another expert.
type expertBody struct {
	Name  string `json:"name"`
	Index string `json:"index,omitempty"`
}

// JobList is the answer of /v1/jobs.
type JobList struct {
	Jobs []jobs.Job `json:"jobs"`
}

// postSnapshot answers POST /v1/admin/snapshots: it starts a job that makes a snapshot (submitJob). Without a name in
// the body the snapshot is named by the time, such as 20260131-120000. Its problems are those of submitJob.
func (a *API) postSnapshot(c *call, body snapshotBody) (jobs.Job, error) {
	if body.Name == "" {
		body.Name = a.options.Now().UTC().Format("20060102-150405")
	}
	return a.submitJob(c, jobs.Request{Kind: jobs.Snapshot, Name: body.Name})
}

// postExpert answers POST /v1/admin/experts: it starts a job that encodes all passages with another expert (submitJob).
// Its problems are those of submitJob.
func (a *API) postExpert(c *call, body expertBody) (jobs.Job, error) {
	return a.submitJob(c, jobs.Request{Kind: jobs.AddExpert, Name: body.Name, Index: body.Index})
}

// deleteExpert answers DELETE /v1/admin/experts/{name}: it starts a job that removes the expert (submitJob). Its
// problems are those of submitJob.
func (a *API) deleteExpert(c *call, _ none) (jobs.Job, error) {
	return a.submitJob(c, jobs.Request{Kind: jobs.RemoveExpert, Name: c.name})
}

// DryRun is the answer to a deletion with dry_run, which deletes nothing.
type DryRun struct {
	Passages int `json:"passages"` // that would be deleted
}

// deletePassages answers DELETE /v1/passages: it starts a job that deletes the passages that have tags and meet a
// condition, or that have ids (submitJob). With dry_run it deletes nothing and returns their number as a DryRun. It
// returns a problem if the query names no passages, an empty tag, or ids together with another condition.
func (a *API) deletePassages(c *call, _ none) (any, error) {
	engine, err := c.admittedEngine()
	if err != nil {
		return nil, err
	}
	dry := c.query["dry_run"] == true
	delete(c.query, "dry_run")
	condition, err := c.queryCondition()
	if err != nil {
		return nil, err
	}
	if len(c.query) == 0 || condition != nil && condition.Empty() {
		return nil, schema.NewProblem(
			"missing_parameter",
			"Say which passages to delete: by tags_all, tags_any or filter, or by ids. Without any of these, all would be deleted.",
		)
	}
	filter := storage.Filter{TagsAll: stringsOf(c.query["tags_all"]), TagsAny: stringsOf(c.query["tags_any"])}
	ids := stringsOf(c.query["ids"])
	if len(ids) > 0 && len(c.query) > 1 {
		return nil, schema.NewProblem(
			"invalid_query",
			"ids cannot be combined with other conditions: it would not be clear whether all passages that meet them are meant, or only those with the ids.",
		)
	}
	query := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		if name == schema.FilterParameter {
			query.Set(name, wording.Shorten(asJSON(c.query[name])))
			continue
		}
		tags := stringsOf(c.query[name])
		if len(tags) == 0 { // it asks for nothing, and what was meant to narrow would not
			return nil, schema.NewProblem("empty_tag", fmt.Sprintf("%s is empty: name one, or leave it out.", name),
				schema.ProblemField{Pointer: "/" + name, Parameter: name, Detail: "is empty"})
		}
		query.Set(name, strings.Join(tags, ","))
	}
	if err := filter.Check(); err != nil {
		return nil, schema.AsParameters(problemOf(c.r.Context(), err))
	}
	if dry || condition != nil { // a condition that cannot be followed is refused now
		if condition != nil {
			filter.Condition = *condition
		}
		n, err := a.countDeleted(c, engine, filter, ids)
		if err != nil {
			return nil, schema.AsParameters(problemOf(c.r.Context(), err))
		}
		if dry {
			return DryRun{n}, nil
		}
	}
	// Tags and ids that come from a query string have no commas.
	name := strings.ReplaceAll(query.Encode(), "%2C", ",")
	if condition != nil {
		name = query.Encode()
	}
	return a.submitJob(c, jobs.Request{
		Kind: jobs.DeleteTagged, Name: name, TagsAll: filter.TagsAll, TagsAny: filter.TagsAny, IDs: ids, Filter: condition,
	})
}

// countDeleted returns how many passages a deletion would delete, as searches see them: those with one of the ids, or,
// if there are no ids, those that f lets through. It counts only passages that the caller may see. Its errors are the
// engine's, or the context's.
func (a *API) countDeleted(c *call, engine *admittedEngine, f storage.Filter, ids []string) (n int, err error) {
	if len(ids) == 0 {
		return engine.Count(c.r.Context(), f)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		_, _, err := engine.Passage(c.r.Context(), search.Caller{}, id)
		var refused *fault.Error
		switch {
		case err == nil:
			n++
		case !errors.As(err, &refused) || refused.Kind != fault.NotFound:
			return n, err
		}
	}
	return n, nil
}

// submitJob adds a job to the queue and returns it. It sets the answer's status to 202 and Location to the job's path.
// It returns a problem if the collection cannot be written to or the queue refuses the job.
func (a *API) submitJob(c *call, request jobs.Request) (job jobs.Job, err error) {
	writer, err := a.changeWriter()
	if err != nil {
		return job, err
	}
	job, err = writer.jobs.Submit(c.r.Context(), request)
	if err != nil {
		return job, jobProblem(err)
	}
	c.w.Header().Set("Location", rootOf(c.r.Context())+"/jobs/"+job.ID)
	c.status = http.StatusAccepted
	return job, nil
}

// jobProblem returns the problem for an error of the job queue: that of a *jobs.Refusal, otherwise that of
// storeProblem. An error that only says that the request ended is returned as it is. err must not be nil.
func jobProblem(err error) error {
	var refusal *jobs.Refusal
	if errors.As(err, &refusal) {
		return schema.NewProblem(refusal.Code, schema.Sentence(refusal.Detail))
	}
	return storeProblem(err)
}

// jobsUnreadable returns the problem "unavailable" for an error of reading the list of jobs. An error that says that
// the request ended or its time is up is returned as it is.
func jobsUnreadable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	return schema.NewProblem("unavailable", "The jobs could not be read; the server's log says why.").Because(err)
}

// getJobs answers GET /v1/jobs with the jobs that are remembered, the newest first. It returns a problem if the
// collection cannot be written to, since it has no jobs then, or the jobs cannot be read.
func (a *API) getJobs(c *call, _ none) (list JobList, err error) {
	writer, err := a.changeWriter()
	if err != nil {
		return list, err
	}
	list.Jobs, err = writer.jobs.Jobs(c.r.Context())
	if err != nil {
		err = jobsUnreadable(err)
	}
	return list, err
}

// getJob answers GET /v1/jobs/{id} with one job. It returns the problem unknown_job (404) if there is none with this
// id. It returns another problem if the collection cannot be written to, since it has no jobs then, or the jobs cannot
// be read.
func (a *API) getJob(c *call, _ none) (job jobs.Job, err error) {
	writer, err := a.changeWriter()
	if err != nil {
		return job, err
	}
	job, ok, err := writer.jobs.Job(c.r.Context(), c.name)
	if err != nil {
		return job, jobsUnreadable(err)
	}
	if !ok {
		return job, schema.NewProblem(
			"unknown_job",
			fmt.Sprintf("There is no job %s; /v1/jobs lists those that are remembered.", wording.Quote(c.name)),
		)
	}
	return job, nil
}

// deleteJob answers DELETE /v1/jobs/{id}: it cancels the job and returns it. A running job ends a moment later. It
// returns a problem if there is no such job or it has ended.
func (a *API) deleteJob(c *call, _ none) (job jobs.Job, err error) {
	writer, err := a.changeWriter()
	if err != nil {
		return job, err
	}
	job, err = writer.jobs.Cancel(c.r.Context(), c.name)
	if err != nil {
		return job, jobProblem(err)
	}
	return job, nil
}
