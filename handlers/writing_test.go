package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

var _ Writer = (*folder.Live)(nil)
var _ Jobs = (*jobs.Queue)(nil)

// Writes go to a real collection of words alone, and searches see it.

// seed is what the collection holds at the beginning.
type seed struct{ left int }

func (s *seed) Next() (corpus.Passage, error) {
	if s.left == 0 {
		return corpus.Passage{}, io.EOF
	}
	s.left--
	return corpus.Passage{
		ID:   fmt.Sprint("seed", s.left),
		Text: fmt.Sprint("A passage of the beginning, number ", s.left),
	}, nil
}

func (s *seed) Place() corpus.Place      { return corpus.Place{} }
func (s *seed) Progress() (int64, int64) { return 0, 0 }

// writingServer is a server that writes.
type writingServer struct {
	*server
	live *folder.Live
	jobs *jobs.Queue
	dir  string
}

// writingOptions are what startWriting is told.
type writingOptions struct {
	Options
	live     folder.LiveOptions // whose Build makes the collection too
	kinds    map[string]jobs.Handler
	timeouts []ServeOptions
	wrap     func(Writer) Writer // puts something before the collection
}

// documentLimits returns what reading a file may take in tests.
func documentLimits() documents.Limits {
	return documents.Limits{
		FileBytes: 1 << 20, UnpackedBytes: 1 << 20, TextBytes: 1 << 20, Blocks: 1 << 16,
		Time: time.Minute, Depth: 3, Members: 100,
	}
}

func startWriting(t testing.TB, o writingOptions) *writingServer {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := folder.Build(t.Context(), dir, &seed{3}, o.live.Build); err != nil {
		t.Fatal(err)
	}
	if o.live.FlushAfter == 0 {
		o.live.FlushAfter = 5 * time.Millisecond
	}
	live, err := folder.OpenLive(dir, o.live)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	engine, err := search.NewEngine(
		search.EngineConfig{
			Corpus: view.Of(live.Collection()),
			Limits: testLimits(),
			LineUp: search.LineUp{Defaults: testDefaults()},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close(context.Background()) })
	register, err := jobs.OpenFolder(disk.OS{}, filepath.Join(dir, "jobs"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	queue := jobs.NewQueue(register, jobs.QueueOptions{Kinds: o.kinds})
	o.Engine = engine
	s := &writingServer{server: start(t, o.Options, o.timeouts...), live: live, jobs: queue, dir: dir}
	var writer Writer = live
	if o.wrap != nil {
		writer = o.wrap(live)
	}
	keeper := keeping.New(live, documents.Options{Limits: documentLimits(), Words: 20}, nil)
	s.api.AttachDocuments(keeper, jobs.NewFolderInputs(filepath.Join(dir, "jobs"), UploadPrefix))
	s.api.AttachJudgments(noFile(t))
	if err := s.api.AttachWriter(writer, queue, &noSnapshots{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// found returns the ids that a search for words finds.
func (s *writingServer) found(question string) []string {
	s.t.Helper()
	r := s.post("/v1/search", fmt.Sprintf(`{"question":%q,"k":50,"collapse":false}`, question))
	var response reply.Response
	if err := json.Unmarshal(r.body, &response); err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s %v", r.StatusCode, r.body, err)
	}
	ids := []string{}
	for _, result := range response.Results {
		ids = append(ids, result.ID)
	}
	return ids
}

func (s *writingServer) put(path, body string, header ...string) received {
	s.t.Helper()
	return s.send(http.MethodPut, path, body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// TestDotsAreNoIDs: an id that clients take out of an address is refused, however it is written.
func TestDotsAreNoIDs(t *testing.T) {
	s := startWriting(t, writingOptions{})
	for _, path := range []string{"/v1/passages/%2E", "/v1/passages/%2E%2E"} {
		if p := s.put(path, `{"text":"zebra"}`).problem(t); p.Code != "invalid_passage" ||
			!strings.Contains(p.Detail, "another id") {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

// TestPutGetDelete follows the life of one passage.
func TestPutGetDelete(t *testing.T) {
	s := startWriting(t, writingOptions{})
	if r := s.put("/v1/passages/%2E", `{"text":"x"}`); r.problem(t).Code != "invalid_passage" {
		t.Errorf("an id that is a step in a path: %d %s", r.StatusCode, r.body)
	}
	// An id with everything in it that needs care in a path.
	for _, id := range []string{"plain", "wiki/42", "a b&c%d é?#;+", "%2F", "日本", strings.Repeat("x", 512), "a//b/"} {
		path := "/v1" + passagePath(id)
		r := s.put(
			path,
			`{"title":"T","text":"some zebra <text>","tags":["a","b"],"metadata":{"year":2020,"exact":12345678901234567890,"open":true,"who":"me"}}`,
		)
		etag := r.Header.Get("ETag")
		var result WriteResult
		if err := json.Unmarshal(r.body, &result); err != nil || r.StatusCode != http.StatusCreated || result.ID != id ||
			result.Status != "created" ||
			etag != `"`+result.Version+`"` {
			t.Fatalf("%q: %d %s, ETag %s", id, r.StatusCode, r.body, etag)
		}
		if r.Header.Get("Location") != path {
			t.Errorf("%q: Location %q, want %q", id, r.Header.Get("Location"), path)
		}
		r = s.send(http.MethodGet, path, "")
		if want := `"title":"T","text":"some zebra <text>","tags":["a","b"],"metadata":{"exact":12345678901234567890,"open":true,"who":"me","year":2020}}`; r.StatusCode != http.StatusOK ||
			!strings.Contains(string(r.body), want) ||
			r.Header.Get("ETag") != etag {
			t.Fatalf("%q: GET: %d %s", id, r.StatusCode, r.body)
		}
		if r := s.send(http.MethodGet, path, "", "If-None-Match", etag); r.StatusCode != http.StatusNotModified {
			t.Errorf("%q: GET of the version that is known: %d", id, r.StatusCode)
		}
		if r := s.put(path, `{"title":"T","text":"some zebra <text>","tags":["a","b"],"metadata":{"who":"me","open":true,"year":2020,"exact":12345678901234567890}}`); r.StatusCode != http.StatusOK ||
			!strings.Contains(string(r.body), `"status":"unchanged"`) ||
			r.Header.Get("ETag") != etag {
			t.Errorf("%q: the same again: %d %s", id, r.StatusCode, r.body)
		}
		if r := s.put(path+"?refresh=wait", `{"id":`+quoted2(id)+`,"text":"another zebra"}`); r.StatusCode != http.StatusOK ||
			!strings.Contains(string(r.body), `"status":"replaced"`) ||
			r.Header.Get("ETag") == etag {
			t.Errorf("%q: another text: %d %s", id, r.StatusCode, r.body)
		}
		if found := s.found("zebra"); len(found) != 1 || found[0] != id {
			t.Errorf("%q: a search finds %q", id, found)
		}
		if r := s.send(http.MethodDelete, path+"?refresh=wait", ""); r.StatusCode != http.StatusOK ||
			!strings.Contains(string(r.body), `"status":"deleted"`) ||
			r.Header.Get("Conclave-Backlog") != "0" {
			t.Errorf("%q: DELETE: %d %s", id, r.StatusCode, r.body)
		}
		if found := s.found("zebra"); len(found) != 0 {
			t.Errorf("%q: after the deletion a search finds %q", id, found)
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if p := s.send(method, path, "").problem(t); p.Code != "unknown_passage" || p.Status != http.StatusNotFound {
				t.Errorf("%q: %s after the deletion: %+v", id, method, p)
			}
		}
	}
}

// quoted2 returns a JSON string.
func quoted2(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// TestReadYourWrites gets a passage that searches do not see yet.
func TestReadYourWrites(t *testing.T) {
	s := startWriting(t, writingOptions{live: folder.LiveOptions{FlushAfter: time.Hour}})
	r := s.put("/v1/passages/a", `{"text":"a zebra"}`)
	if r.StatusCode != http.StatusCreated || r.Header.Get("Conclave-Backlog") != "1" {
		t.Fatalf("%d, backlog %s", r.StatusCode, r.Header.Get("Conclave-Backlog"))
	}
	if r := s.send(http.MethodGet, "/v1/passages/a", ""); r.StatusCode != http.StatusOK {
		t.Errorf("GET: %d", r.StatusCode)
	}
	if found := s.found("zebra"); len(found) != 0 {
		t.Errorf("searches see it already: %v", found)
	}
	if ready := s.send(http.MethodGet, "/readyz", ""); !strings.Contains(string(ready.body), `"backlog":{"changes":1,`) {
		t.Errorf("%s", ready.body)
	}
	metrics := s.send(http.MethodGet, "/metrics", "")
	if !strings.Contains(string(metrics.body), "conclave_backlog_changes 1\n") ||
		!strings.Contains(string(metrics.body), `conclave_writes_total{outcome="created"} 1`) ||
		!strings.Contains(string(metrics.body), "conclave_commit_seconds_count 1\n") {
		t.Errorf("%s", metrics.body)
	}
	if r := s.send(http.MethodDelete, "/v1/passages/a?refresh=wait", ""); r.StatusCode != http.StatusOK ||
		r.Header.Get("Conclave-Backlog") != "0" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

// TestConditions: nobody's change is lost.
func TestConditions(t *testing.T) {
	s := startWriting(t, writingOptions{})
	first := s.put("/v1/passages/a", `{"text":"one"}`, "If-None-Match", "*").Header.Get("ETag")
	compressed := strings.TrimSuffix(first, `"`) + etagSuffix + `"`
	for _, c := range []struct {
		what, method, body, header, value string
		status                            int
		code                              string
	}{
		{"create what is there", http.MethodPut, `{"text":"two"}`, "If-None-Match", "*", 412, "version_mismatch"},
		{"replace another version", http.MethodPut, `{"text":"two"}`, "If-Match", `"00000000000000000000000000000000"`, 412, "version_mismatch"},
		{"a weak tag", http.MethodPut, `{"text":"two"}`, "If-Match", "W/" + first, 412, "version_mismatch"},
		{"a bare word", http.MethodPut, `{"text":"two"}`, "If-Match", "abc", 412, "version_mismatch"},
		{"delete another version", http.MethodDelete, "", "If-Match", `"1"`, 412, "version_mismatch"},
		{"a tag to have none of", http.MethodPut, `{"text":"two"}`, "If-None-Match", first, 400, "impossible_condition"},
		{"delete what is not there", http.MethodDelete, "", "If-None-Match", "*", 400, "impossible_condition"},
		{"two tags", http.MethodPut, `{"text":"two"}`, "If-Match", first + `, "b"`, 400, "impossible_condition"},
		{"the version that is stored", http.MethodPut, `{"text":"two"}`, "If-Match", first, 200, ""},
		{"the same once more", http.MethodPut, `{"text":"three"}`, "If-Match", first, 412, "version_mismatch"},
		{"any version", http.MethodPut, `{"text":"one"}`, "If-Match", "*", 200, ""},
		{"a tag of a compressed answer", http.MethodDelete, "", "If-Match", compressed, 200, ""},
		{"any version of nothing", http.MethodPut, `{"text":"two"}`, "If-Match", "*", 412, "version_mismatch"},
		{"delete nothing, if it is there", http.MethodDelete, "", "If-Match", "*", 412, "version_mismatch"},
		{"create", http.MethodPut, `{"text":"two"}`, "If-None-Match", "*", 201, ""},
	} {
		header := []string{c.header, c.value}
		if c.body != "" {
			header = append(header, "Content-Type", "application/json")
		}
		r := s.send(c.method, "/v1/passages/a", c.body, header...)
		if r.StatusCode != c.status || c.code != "" && r.problem(t).Code != c.code {
			t.Errorf("%s: %d %s", c.what, r.StatusCode, r.body)
		}
	}
	if r := s.put("/v1/passages/a", `{"text":"x"}`, "If-Match", "*", "If-None-Match", "*"); r.StatusCode != 400 {
		t.Errorf("both: %d", r.StatusCode)
	}
}

// TestBadPassages says what is wrong with each, and stores none.
// TestNullIsAbsent: as in an upload. A title is enough, and numbers keep their digits.
func TestNullIsAbsent(t *testing.T) {
	s := startWriting(t, writingOptions{})
	for body, want := range map[string]string{
		`{"text":"a","title":null,"tags":null,"metadata":{"x":null,"y":1}}`: `{"id":"a","text":"a","metadata":{"y":1}}`,
		`{"text":"a","metadata":{"x":null}}`:                                `{"id":"a","text":"a"}`,
		`{"text":"a","metadata":null}`:                                      `{"id":"a","text":"a"}`,
		`{"title":"T"}`:                                                     `{"id":"a","title":"T","text":""}`,
		`{"title":"T","text":null}`:                                         `{"id":"a","title":"T","text":""}`,
		`{"text":"a","metadata":{"n":1546130668394913822,"z":1.50,"e":1E+2,"m":-0.0}}`: `{"id":"a","text":"a","metadata":{"e":1E+2,"m":-0.0,"n":1546130668394913822,"z":1.50}}`,
	} {
		if r := s.put("/v1/passages/a", body); r.StatusCode >= 300 {
			t.Errorf("%s: %d %s", body, r.StatusCode, r.body)
		}
		if got := strings.TrimSpace(string(s.send(http.MethodGet, "/v1/passages/a", "").body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		lines, _ := parseAnswer(
			t,
			s.send(http.MethodPost, "/v1/passages", `{"id":"b",`+body[1:], "Content-Type", schema.TypeLines).body,
		)
		if len(lines) != 1 || lines[0].Error != nil {
			t.Errorf("%s: as a line %+v", body, lines)
		}
	}
}

// TestOtherEncodings: the answer says how a file is converted, and a mark between files
// that were put together is passed over.
func TestOtherEncodings(t *testing.T) {
	s := startWriting(t, writingOptions{})
	lines, _ := parseAnswer(
		t,
		s.send(
			http.MethodPost,
			"/v1/passages",
			"\ufeff{\"id\":\"a\",\"text\":\"x\"}\n\ufeff{\"id\":\"b\",\"text\":\"y\"}\n{\"id\":\"c\",\"text\":\"caf\xe9\"}\n",
			"Content-Type",
			schema.TypeLines,
		).body,
	)
	if len(lines) != 3 || lines[0].Error != nil || lines[1].Error != nil || lines[2].Error == nil ||
		!strings.Contains(lines[2].Error.Detail, "iconv -f WINDOWS-1252 -t UTF-8 FILE > FILE.utf8") {
		t.Errorf("%+v", lines)
	}
}

func TestBadPassages(t *testing.T) {
	s := startWriting(
		t,
		writingOptions{
			Options: Options{Write: WriteLimits{LineBytes: 3000, PassageBytes: 1000, Tags: 3, MetadataBytes: 100}},
		},
	)
	long := strings.Repeat("x", 1001)
	for body, want := range map[string]struct {
		status        int
		code, pointer string
	}{
		``:                        {400, "not_json", ""},
		`{"text":"a"`:             {400, "not_json", ""},
		`[]`:                      {422, "wrong_type", ""},
		`{}`:                      {400, "missing_field", "/text"},
		`{"text":""}`:             {422, "invalid_passage", "/text"},
		`{"text":" \n "}`:         {422, "invalid_passage", "/text"},
		`{"text":5}`:              {422, "wrong_type", "/text"},
		`{"text":null}`:           {400, "missing_field", "/text"},
		`{"title":" "}`:           {400, "missing_field", "/text"},
		`{"text":"a\u0000b"}`:     {422, "invalid_passage", "/text"},
		`{"text":"a\ud800"}`:      {400, "invalid_utf8", ""},
		"{\"text\":\"a\xff\"}":    {400, "invalid_utf8", ""},
		`{"text":"a","Text":""}`:  {400, "unknown_field", "/Text"},
		`{"text":"a","text":""}`:  {400, "duplicate_key", "/text"},
		`{"text":"` + long + `"}`: {413, "too_long", "/text"},
		`{"text":"a","title":"` + strings.Repeat("t", 4000) + `"}`: {413, "body_too_large", ""},
		`{"text":"a","id":"b"}`:                                              {422, "id_mismatch", "/id"},
		`{"text":"a","tags":["1","2","3","4"]}`:                              {422, "out_of_range", "/tags"},
		`{"text":"a","tags":["1",""]}`:                                       {422, "invalid_passage", "/tags/1"},
		`{"text":"a","tags":"1"}`:                                            {422, "wrong_type", "/tags"},
		`{"text":"a","tags":[1]}`:                                            {422, "wrong_type", "/tags/0"},
		`{"text":"a","metadata":{"x":{"y":1}}}`:                              {422, "invalid_passage", "/metadata/x"},
		`{"text":"a","metadata":{"x":[1]}}`:                                  {422, "invalid_passage", "/metadata/x"},
		`{"text":"a","metadata":{"x":1e400}}`:                                {422, "invalid_passage", "/metadata/x"},
		`{"text":"a","metadata":{"x":"` + long[:200] + `"}}`:                 {413, "too_long", "/metadata"},
		`{"text":"a","metadata":[]}`:                                         {422, "wrong_type", "/metadata"},
		`{"text":"a","metadata":{"a":1,"a":2}}`:                              {400, "duplicate_key", "/metadata/a"},
		`{"text":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}`: {400, "too_deep", ""},
	} {
		r := s.put("/v1/passages/a", body)
		if body == "" { // the client sends no body at all then
			r = s.put("/v1/passages/a", " ")
		}
		p := r.problem(t)
		pointer := ""
		if len(p.Errors) > 0 {
			pointer = p.Errors[0].Pointer
		}
		if r.StatusCode != want.status || p.Code != want.code || pointer != want.pointer {
			t.Errorf("%.60s: %d %s", body, r.StatusCode, r.body)
		}
	}
	for path, code := range map[string]string{
		"/v1/passages/%00": "invalid_passage", "/v1/passages/%FF": "invalid_utf8", "/v1/passages/%20a": "invalid_passage", "/v1/passages/" + strings.Repeat("y", 513): "invalid_passage",
		"/v1/passages/a?refresh=now": "unknown_value", "/v1/passages/a?wait=1": "unknown_parameter", "/v1/passages/a?refresh=wait&refresh=wait": "repeated_parameter", "/v1/passages/a?stream=true": "unknown_parameter", "/v1/passages/a?%zz": "invalid_query",
	} {
		if p := s.put(path, `{"text":"a"}`).problem(t); p.Code != code {
			t.Errorf("%.40s: %+v", path, p)
		}
	}
	if r := s.send(http.MethodPut, "/v1/passages/a", `{"text":"a"}`, "Content-Type",
		"text/plain"); r.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("as text: %d", r.StatusCode)
	}
	if r := s.send(http.MethodDelete, "/v1/passages/a", `{}`, "Content-Type",
		"application/json"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("DELETE with a body: %d", r.StatusCode)
	}
	if n, _ := s.live.Collection().Reload(nil); n || s.live.Backlog().Changes > 0 {
		t.Error("something was stored")
	}
}

// anyRoom has room for a passage of any size.
func anyRoom(int) error { return nil }
