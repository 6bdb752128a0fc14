package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"conclave/internal/testenv"
	"conclave/jobs"
	"conclave/models/tiny"
	"conclave/search"
)

// served is `conclave serve`, running in this process.
type served struct {
	t   *testing.T
	url string
	log *safeBuffer
	end func() int // stops it, and gives the exit code
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// startServer serves the collection "c" of the present folder until end.
func startServer(t *testing.T, args ...string) *served {
	t.Helper()
	address := freeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	s := &served{t: t, url: "http://" + address, log: &safeBuffer{}}
	go func() {
		ended <- run(ctx, append([]string{"serve", "--collection", "c", "--listen", address}, args...), terminal{In: strings.NewReader(""), Out: s.log, Err: s.log})
	}()
	s.end = sync.OnceValue(func() int { stop(); return <-ended })
	t.Cleanup(func() { _ = s.end() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if response, err := http.Get(s.url + "/readyz"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return s
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server did not become ready:\n%s", s.log.String())
		}
	}
}

// call sends a request and reads the answer into out, when it is not nil.
func (s *served) call(method, path, body string, want int, out any) http.Header {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body == "" {
		request.Body, request.ContentLength = nil, 0
	} else {
		request.Header.Set("Content-Type", "application/json")
		if path == "/v1/passages" || strings.HasPrefix(path, "/v1/passages?") {
			request.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		s.t.Fatalf("%s %s: %d, want %d: %s %v\n%s", method, path, response.StatusCode, want, answer, err, s.log.String())
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
	return response.Header
}

// search asks the given experts, or words alone, and returns the ids found.
func (s *served) search(question string, experts ...string) (ids []string) {
	s.t.Helper()
	request := map[string]any{"question": question, "k": 20, "fusion": "rrf", "bm25": len(experts) == 0, "experts": append([]string{}, experts...), "timeout_ms": 10000}
	body, err := json.Marshal(request)
	if err != nil {
		s.t.Fatal(err)
	}
	var response search.Response
	s.call(http.MethodPost, "/v1/search", string(body), http.StatusOK, &response)
	if len(response.Degraded) > 0 {
		s.t.Errorf("%q by %v: left out: %+v", question, experts, response.Degraded)
	}
	for _, r := range response.Results {
		ids = append(ids, r.ID)
	}
	return ids
}

// job waits until the job at a header's Location has ended.
func (s *served) job(header http.Header) (j jobs.Job) {
	s.t.Helper()
	for !j.State.Ended() {
		s.call(http.MethodGet, header.Get("Location"), "", http.StatusOK, &j)
		time.Sleep(5 * time.Millisecond)
	}
	return j
}

// tinyCollection makes the collection "c" of three passages and the named tiny
// experts in a folder of its own, which becomes the present one.
func tinyCollection(t *testing.T, bundles []string, experts string) {
	t.Helper()
	library := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	for i, name := range bundles {
		if _, err := tiny.Write(filepath.Join("experts", name), tiny.Options{Name: name, Seed: uint64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("conclave.yaml", []byte("runtime: "+library+"\ningest: {flush_after: 10ms}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts", experts); code != exitOK {
		t.Fatalf("index: %s", complaints)
	}
}

// TestWriteWhileServing: what is written is found by words and by meaning, also
// after a restart.
func TestWriteWhileServing(t *testing.T) {
	tinyCollection(t, []string{"small"}, "small")
	s := startServer(t)
	s.call(http.MethodPut, "/v1/passages/new%2F1?refresh=wait", `{"title":"Zebras","text":"A zebra crossed the river."}`, http.StatusCreated, nil)
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "{\"id\":\"bulk/%d\",\"text\":\"Number %d of the herd of zebra.\"}\n", i, i)
	}
	if h := s.call(http.MethodPost, "/v1/passages?refresh=wait", lines.String(), http.StatusOK, nil); h.Get("Conclave-Accepted") != "30" {
		t.Errorf("%v", h)
	}
	s.call(http.MethodDelete, "/v1/passages/2", "", http.StatusOK, nil)
	s.call(http.MethodPut, "/v1/passages/1?refresh=wait", `{"text":"Quite another text."}`, http.StatusOK, nil)
	check := func(s *served) {
		t.Helper()
		if ids := s.search("zebra crossed river"); len(ids) != 20 || ids[0] != "new/1" {
			t.Errorf("by words: %v", ids)
		}
		if ids := s.search("A zebra crossed the river.", "small"); !slices.Contains(ids, "new/1") || len(ids) != 20 {
			t.Errorf("by meaning: %v", ids)
		}
		if ids := s.search("who hid the lamp"); len(ids) > 0 && slices.Contains(ids, "2") {
			t.Errorf("a deleted passage is found: %v", ids)
		}
		if ids := s.search("rice"); len(ids) > 0 {
			t.Errorf("the text before is found: %v", ids)
		}
		var infos struct{ Experts []search.ExpertInfo }
		s.call(http.MethodGet, "/v1/experts", "", http.StatusOK, &infos)
		if len(infos.Experts) != 1 || infos.Experts[0].Passages != 33 { // 3 − 1 + 1 + 30
			t.Errorf("%+v", infos)
		}
	}
	check(s)
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
	again := startServer(t)
	check(again)
	if code := again.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, again.log.String())
	}
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != exitOK {
		t.Errorf("verify: %s%s", out, complaints)
	}
}

// TestTwoServers: one process writes to a collection; others are told so, and
// may read.
func TestTwoServers(t *testing.T) {
	tinyCollection(t, nil, "none")
	s := startServer(t)
	s.call(http.MethodPut, "/v1/passages/new?refresh=wait", `{"text":"A zebra."}`, http.StatusCreated, nil)
	if code, _, complaints := conclave(t, "serve", "--collection", "c", "--listen", freeAddress(t)); code != exitFailed || !strings.Contains(complaints, "another writer") || !strings.Contains(complaints, "--read-only") {
		t.Errorf("a second server: exit code %d, %s", code, complaints)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--id-prefix", "x/", "--in", passagesFile(t)); code != exitFailed || !strings.Contains(complaints, "another writer") {
		t.Errorf("index beside the server: exit code %d, %s", code, complaints)
	}
	reader := startServer(t, "--read-only")
	if ids := reader.search("zebra"); !slices.Equal(ids, []string{"new"}) {
		t.Errorf("the reader finds %v", ids)
	}
	reader.call(http.MethodPut, "/v1/passages/x", `{"text":"x"}`, http.StatusForbidden, nil)
	reader.call(http.MethodGet, "/v1/passages/new", "", http.StatusOK, nil)
	for _, server := range []*served{reader, s} {
		if code := server.end(); code != exitOK {
			t.Errorf("ended with %d:\n%s", code, server.log.String())
		}
	}
	// A folder that cannot be written to is read alone.
	if err := os.Chmod("c", 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod("c", 0o755) })
	if err := os.Chmod(filepath.Join("c", "LOCK"), 0o444); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 { // who may do everything
		if code, _, complaints := conclave(t, "serve", "--collection", "c", "--listen", freeAddress(t)); code != exitFailed || !strings.Contains(complaints, "--read-only") {
			t.Errorf("a folder for reading: exit code %d, %s", code, complaints)
		}
	}
	if code := startServer(t, "--read-only").end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestExpertsComeAndGo adds an expert while searches and writes go on, and takes
// one out; a restart finds what there is.
func TestExpertsComeAndGo(t *testing.T) {
	tinyCollection(t, []string{"first", "late"}, "first")
	s := startServer(t)
	stop, stopped := make(chan struct{}), make(chan int, 1)
	end := sync.OnceValue(func() int { close(stop); return <-stopped })
	t.Cleanup(func() { _ = end() }) // before the server ends
	go func() {                     // searches without a pause
		n := 0
		defer func() { stopped <- n }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			response, err := http.Post(s.url+"/v1/search", "application/json", strings.NewReader(`{"question":"who hid the lamp","timeout_ms":10000}`))
			if err != nil {
				t.Error(err)
				return
			}
			answer, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"degraded":[]`)) {
				t.Errorf("%d %s", response.StatusCode, answer)
			}
			n++
		}
	}()
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"first"}`, http.StatusConflict, nil)
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"nobody"}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodPost, "/v1/admin/experts", `{"name":"../late"}`, http.StatusUnprocessableEntity, nil)
	s.call(http.MethodDelete, "/v1/admin/experts/nobody", "", http.StatusNotFound, nil)

	accepted := s.call(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`, http.StatusAccepted, nil)
	s.call(http.MethodPut, "/v1/passages/meanwhile", `{"text":"Written meanwhile."}`, http.StatusCreated, nil)
	if j := s.job(accepted); j.State != jobs.Done || j.Result == nil || j.Result.Recall["recall@10"] < .95 || j.Result.Generation == 0 {
		t.Fatalf("%+v\n%s", j, s.log.String())
	}
	s.call(http.MethodPut, "/v1/passages/after?refresh=wait", `{"text":"Written after."}`, http.StatusCreated, nil)
	check := func(s *served, experts ...string) {
		t.Helper()
		for _, x := range experts {
			ids := s.search("Written after.", x)
			slices.Sort(ids)
			if !slices.Equal(ids, []string{"1", "2", "3", "after", "meanwhile"}) {
				t.Errorf("%s finds %v", x, ids)
			}
		}
		var infos struct{ Experts []search.ExpertInfo }
		s.call(http.MethodGet, "/v1/experts", "", http.StatusOK, &infos)
		var names []string
		for _, x := range infos.Experts {
			names = append(names, x.Name)
		}
		if !slices.Equal(names, experts) {
			t.Errorf("experts %v, want %v", names, experts)
		}
		var health struct{ Components []struct{ Name string } }
		s.call(http.MethodGet, "/readyz", "", http.StatusOK, &health)
		if len(health.Components) != 1+len(experts) {
			t.Errorf("components %+v", health)
		}
	}
	check(s, "first", "late")

	if j := s.job(s.call(http.MethodDelete, "/v1/admin/experts/first", "", http.StatusAccepted, nil)); j.State != jobs.Done {
		t.Fatalf("%+v\n%s", j, s.log.String())
	}
	check(s, "late")
	s.call(http.MethodPost, "/v1/search", `{"question":"x","experts":["first"]}`, http.StatusUnprocessableEntity, nil)
	if n := end(); n == 0 {
		t.Error("nobody searched meanwhile")
	}
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
	again := startServer(t)
	check(again, "late")
	// Taken out for good, and added once more under the same name.
	if j := again.job(again.call(http.MethodPost, "/v1/admin/experts", `{"name":"first","index":"flat"}`, http.StatusAccepted, nil)); j.State != jobs.Done {
		t.Fatalf("%+v\n%s", j, again.log.String())
	}
	check(again, "late", "first")
	if code := again.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, again.log.String())
	}
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != exitOK {
		t.Errorf("verify: %s%s", out, complaints)
	}
}

// TestFirstExpert adds an expert to a collection of words alone, for which no
// runtime was loaded; the configuration then names experts, and not this one.
func TestFirstExpert(t *testing.T) {
	tinyCollection(t, []string{"late", "other"}, "none")
	s := startServer(t)
	if j := s.job(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"late"}`, http.StatusAccepted, nil)); j.State != jobs.Done {
		t.Fatalf("%+v\n%s", j, s.log.String())
	}
	if ids := s.search("who hid the lamp", "late"); len(ids) != 3 {
		t.Errorf("%v", ids)
	}
	if j := s.job(s.call(http.MethodPost, "/v1/admin/experts", `{"name":"other"}`, http.StatusAccepted, nil)); j.State != jobs.Done {
		t.Fatalf("%+v\n%s", j, s.log.String())
	}
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
	text, err := os.ReadFile("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("conclave.yaml", append(text, "experts: [{name: late}]\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	s = startServer(t)
	s.call(http.MethodPut, "/v1/passages/4?refresh=wait", `{"text":"A fourth."}`, http.StatusCreated, nil)
	if ids := s.search("who hid the lamp", "late"); len(ids) != 4 {
		t.Errorf("%v", ids)
	}
	s.call(http.MethodPost, "/v1/search", `{"question":"x","experts":["other"]}`, http.StatusUnprocessableEntity, nil)
	if !strings.Contains(s.log.String(), "other") {
		t.Errorf("the log does not tell of the expert that is not searched:\n%s", s.log.String())
	}
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != exitOK || !strings.Contains(out, "4 passages") {
		t.Errorf("verify: %s%s", out, complaints)
	}
}

// TestSnapshotOfServer asks a server for a snapshot, which holds what was just
// written, and serves it.
func TestSnapshotOfServer(t *testing.T) {
	tinyCollection(t, nil, "none")
	s := startServer(t, "--config", "conclave.yaml")
	s.call(http.MethodPut, "/v1/passages/new", `{"text":"A zebra."}`, http.StatusCreated, nil)
	code, out, complaints := conclave(t, "snapshot", "--url", s.url, "--out", "monday")
	if code != exitOK || !strings.Contains(out, "4 passages") {
		t.Fatalf("exit code %d, %s%s", code, out, complaints)
	}
	s.call(http.MethodDelete, "/v1/passages/new?refresh=wait", "", http.StatusOK, nil)
	for name, says := range map[string]string{"monday": "already", "../monday": "name", ".hidden": "name"} {
		if code, _, complaints := conclave(t, "snapshot", "--url", s.url, "--out", name); code != exitFailed || !strings.Contains(complaints, says) {
			t.Errorf("%s: exit code %d, %s", name, code, complaints)
		}
	}
	if code, _, complaints := conclave(t, "snapshot", "--url", s.url, "--collection", "c", "--out", "x"); code != exitUsage {
		t.Errorf("both: exit code %d, %s", code, complaints)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, s.log.String())
	}
	restored := startServer(t, "--collection", filepath.Join("c-snapshots", "monday"))
	if ids := restored.search("zebra"); !slices.Equal(ids, []string{"new"}) {
		t.Errorf("the snapshot finds %v", ids)
	}
	// It is a collection of its own.
	restored.call(http.MethodPut, "/v1/passages/more?refresh=wait", `{"text":"Another zebra."}`, http.StatusCreated, nil)
	if code := restored.end(); code != exitOK {
		t.Errorf("the server ended with %d:\n%s", code, restored.log.String())
	}
	if code, out, complaints := conclave(t, "verify", "--collection", "c"); code != exitOK || !strings.Contains(out, "3 passages") {
		t.Errorf("verify: %s%s", out, complaints)
	}
}
