package endtoend

import (
	bin "encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/search/reply"
)

// TestClusterStore: a collection goes into a cluster, is written to there over HTTP by two servers,
// and comes back with what they wrote, its vectors included.
func TestClusterStore(t *testing.T) {
	c := startCluster(t)
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
		if p.get(http.MethodGet, "/v1/jobs", "", http.StatusOK, &all); len(all.Jobs) != 1 ||
			all.Jobs[0].ID != job.ID {
			t.Errorf("%+v", all)
		}
		if found := p.search("draft", ""); len(found) > 0 {
			t.Errorf("drafts are found: %v", found)
		}
	}
	one.get(http.MethodDelete, "/v1/jobs/"+job.ID, "", http.StatusConflict, nil)
	storeSettings(t, one, two)
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
	settings, err := os.ReadFile(filepath.Join(s.dir, "back", collections.SettingsFile))
	if err != nil || !strings.Contains(string(settings), "pharos") {
		t.Errorf("the settings that came back: %v\n%s", err, settings)
	}
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
	storeLanguages(t, s, store)
}

// storeSettings: synonyms and types of fields that one server puts hold there at once and soon at the other, values
// that do not fit are named and refused, and what meets a condition is counted and deleted.
func storeSettings(t *testing.T, one, two *process) {
	t.Helper()
	for id, price := range map[string]string{"p1": "12", "p2": `"n/a"`, "p3": "99"} {
		one.get(http.MethodPut, "/v1/passages/"+id+"?refresh=wait",
			`{"text":"priced","metadata":{"price":`+price+`}}`, http.StatusCreated, nil)
	}
	var now handlers.SettingsAnswer
	one.get(http.MethodPut, "/v1/admin/settings",
		`{"synonyms":[{"from":["pharos"],"to":["lighthouse"]}],"fields":{"price":"number"}}`, http.StatusOK, &now)
	if len(now.Misfits) != 1 || now.Misfits[0].Passages != 1 || len(now.Misfits[0].Values) != 1 ||
		now.Misfits[0].Values[0].Value.Any() != "n/a" {
		t.Errorf("%+v", now)
	}
	if found := one.search("pharos", ""); found["a"] == "" {
		t.Errorf("by a synonym: %v", found)
	}
	for range 200 { // the other one looks every five seconds
		if len(two.search("pharos", "")) > 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	one.get(http.MethodPut, "/v1/admin/settings", `{"synonyms":[{"from":["pharos"],"to":["lighthouse"]}],`+
		`"fields":{"price":"number"},"overrides":[{"questions":["Priced?"],"pin":["a","p3"],"hide":["p1"]}]}`,
		http.StatusOK, nil)
	var chosen, narrowed reply.Response
	one.get(http.MethodPost, "/v1/search", `{"question":"priced","experts":[],"fusion":"rrf","timeout_ms":10000,`+
		`"explain":true,"collapse":false}`, http.StatusOK, &chosen)
	if len(chosen.Results) != 3 || chosen.Results[0].ID != "a" || !chosen.Results[1].Pinned ||
		chosen.Results[1].ID != "p3" || chosen.Results[2].ID != "p2" ||
		!slices.Equal(chosen.Overridden.Hidden, []string{"p1"}) {
		t.Errorf("chosen results: %+v", chosen)
	}
	one.get(http.MethodPost, "/v1/search", `{"question":"priced","experts":[],"fusion":"rrf","timeout_ms":10000,`+
		`"filter":{"field":"price","gte":1}}`, http.StatusOK, &narrowed)
	if len(narrowed.Results) != 1 || narrowed.Results[0].ID != "p3" || *narrowed.Selected != 1 {
		t.Errorf("chosen results behind a filter: %+v", narrowed)
	}
	for _, p := range []*process{one, two} {
		if found := p.search("pharos", ""); found["a"] == "" {
			t.Errorf("by a synonym: %v", found)
		}
		p.get(
			http.MethodPut,
			"/v1/passages/p4",
			`{"text":"x","metadata":{"price":"cheap"}}`,
			http.StatusUnprocessableEntity,
			nil,
		)
		p.get(http.MethodPost, "/v1/search", `{"question":"priced","filter":{"field":"price","gt":"cheap"}}`,
			http.StatusUnprocessableEntity, nil)
	}
	filter := url.QueryEscape(`{"field":"price","gte":50}`)
	var dry handlers.DryRun
	if two.get(http.MethodDelete, "/v1/passages?dry_run=true&filter="+filter, "", http.StatusOK, &dry); dry.Passages != 1 {
		t.Errorf("%+v", dry)
	}
	var list handlers.PassageList
	two.get(http.MethodGet, "/v1/passages?filter="+filter, "", http.StatusOK, &list)
	if len(list.Passages) != 1 || list.Passages[0].ID != "p3" {
		t.Errorf("%+v", list)
	}
	for _, of := range []string{filter, url.QueryEscape(`{"field":"price","exists":true}`)} {
		var job jobs.Job
		two.get(http.MethodDelete, "/v1/passages?filter="+of, "", http.StatusAccepted, &job)
		for !job.State.Ended() {
			time.Sleep(50 * time.Millisecond)
			one.get(http.MethodGet, "/v1/jobs/"+job.ID, "", http.StatusOK, &job)
		}
		if job.State != jobs.Done || *job.Result.Deleted != map[bool]int{true: 1, false: 2}[of == filter] {
			t.Errorf("%+v: %+v", job, job.Result)
		}
	}
	one.get(http.MethodGet, "/v1/passages/p3", "", http.StatusNotFound, nil)
}
