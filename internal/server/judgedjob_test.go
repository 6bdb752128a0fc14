package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
)

// judge sends n judgments: passage herd/i answers the question for number i of the herd.
func (s *served) judge(n int) {
	s.t.Helper()
	for i := range n {
		body := fmt.Sprintf(`{"question":"which is number %d of the herd?","passage":"herd/%d","grade":1}`, i, i)
		s.call(http.MethodPost, "/v1/judgments", body, http.StatusOK, nil)
	}
}

// TestJudgedJobs: judgments outlive the server and go with a snapshot; the collection is measured and
// calibrated by them; and a calibration is in use unless it was only tried.
func TestJudgedJobs(t *testing.T) {
	site := newSite(t, nil)
	s := site.serve()
	s.herd(40)
	s.call(http.MethodPost, "/v1/admin/evaluations", `{}`, http.StatusUnprocessableEntity, nil)
	s.judge(9)
	s.call(http.MethodPost, "/v1/admin/calibrations", `{}`, http.StatusUnprocessableEntity, nil)
	s.end()

	s = site.serve()
	s.judge(12) // nine of them again
	var list handlers.JudgmentList
	s.call(http.MethodGet, "/v1/judgments", "", http.StatusOK, &list)
	if list.Judged != 12 || list.Answered != 12 {
		t.Fatalf("%+v", list.JudgmentCounts)
	}
	measured := s.measured("/v1/admin/evaluations", `{"alone":true}`)
	// Each passage has a number that no other one has, and words find it.
	if measured.Questions != 12 || measured.Now.Top20 < measured.Now.Top1 || measured.Now.Top1 < 6 ||
		len(measured.Missed) != 12-measured.Now.Top1 || !strings.Contains(measured.Report, "bm25 alone") {
		t.Errorf("%+v", measured)
	}
	calibration := filepath.Join(site.config.Collection, "calibration.yaml")
	tried := s.measured("/v1/admin/calibrations", `{"dry_run":true}`)
	if tried.Written || tried.Calibrated == nil || tried.Now != measured.Now || !strings.Contains(tried.Report, "12 questions") {
		t.Errorf("%+v", tried)
	}
	if _, err := os.Stat(calibration); !os.IsNotExist(err) {
		t.Errorf("what was tried was written: %v", err)
	}
	used := s.measured("/v1/admin/calibrations", `{}`)
	worse := used.Calibrated.Top1+used.Calibrated.Top20 < used.Now.Top1+used.Now.Top20
	if _, err := os.Stat(calibration); used.Written == worse || os.IsNotExist(err) != worse {
		t.Errorf("%+v, %v", used, err)
	}
	s.job(s.call(http.MethodPost, "/v1/admin/snapshots", `{"name":"judged"}`, http.StatusAccepted, nil))
	copied, damaged, err := judgments.Open(
		disk.OS{}, filepath.Join(site.dir, "c-snapshots", "judged", judgments.FileName),
	)
	if err != nil || len(damaged) > 0 || len(copied.All()) != 12 {
		t.Errorf("%v %v", err, damaged)
	}
	s.end()
}

// measured posts a job of evaluation or calibration, waits for it and returns what it measured.
func (s *served) measured(path, body string) jobs.MeasuredResult {
	s.t.Helper()
	job := s.job(s.call(http.MethodPost, path, body, http.StatusAccepted, nil))
	if job.State != jobs.Done || job.Result.Measured == nil {
		s.t.Fatalf("%+v", job)
	}
	return *job.Result.Measured
}

// TestWorseIsNotUsed: what counts is how many questions are answered first, and among the first.
func TestWorseIsNotUsed(t *testing.T) {
	now := jobs.Share{Top1: 8, Top5: 9, Top20: 10}
	for _, x := range []struct {
		fitted jobs.Share
		worse  bool
	}{{now, false}, {jobs.Share{Top1: 9, Top5: 9, Top20: 10}, false}, {jobs.Share{Top1: 7, Top5: 10, Top20: 10}, true}} {
		if got := topSum(x.fitted) < topSum(now); got != x.worse {
			t.Errorf("%+v: %v", x.fitted, got)
		}
	}
}
