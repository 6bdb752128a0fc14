package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/internal/jobs"
)

// TestJobs follows jobs from being asked for to their end.
func TestJobs(t *testing.T) {
	begun, release := make(chan string, 3), make(chan error, 3)
	work := func(ctx context.Context, task jobs.Task) (jobs.Result, error) {
		task.Report(jobs.Progress{Stage: "encoding", Done: 5, Total: 10, Unit: "passages"})
		begun <- task.Name
		select {
		case err := <-release:
			return jobs.Result{
				Generation: 7,
				Passages:   3,
				Bytes:      9,
				Folder:     "/f",
				Recall:     map[string]float64{"recall@10": 1},
				Warnings:   []string{"w"},
			}, err
		case <-ctx.Done():
			return jobs.Result{}, ctx.Err()
		}
	}
	check := func(r jobs.Request) error {
		if r.Name == "taken" {
			return jobs.Refuse("snapshot_exists", "there is a snapshot %q", r.Name)
		}
		return nil
	}
	s := startWriting(t, writingOptions{kinds: map[string]jobs.Handler{
		jobs.Snapshot: {Check: check, Work: work}, jobs.AddExpert: {Work: work}, jobs.RemoveExpert: {Work: work},
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.jobs.Run(ctx); close(ended) }()
	defer func() { stop(); <-ended }()

	ask := func(r received) jobs.Job {
		t.Helper()
		var j jobs.Job
		if err := json.Unmarshal(r.body, &j); err != nil || r.StatusCode >= 300 {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
		if r.StatusCode == http.StatusAccepted && r.Header.Get("Location") != "/v1/jobs/"+j.ID {
			t.Errorf("Location %s of job %s", r.Header.Get("Location"), j.ID)
		}
		return j
	}
	get := func(id string) jobs.Job { return ask(s.send(http.MethodGet, "/v1/jobs/"+id, "")) }
	await := func(id string, state jobs.State) jobs.Job {
		t.Helper()
		for {
			if j := get(id); j.State == state || j.State.Ended() {
				if j.State != state {
					t.Fatalf("job %s is %s", id, j.State)
				}
				return j
			}
		}
	}

	first := ask(s.post("/v1/admin/snapshots", `{"name":"monday"}`))
	if first.Kind != "snapshot" || first.Name != "monday" {
		t.Errorf("%+v", first)
	}
	<-begun
	if j := get(first.ID); j.State != jobs.Running || j.Progress == nil || j.Progress.Done != 5 {
		t.Errorf("running: %+v", j)
	}
	second := ask(s.post("/v1/admin/experts", `{"name":"health","index":"flat"}`))
	if second.State != jobs.Queued || second.Index != "flat" {
		t.Errorf("%+v", second)
	}
	third := ask(s.send(http.MethodDelete, "/v1/admin/experts/old", ""))
	if third.Kind != "remove_expert" || third.Name != "old" {
		t.Errorf("%+v", third)
	}
	for what, c := range map[string]struct {
		r      received
		status int
		code   string
	}{
		"the same again":      {s.post("/v1/admin/snapshots", `{"name":"monday"}`), 409, "job_under_way"},
		"a taken name":        {s.post("/v1/admin/snapshots", `{"name":"taken"}`), 409, "snapshot_exists"},
		"an unknown field":    {s.post("/v1/admin/snapshots", `{"folder":"/etc"}`), 400, "unknown_field"},
		"no name":             {s.post("/v1/admin/experts", `{}`), 400, "missing_field"},
		"another index":       {s.post("/v1/admin/experts", `{"name":"x","index":"tree"}`), 422, "unknown_value"},
		"a parameter":         {s.post("/v1/admin/snapshots?name=x", `{}`), 400, "unknown_parameter"},
		"an unknown job":      {s.send(http.MethodGet, "/v1/jobs/77", ""), 404, "unknown_job"},
		"cancelling unknown":  {s.send(http.MethodDelete, "/v1/jobs/77", ""), 404, "unknown_job"},
		"a list of something": {s.send(http.MethodGet, "/v1/jobs?state=done", ""), 400, "unknown_parameter"},
	} {
		if p := c.r.problem(t); c.r.StatusCode != c.status || p.Code != c.code {
			t.Errorf("%s: %d %s", what, c.r.StatusCode, c.r.body)
		}
	}
	release <- nil
	if j := await(first.ID, jobs.Done); j.Result == nil || j.Result.Generation != 7 || j.Ended == nil {
		t.Errorf("done: %+v", j)
	}
	<-begun
	release <- errors.New("no room")
	if j := await(second.ID, jobs.Failed); j.Error != "no room" {
		t.Errorf("failed: %+v", j)
	}
	<-begun
	ask(s.send(http.MethodDelete, "/v1/jobs/"+third.ID, ""))
	await(third.ID, jobs.Cancelled)
	if p := s.send(http.MethodDelete, "/v1/jobs/"+third.ID, "").problem(t); p.Code != "job_ended" {
		t.Errorf("%+v", p)
	}
	r := s.send(http.MethodGet, "/v1/jobs", "")
	if strings.Index(string(r.body), "remove_expert") > strings.Index(string(r.body), "add_expert") {
		t.Errorf("the list is not newest first: %s", r.body)
	}
	if j := ask(s.post("/v1/admin/snapshots", `{}`)); j.Name == "" {
		t.Error("a snapshot without a name")
	}
	<-begun
	release <- nil
}
