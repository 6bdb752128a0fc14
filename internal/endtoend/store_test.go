package endtoend

import (
	bin "encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/testing/cluster"
)

// TestStore: a collection goes into a cluster, is written to there over HTTP by two servers,
// and comes back with what they wrote, its vectors included.
func TestStore(t *testing.T) {
	c := cluster.Start(t, 3)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	store := c.Address("end-to-end")
	lines := `{"id":"a","title":"A","text":"an old lighthouse","tags":["x"],"metadata":{"year":1.50}}` + "\n" + `{"id":"b","text":"<zebra> & co"}` + "\n"
	s := newSite(t, "log: {level: error}\n", []string{"small"}, "small", lines)
	s.command("export", "--collection", "c", "--to", store)
	one, two := s.serve("", "--store", store), s.serve("", "--store", store)

	var made handlers.WriteResult
	one.get(
		http.MethodPut,
		"/v1/passages/new%2F1?refresh=wait",
		`{"text":"The zebra crossed."}`,
		http.StatusCreated,
		&made,
	)
	if found := two.search("zebra", ""); len(found) != 2 || found["new/1"] != "The zebra crossed." {
		t.Errorf("the other server finds %v", found)
	}
	if found := two.search("The zebra crossed.", "small"); len(found) != 3 {
		t.Errorf("by meaning: %v", found)
	}
	_, metrics, err := one.send(http.MethodGet, "/metrics", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{"\nconclave_store_blocked 0\n", "\nconclave_store_unassigned_copies 0\n",
		"\nconclave_store_deleted ", `conclave_store_request_seconds_count{node="127.0.0.1:`} {
		if !strings.Contains(string(metrics), series) {
			t.Errorf("there is no metric %q", series)
		}
	}
	if exported := s.command("export", "--store", store); !strings.HasPrefix(exported, lines) ||
		!strings.Contains(exported, `{"id":"new/1","text":"The zebra crossed."}`) {
		t.Errorf("exported:\n%s", exported)
	}
	two.get(http.MethodPut, "/v1/passages/new%2F1", `{"text":"The zebra crossed."}`, http.StatusOK, &made)
	if made.Status != "unchanged" {
		t.Errorf("%+v", made)
	}
	for _, p := range []*process{one, two} {
		request, err := http.NewRequest(
			http.MethodPut,
			p.url+"/v1/passages/new%2F1",
			strings.NewReader(`{"text":"Changed."}`),
		)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("If-Match", `"`+made.Version+`"`)
		answer, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if want := map[*process]int{one: http.StatusOK, two: http.StatusPreconditionFailed}[p]; answer.StatusCode != want {
			t.Errorf("If-Match: %d, not %d", answer.StatusCode, want)
		}
	}
	two.get(
		http.MethodPost,
		"/v1/passages?refresh=wait",
		`{"id":"c","text":"one more"}`+"\n"+`{"id":"d","text":"gone soon"}`+"\n",
		http.StatusOK,
		nil,
	)
	one.get(http.MethodDelete, "/v1/passages/d?refresh=wait", "", http.StatusOK, nil)
	one.get(http.MethodGet, "/v1/passages/d", "", http.StatusNotFound, nil)
	// For a moment searches find what was deleted. It is left out of answers.
	two.get(http.MethodPut, "/v1/passages/w?refresh=wait", `{"text":"a walrus"}`, http.StatusCreated, nil)
	two.get(http.MethodDelete, "/v1/passages/w", "", http.StatusOK, nil)
	if found := two.search("walrus zebra", ""); len(found) != 1 || found["w"] != "" {
		t.Errorf("right after a deletion: %v", found)
	}
	one.get(http.MethodPost, "/v1/admin/snapshots", "{}", http.StatusNotFound, nil)

	// A job that one server accepts, and the other one lists: it deletes by tags.
	two.get(
		http.MethodPost,
		"/v1/passages",
		`{"id":"e","text":"a draft","tags":["draft","old"]}`+"\n"+`{"id":"f","text":"another","tags":["draft"]}`+"\n",
		http.StatusOK,
		nil,
	)
	var job jobs.Job
	one.get(http.MethodDelete, "/v1/passages?tags_all=draft", "", http.StatusAccepted, &job)
	for !job.State.Ended() {
		time.Sleep(50 * time.Millisecond)
		two.get(http.MethodGet, "/v1/jobs/"+job.ID, "", http.StatusOK, &job)
	}
	if job.State != jobs.Done || *job.Result.Deleted != 2 || job.Result.Passages != 4 {
		t.Errorf("%+v: %+v", job, job.Result)
	}
	for _, p := range []*process{one, two} {
		var all handlers.JobList
		p.get(http.MethodGet, "/v1/passages/e", "", http.StatusNotFound, nil)
		if p.get(http.MethodGet, "/v1/jobs", "", http.StatusOK, &all); len(all.Jobs) != 1 || all.Jobs[0].ID != job.ID {
			t.Errorf("%+v", all)
		}
		if found := p.search("draft", ""); len(found) > 0 {
			t.Errorf("drafts are found: %v", found)
		}
	}
	one.get(http.MethodDelete, "/v1/jobs/"+job.ID, "", http.StatusConflict, nil)
	doctor := exec.Command(s.path, "doctor", "--store", store, "--json")
	doctor.Env = environment()
	doctor.Dir = s.dir
	said, _ := doctor.Output() // it may lack bundles that nobody needs here
	var findings []struct{ What, Status, Detail string }
	if err := json.Unmarshal(said, &findings); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if !slices.ContainsFunc(findings, func(f struct{ What, Status, Detail string }) bool {
		return f.What == "store" && f.Status == "ok" && strings.Contains(f.Detail, "end-to-end: 4 passages") &&
			strings.Contains(f.Detail, "health green; small: fingerprint ")
	}) {
		t.Errorf("%s", said)
	}
	one.stop()
	two.stop()

	s.command("import", "--from", store, "--collection", "back")
	s.command("export", "--collection", "back", "--out", "back.jsonl", "--vectors", "back-vectors")
	want := lines + `{"id":"c","text":"one more"}` + "\n" + `{"id":"new/1","text":"Changed."}` + "\n"
	if got, err := os.ReadFile(filepath.Join(s.dir, "back.jsonl")); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	// The same passages, encoded in a folder.
	if err := os.WriteFile(filepath.Join(s.dir, "all.jsonl"), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command("index", "--collection", "again", "--in", "all.jsonl", "--experts", "small")
	s.command("export", "--collection", "again", "--out", "again.jsonl", "--vectors", "again-vectors")
	got, err := os.ReadFile(filepath.Join(s.dir, "back-vectors", "small.npy"))
	should, failed := os.ReadFile(filepath.Join(s.dir, "again-vectors", "small.npy"))
	if err != nil || failed != nil || len(got) != len(should) || len(got) < 128+4*4*2 {
		t.Fatalf("%d bytes of vectors, %d were expected: %v, %v", len(got), len(should), err, failed)
	}
	for at := 10 + int(bin.LittleEndian.Uint16(got[8:])); at < len(got); at += 4 {
		x, y := math.Float32frombits(
			bin.LittleEndian.Uint32(got[at:]),
		), math.Float32frombits(
			bin.LittleEndian.Uint32(should[at:]),
		)
		if math.Abs(float64(x-y)) > 1e-5 {
			t.Fatalf("byte %d of the vectors: %v, want %v", at, x, y)
		}
	}
}
