package endtoend

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/jobs"
	"example.org/conclave/search/learned"
)

// TestNoRoom gives the server files of a megabyte at the most, which a file of its
// log soon has: the write is refused with 507, the next one begins another file,
// searches go on, and nothing that was acknowledged is lost.
func TestNoRoom(t *testing.T) {
	s := newSite(
		t,
		"ingest: {flush_after: 1h, flush_passages: 100000}\nlimits: {passage_bytes: 1MiB, line_bytes: 2MiB}\nlog: {level: warn}\n",
		nil,
		"none",
		`{"id":"first","text":"an old lighthouse"}`+"\n",
	)
	p := s.serve("ulimit -f 2048;") // blocks of 512 bytes
	var body strings.Builder
	padding := strings.Repeat("lorem ipsum ", 800)
	for i := range 600 {
		fmt.Fprintf(&body, "{\"id\":\"p%d\",\"text\":\"zebra%d %s\"}\n", i, i, padding)
	}
	// Three times: after a refusal there is room for another megabyte.
	acknowledged := map[string]bool{}
	for round := range 3 {
		status, answer, err := p.send(http.MethodPost, "/v1/passages?stream=true", body.String())
		if err != nil {
			t.Fatal(err)
		}
		full := false
		for text := range strings.Lines(string(answer)) {
			var line struct {
				ID    string
				Code  string
				Error any
			}
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			if line.Code != "" {
				full = line.Code == "storage_full"
			} else if line.Error == nil {
				acknowledged[line.ID] = true
			}
		}
		if !full || round == 0 && status != http.StatusOK {
			t.Fatalf("round %d: %d, and the answer ends with %.300s", round, status, answer[max(0, len(answer)-300):])
		}
	}
	if n := len(acknowledged); n < 60 || n > 330 {
		t.Errorf("%d passages of 10 kB in three files of a megabyte", n)
	}
	// There is no room for this one in any file.
	large := fmt.Sprintf(`{"text":%q}`, strings.Repeat(padding, 109))
	status, answer, err := p.send(http.MethodPut, "/v1/passages/large", large)
	if err != nil || status != http.StatusInsufficientStorage ||
		!strings.Contains(string(answer), `"code":"storage_full"`) {
		t.Errorf("PUT: %d %s %v", status, answer, err)
	}
	if found := p.search("lighthouse", ""); found["first"] == "" {
		t.Errorf("a search finds %v", found)
	}
	for id := range acknowledged {
		p.get(http.MethodGet, "/v1/passages/"+id, "", http.StatusOK, nil)
	}
	p.kill()
	s.command("verify", "--collection", "c")

	// With room, everything that was acknowledged is found, and there is room.
	again := s.serve("export CONCLAVE_INGEST_FLUSH_AFTER=10ms;")
	again.visible()
	found := again.search("lorem", "")
	for id := range acknowledged {
		if found[id] == "" {
			t.Errorf("%s was acknowledged and is not found", id)
		}
	}
	again.get(http.MethodPut, "/v1/passages/large?refresh=wait", large, http.StatusCreated, nil)
	again.stop()
	s.command("verify", "--collection", "c")
}

// TestNoRoomForSegments plays a disk on which the log fits and segments do not:
// writes are acknowledged, searches go on without them, who waits for them is told,
// and with room they are found.
func TestNoRoomForSegments(t *testing.T) {
	s := newSite(
		t,
		"ingest: {flush_after: 10ms}\nlog: {level: error}\n",
		nil,
		"none",
		`{"id":"first","text":"an old lighthouse"}`+"\n",
	)
	p := s.serve("ulimit -f 128;") // 64 kB
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "word%d ", i) // with its postings more than the log has
	}
	p.get(http.MethodPut, "/v1/passages/a", fmt.Sprintf(`{"text":%q}`, text.String()), http.StatusCreated, nil)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(p.log.String(),
		"indexing what was written failed"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Skip("the segment fits: this needs another size")
		}
	}
	status, answer, err := p.send(http.MethodPut, "/v1/passages/b?refresh=wait", `{"text":"small"}`)
	if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(answer), `"code":"not_visible"`) {
		t.Errorf("PUT: %d %s %v", status, answer, err)
	}
	p.get(http.MethodGet, "/v1/passages/b", "", http.StatusOK, nil)
	var health struct{ Warnings []string }
	p.get(http.MethodGet, "/readyz", "", http.StatusOK, &health)
	if len(health.Warnings) == 0 {
		t.Error("/readyz has no warning")
	}
	if found := p.search("lighthouse", ""); len(found) != 1 {
		t.Errorf("a search finds %v", found)
	}
	p.kill()
	again := s.serve("")
	again.visible()
	if found := again.search("word77 small", ""); found["a"] == "" || found["b"] == "" {
		t.Errorf("a search finds %v", found)
	}
	again.stop()
	s.command("verify", "--collection", "c")
}

// TestJobKilled kills a server while it adds an expert: the job goes on with the
// next one, and the expert then has every passage.
func TestJobKilled(t *testing.T) {
	const n, seed = 3000, 3
	const kills = 4
	rng := rand.New(rand.NewPCG(seed, 1))
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",\"text\":%q}\n", i, textOf(i+1))
	}
	s := newSite(
		t,
		"ingest: {flush_after: 10ms}\nlog: {level: warn}\nlimits: {k: 10000, candidates: 10000}\n",
		[]string{"small", "late"},
		"none",
		lines.String(),
	)
	p := s.serve("")
	var job jobs.Job
	p.get(http.MethodPost, "/v1/admin/experts", `{"name":"late","index":"flat"}`, http.StatusAccepted, &job)
	for kill := range kills {
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
		p.kill()
		s.command("verify", "--collection", "c")
		p = s.serve("")
		p.get(
			http.MethodPut,
			fmt.Sprintf("/v1/passages/more%d", kill),
			fmt.Sprintf(`{"text":"written in between, number %d"}`, kill),
			http.StatusCreated,
			nil,
		)
	}
	job = p.job(job)
	t.Logf("%d kills: begun %d times", kills, job.Attempts)
	p.visible()
	status, answer, err := p.send(
		http.MethodPost,
		"/v1/search",
		`{"question":"x","experts":["late"],"bm25":false,"exact":true,"k":10000,"candidates":10000,"timeout_ms":10000,"fields":["contributions","sources"]}`,
	)
	if err != nil || status != http.StatusOK || strings.Count(string(answer), `"rank":`)/2 != n+kills {
		t.Errorf("%d, %d results, %v", status, strings.Count(string(answer), `"rank":`)/2, err)
	}
	p.stop()
	s.command("verify", "--collection", "c")
}

// job waits until a job is done.
func (p *process) job(job jobs.Job) jobs.Job {
	p.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !job.State.Ended(); time.Sleep(10 * time.Millisecond) {
		p.get(http.MethodGet, "/v1/jobs/"+job.ID, "", http.StatusOK, &job)
		if time.Now().After(deadline) {
			p.t.Fatalf("the job does not end: %+v", job)
		}
	}
	if job.State != jobs.Done {
		p.t.Fatalf("%+v\n%s", job, p.log.String())
	}
	return job
}

// TestRemovalKilled kills a server that was asked to remove an expert, sooner
// or later after it said that it would: with the next one the job is done, and
// the expert is gone for good.
func TestRemovalKilled(t *testing.T) {
	delays := []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond}
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "{\"id\":\"p%d\",\"text\":%q}\n", i, textOf(i+1))
	}
	s := newSite(
		t, "ingest: {flush_after: 10ms}\nlog: {level: warn}\n", []string{"small", "late"}, "small,late", lines.String(),
	)
	files := func() int { // of the expert
		found, err := filepath.Glob(filepath.Join(s.dir, "c", "*", "late-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for round, delay := range delays {
		p := s.serve("")
		var job jobs.Job
		if round > 0 { // it was removed
			p.get(http.MethodPost, "/v1/admin/experts", `{"name":"late","index":"flat"}`, http.StatusAccepted, &job)
			p.job(job)
		}
		if found := p.search("a text", "late"); len(found) != 300 || files() == 0 {
			t.Fatalf("round %d: before, it finds %d with %d files", round, len(found), files())
		}
		job = jobs.Job{}
		p.get(http.MethodDelete, "/v1/admin/experts/late", "", http.StatusAccepted, &job)
		time.Sleep(delay)
		p.kill()
		s.command("verify", "--collection", "c")
		p = s.serve("")
		job = p.job(job)
		t.Logf("killed %v after the answer: begun %d times", delay, job.Attempts)
		var experts struct{ Experts []learned.ExpertInfo }
		p.get(http.MethodGet, "/v1/experts", "", http.StatusOK, &experts)
		if len(experts.Experts) != 1 || experts.Experts[0].Name != "small" {
			t.Errorf("round %d: experts %+v", round, experts)
		}
		p.get(http.MethodPost, "/v1/search", `{"question":"x","experts":["late"]}`, http.StatusUnprocessableEntity, nil)
		p.get(
			http.MethodPut,
			fmt.Sprintf("/v1/passages/p%d?refresh=wait", round),
			fmt.Sprintf(`{"text":"a text written afterwards, number %d"}`, round),
			http.StatusOK,
			nil,
		) // without it
		if found := p.search("a text", "small"); len(found) != 300 {
			t.Errorf("round %d: the other one finds %d", round, len(found))
		}
		p.stop()
		s.command("verify", "--collection", "c")
		if n := files(); n > 0 {
			t.Errorf("round %d: %d files are left behind", round, n)
		}
	}
}
