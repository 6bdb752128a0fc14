package endtoend

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/jobs"
)

// TestDeletionKilled kills a server that was asked to delete what has a tag,
// sooner or later after it said that it would: the next one ends the job, tells
// how many it were in all, and what has other tags stays.
func TestDeletionKilled(t *testing.T) {
	delays := []time.Duration{0, 4 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond}
	const each = 2500
	var lines, left strings.Builder
	for i := range each * (len(delays) + 1) {
		line := fmt.Sprintf(
			"{\"id\":\"p%05d\",\"text\":\"number %d of the herd\",\"tags\":[\"all\",\"t%d\"]}\n",
			i,
			i,
			i%(len(delays)+1),
		)
		lines.WriteString(line)
		if i%(len(delays)+1) == len(delays) {
			left.WriteString(line)
		}
	}
	s := newSite(t, "log: {level: error}\n", nil, "none", `{"id":"zzz","text":"an old lighthouse"}`+"\n")
	p := s.serve("")
	p.get(http.MethodPost, "/v1/passages", lines.String(), http.StatusOK, nil)
	for i, delay := range delays {
		var job jobs.Job
		p.get(http.MethodDelete, fmt.Sprintf("/v1/passages?tags_all=all,t%d", i), "", http.StatusAccepted, &job)
		time.Sleep(delay)
		p.kill()
		if !p.killed() {
			t.Fatalf("the server ended by itself\n%s", p.log.String())
		}
		p = s.serve("")
		job = p.job(job)
		if want := each*(len(delays)-i) + 1; *job.Result.Deleted != each || job.Result.Passages != want {
			t.Errorf(
				"killed after %v: %d deleted, %d left of %d, attempt %d",
				delay,
				*job.Result.Deleted,
				job.Result.Passages,
				want,
				job.Attempts,
			)
		}
		t.Logf("killed after %v: attempt %d", delay, job.Attempts)
	}
	p.stop()
	want := left.String() + `{"id":"zzz","text":"an old lighthouse"}` + "\n"
	if got := s.command("export", "--collection", "c"); got != want {
		t.Errorf("%d bytes are left, want %d", len(got), left.Len())
	}
}
