package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Job is long work at the server, which survives a restart.
type Job struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // "snapshot", "add_expert", "remove_expert", "delete_passages"
	Name     string    `json:"name"`
	State    string    `json:"state"` // "queued", "running", "done", "failed", "cancelled"
	Created  time.Time `json:"created"`
	Progress struct {
		Stage string `json:"stage"`
		Done  int64  `json:"done"`
		Total int64  `json:"total"` // -1 while it is not known
		Unit  string `json:"unit"`
		Note  string `json:"note"` // why it waits; "": it does not
	} `json:"progress"`
	Result struct {
		Generation uint64             `json:"generation"`
		Passages   int                `json:"passages"`
		Deleted    int                `json:"deleted"`
		Bytes      int64              `json:"bytes"`
		Folder     string             `json:"folder"`
		Recall     map[string]float64 `json:"recall"`
		Warnings   []string           `json:"warnings"`
	} `json:"result"`
	Error string `json:"error"`
}

// Ended reports whether the job is done, failed or cancelled.
func (j Job) Ended() bool {
	return j.State == "done" || j.State == "failed" || j.State == "cancelled"
}

// Jobs returns the jobs that are queued or running and the last that ended, the newest first. The error is a *Problem
// if the server refuses.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	var out struct{ Jobs []Job }
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/jobs"}, &out)
	return out.Jobs, err
}

// Job returns the present state of a job. The code of the error is unknown_job if there is none.
func (c *Client) Job(ctx context.Context, id string) (out Job, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/v1/jobs/" + url.PathEscape(id)}, &out)
	return out, err
}

// Cancel cancels a job and returns its state. The code of the error is job_ended if it has ended.
func (c *Client) Cancel(ctx context.Context, id string) (out Job, err error) {
	_, err = c.do(ctx, call{method: http.MethodDelete, path: "/v1/jobs/" + url.PathEscape(id)}, &out)
	return out, err
}

// Wait asks for a job until it has ended, and returns it. It returns an error if the job failed or was cancelled. If a
// request fails or ctx ends, the error says so and the job goes on. It asks five times a second.
func (c *Client) Wait(ctx context.Context, id string) (Job, error) {
	for {
		job, err := c.Job(ctx, id)
		if err != nil {
			return job, err
		}
		if job.Ended() {
			if job.State != "done" {
				err = fmt.Errorf("job %s is %s: %s", id, job.State, job.Error)
			}
			return job, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return job, fmt.Errorf("job %s goes on at the server: %w", id, ctx.Err())
		}
	}
}

// Snapshot starts a job that makes a snapshot. With "", the server names it after the time. The error is a *Problem if
// the server refuses, as for a name that is taken.
func (c *Client) Snapshot(ctx context.Context, name string) (Job, error) {
	body := map[string]string{}
	if name != "" {
		body["name"] = name
	}
	return c.start(ctx, call{method: http.MethodPost, path: "/v1/admin/snapshots", body: body})
}

// SnapshotInfo describes a snapshot of the collection.
type SnapshotInfo struct {
	Name       string    `json:"name"`
	Created    time.Time `json:"created"`
	Generation uint64    `json:"generation"`
	Passages   int       `json:"passages"`
}

// Snapshots returns the snapshots of the collection, by name. The error is a *Problem if the server refuses.
func (c *Client) Snapshots(ctx context.Context) ([]SnapshotInfo, error) {
	var out struct{ Snapshots []SnapshotInfo }
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/admin/snapshots"}, &out)
	return out.Snapshots, err
}

// RemoveSnapshot removes a snapshot's folder. The error is a *Problem if the server refuses, as for a name that no
// snapshot has.
func (c *Client) RemoveSnapshot(ctx context.Context, name string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/v1/admin/snapshots/" + url.PathEscape(name)}, nil)
	return err
}

// AddExpert starts a job that encodes all passages with another expert of the server's configuration. Then the expert
// takes part in searches. The error is a *Problem if the server refuses, as for an expert that its configuration does
// not have.
func (c *Client) AddExpert(ctx context.Context, name string) (Job, error) {
	return c.start(ctx, call{method: http.MethodPost, path: "/v1/admin/experts", body: map[string]string{"name": name}})
}

// RemoveExpert takes an expert out of the searches at once and starts a job that removes its vectors. The error is a
// *Problem if the server refuses, as for an expert that it does not search.
func (c *Client) RemoveExpert(ctx context.Context, name string) (Job, error) {
	return c.start(ctx, call{method: http.MethodDelete, path: "/v1/admin/experts/" + url.PathEscape(name)})
}

// DeletePassages starts a job that deletes the passages that a filter lets through. It fails if the filter names
// documents.
func (c *Client) DeletePassages(ctx context.Context, filter Filter) (Job, error) {
	query, err := deletionQuery(filter)
	if err != nil {
		return Job{}, err
	}
	return c.start(ctx, call{method: http.MethodDelete, path: "/v1/passages", query: query})
}

// CountPassages returns how many passages DeletePassages would delete now, without deleting any. It fails if the filter
// names documents.
func (c *Client) CountPassages(ctx context.Context, filter Filter) (int, error) {
	query, err := deletionQuery(filter)
	if err != nil {
		return 0, err
	}
	query.Set("dry_run", "true")
	var out struct {
		Passages int `json:"passages"`
	}
	_, err = c.do(ctx, call{method: http.MethodDelete, path: "/v1/passages", query: query}, &out)
	return out.Passages, err
}

// deletionQuery returns the query string of a filter. It fails if the filter names documents, which are deleted whole.
func deletionQuery(filter Filter) (url.Values, error) {
	if len(filter.Documents) > 0 {
		return nil, errors.New("passages are deleted by tags and conditions: a document is deleted by itself, whole")
	}
	query := url.Values{}
	condition, err := json.Marshal(filter.Condition)
	if err != nil {
		return nil, err
	}
	if string(condition) != "{}" {
		query.Set("filter", string(condition))
	}
	if len(filter.TagsAll) > 0 {
		query.Set("tags_all", strings.Join(filter.TagsAll, ","))
	}
	if len(filter.TagsAny) > 0 {
		query.Set("tags_any", strings.Join(filter.TagsAny, ","))
	}
	return query, nil
}

// DeletePassagesByID starts a job that deletes the passages with these ids, none of which may contain a comma.
// [Client.Delete] deletes one passage at once. Only this one takes the ids . and .., which no URL can name. A comma in
// an id is not noticed: the parts are taken as ids. The error is a *Problem if the server refuses.
func (c *Client) DeletePassagesByID(ctx context.Context, ids ...string) (Job, error) {
	return c.start(
		ctx, call{method: http.MethodDelete, path: "/v1/passages", query: url.Values{"ids": {strings.Join(ids, ",")}}},
	)
}

// start sends a request that starts a job, never twice, and returns the job. The error is a *Problem if the server
// refuses.
func (c *Client) start(ctx context.Context, r call) (out Job, err error) {
	r.once = true
	_, err = c.do(ctx, r, &out)
	return out, err
}
