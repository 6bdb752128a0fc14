package handlers

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
)

// noFile returns a place for judgments that has none yet.
func noFile(t testing.TB) *judgments.JudgmentFile {
	t.Helper()
	f, _, err := judgments.Open(disk.OS{}, filepath.Join(t.TempDir(), judgments.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestJudgments: what is judged is counted, listed and exported; what cannot be is refused.
func TestJudgments(t *testing.T) {
	s := startWriting(t, writingOptions{})
	for _, id := range []string{"a/1", "b"} {
		r := s.put("/v1/passages/"+strings.ReplaceAll(id, "/", "%2F"), `{"text":"rice"}`)
		if r.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s", r.StatusCode, r.body)
		}
	}
	for _, x := range []struct{ body, counts string }{
		{`{"question":" what is rice? ","passage":"a/1","grade":1,"answer":"a grain"}`, `{"judged":1,"questions":1,"answered":1}`},
		{`{"question":"what is rice?","passage":"b","grade":0}`, `{"judged":2,"questions":1,"answered":1}`},
		{`{"question":"who?","passage":"b","grade":0}`, `{"judged":3,"questions":2,"answered":1}`},
		{`{"question":"what is rice?","passage":"b"}`, `{"judged":2,"questions":2,"answered":1}`},
		{`{"question":"nothing judged","passage":"gone"}`, `{"judged":2,"questions":2,"answered":1}`},
	} {
		if r := s.post("/v1/judgments", x.body); r.StatusCode != http.StatusOK ||
			strings.TrimSpace(string(r.body)) != x.counts {
			t.Errorf("%s: %d %s", x.body, r.StatusCode, r.body)
		}
	}
	var list JudgmentList
	r := s.send(http.MethodGet, "/v1/judgments", "")
	if err := json.Unmarshal(r.body, &list); err != nil || len(list.Judgments) != 2 || list.Answered != 1 ||
		list.Judgments[0].Answer != "a grain" || *list.Judgments[1].Grade != 0 {
		t.Errorf("%v %s", err, r.body)
	}
	r = s.send(http.MethodGet, "/v1/judgments/questions", "")
	if r.Header.Get("Content-Type") != schema.TypeLines || r.StatusCode != http.StatusOK {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	var q judgments.Question
	first, _, _ := strings.Cut(string(r.body), "\n")
	if err := json.Unmarshal([]byte(first), &q); err != nil || q.Text != "what is rice?" || len(q.PositiveIDs) != 1 ||
		q.PositiveIDs[0] != "a/1" {
		t.Errorf("%v %s", err, r.body)
	}
	for body, code := range map[string]string{
		`{"question":"x","passage":"none","grade":1}`:                                             "unknown_passage",
		`{"question":"x","passage":"b","grade":2}`:                                                "out_of_range",
		`{"question":"  ","passage":"b","grade":1}`:                                               "out_of_range",
		`{"question":"` + strings.Repeat("x", 20_000) + `","passage":"b","grade":1}`:              "out_of_range",
		`{"question":"x","grade":1}`:                                                              "missing_field",
		`{"question":"x","passage":"b","grade":1,"answer":"` + strings.Repeat("x", 20_000) + `"}`: "out_of_range",
	} {
		if p := s.post("/v1/judgments", body).problem(t); p.Code != code {
			t.Errorf("%.60s: %+v", body, p)
		}
	}
}

// fullJudgments have no room.
type fullJudgments struct{}

func (fullJudgments) Put(judgments.Judgment) error { return syscall.ENOSPC }
func (fullJudgments) All() []judgments.Judgment    { return nil }

// TestJudgmentsElsewhere: a full disk, and a store that keeps no judgments, are said.
func TestJudgmentsElsewhere(t *testing.T) {
	s := startWriting(t, writingOptions{})
	s.put("/v1/passages/b", `{"text":"rice"}`)
	const body = `{"question":"x","passage":"b","grade":1}`
	s.api.AttachJudgments(fullJudgments{})
	if p := s.post("/v1/judgments", body).problem(t); p.Code != "storage_full" {
		t.Errorf("%+v", p)
	}
	s.api.AttachJudgments(nil)
	for _, r := range []received{
		s.post("/v1/judgments", body), s.send(http.MethodGet, "/v1/judgments", ""), s.send(http.MethodGet, "/v1/judgments/questions", ""),
	} {
		if p := r.problem(t); p.Code != "no_such_path" || !strings.Contains(p.Detail, "store") {
			t.Errorf("%+v", p)
		}
	}
}

// TestMeasuringJobs: calibrating and evaluating are asked for as jobs, and refused where too little
// was judged.
func TestMeasuringJobs(t *testing.T) {
	refuse := func(jobs.Request) error { return jobs.Refuse("needs_judgments", "too little was judged") }
	s := startWriting(
		t, writingOptions{kinds: map[string]jobs.Handler{jobs.Calibrate: {}, jobs.Evaluate: {Check: refuse}}},
	)
	var job jobs.Job
	r := s.post("/v1/admin/calibrations", `{"dry_run":true}`)
	if err := json.Unmarshal(r.body, &job); err != nil || r.StatusCode != http.StatusAccepted || !job.DryRun ||
		job.Kind != jobs.Calibrate {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if p := s.post("/v1/admin/evaluations", `{}`).problem(t); p.Code != "needs_judgments" ||
		p.Status != http.StatusUnprocessableEntity {
		t.Errorf("%+v", p)
	}
}
