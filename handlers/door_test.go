package handlers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
)

// walked are the adapters of the program.
var walked []Adapter

// Walk sets walked, the adapters of the program, for the tests of this package, and returns them.
func Walk(all []Adapter) []Adapter { walked = all; return all }

// bodies returns what to send, by path.
func bodies() map[string]string {
	return map[string]string{
		"/v1/collections":                       `{"name":"d"}`,
		"/v1/search":                            `{"question":"bees"}`,
		"/v1/search/batch":                      `{"searches":[{"question":"bees"}]}`,
		"/v1/fuse":                              `{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"b","score":0.5,"rank":1}]}]}`,
		"/v1/embed":                             `{"expert":"wiki","input":["bees"]}`,
		"/v1/passages":                          `{"id":"a","text":"b"}`,
		"/v1/passages/bees":                     `{"text":"b"}`,
		"/v1/documents/bees":                    `Bees.`,
		"/v1/files":                             "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"bees\"\r\n\r\nBees.\r\n--b--",
		"/v1/vector_stores/c/files":             `{"file_id":"file-YmVlcw"}`,
		"/v1/vector_stores/c/files/file-YmVlcw": `{"attributes":{}}`,
		"/v1/documents":                         "PK\x03\x04",
		"/v1/admin/snapshots":                   `{"name":"a"}`,
		"/v1/admin/calibrations":                `{"dry_run":true}`,
		"/v1/admin/evaluations":                 `{}`,
		"/v1/judgments":                         `{"question":"bees","passage":"bees","grade":1}`,
		"/v1/admin/experts":                     `{"name":"a"}`,
		"/v1/admin/settings":                    `{"fields":{"year":"number"}}`,
		"/v1/chat/completions":                  `{"model":"conclave","messages":[{"role":"user","content":"bees"}]}`,
		"/v1/responses":                         `{"model":"conclave","input":"bees"}`,
		"/v1/completions":                       `{"model":"conclave","prompt":"bees"}`,
		"/v1/vector_stores":                     `{"name":"d"}`,
		"/v1/embeddings":                        `{"model":"wiki","input":"bees"}`,
		"/v1/vector_stores/c/search":            `{"query":"bees"}`,
		"/embed":                                `{"inputs":"bees"}`,
		"/rerank":                               `{"query":"bees","texts":["x"]}`,
		"/v1/rerank":                            `{"query":"bees","documents":["x"]}`,
		"/v2/rerank":                            `{"query":"bees","documents":["x"]}`,
		"/retrieval":                            `{"knowledge_id":"c","query":"bees","retrieval_setting":{"top_k":3}}`,
		"/mcp":                                  `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	}
}

// arguments returns what to call a tool with, by its name.
func arguments() map[string]string {
	return map[string]string{
		"search":       `{"query":"bees"}`,
		"fetch":        `{"id":"bees"}`,
		"answer":       `{"query":"bees"}`,
		"list_experts": `{}`,
		"explain":      `{"query":"bees"}`,
	}
}

// visitor is something that can be asked for.
type visitor struct {
	name, method, path, body, contentType string
	accept                                string
	cost                                  front.Cost
	tool, page                            bool
}

func (v *visitor) request(ctx context.Context, key string) *http.Request {
	r := httptest.NewRequest(v.method, "http://localhost"+v.path, strings.NewReader(v.body)).WithContext(ctx)
	if v.body == "" {
		r.Body = http.NoBody
		r.ContentLength = 0
	} else {
		r.Header.Set("Content-Type", v.contentType)
	}
	if v.accept != "" {
		r.Header.Set("Accept", v.accept)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

// visit asks an API, and fails where there is no answer for too long.
func (v *visitor) visit(t *testing.T, api *API, ctx context.Context, key string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		api.ServeHTTP(w, v.request(ctx, key))
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not end", v.name)
	}
	provoked(w.Body.Bytes())
	if w.Code >= http.StatusBadRequest { // the rest depends on the engine, and the tests' is none of ours
		keepsContract(t, v.method, strings.Split(v.path, "?")[0], received{w.Result(), w.Body.Bytes()})
	}
	return w
}

// everything returns all that is served, to a key where there are some: every method of every path, and
// every tool.
func everything(t *testing.T, api *API, key ...string) (all []visitor) {
	t.Helper()
	known := bodies()
	pagesToo := map[string]bool{}
	shown, err := webPages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range shown {
		pagesToo[p.path] = true
	}
	pagesToo[guideSearchPath] = true
	for _, e := range api.registrations {
		path := strings.NewReplacer("/passages/*", "/passages/bees", "/documents/*", "/documents/bees", "/experts/{name}", "/experts/wiki", "/{name}", "/x", "/{id}", "/1", "{collection}", "c", "{file}", "file-YmVlcw", "{model}", "conclave").
			Replace(e.pattern)
		v := visitor{
			name:        e.method + " " + e.pattern,
			method:      e.method,
			path:        path,
			cost:        e.cost,
			page:        pagesToo[path],
			contentType: schema.TypeJSON,
		}
		switch {
		case e.method == http.MethodPost || e.method == http.MethodPut:
			v.body = known[path]
			if v.body == "" {
				t.Fatalf("tell this test what to send to %s", path)
			}
		case path == "/v1/search", path == guideSearchPath:
			v.path += "?q=bees"
		case path == "/v1/suggest":
			v.path += "?q=" + secret[:4]
		case e.method == http.MethodDelete && path == "/v1/passages":
			v.path += "?tags_any=x"
		}
		if path == "/v1/passages" && e.method == http.MethodPost {
			v.contentType = schema.TypeLines
		}
		if path == "/v1/documents" && e.method == http.MethodPost {
			v.contentType = "application/zip" // of JSON it wants the address of a page
		}
		if path == "/v1/files" {
			v.contentType = "multipart/form-data; boundary=b"
		}
		all = append(all, v)
	}
	if len(all) < 50 {
		t.Fatalf("there are %d operations alone", len(all))
	}
	mcp := visitor{method: http.MethodPost, path: "/mcp", body: known["/mcp"], contentType: schema.TypeJSON}
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	answer := mcp.visit(t, api, t.Context(), strings.Join(key, "")).Body.Bytes()
	if err := json.Unmarshal(answer, &listed); err != nil || len(listed.Result.Tools) == 0 {
		t.Fatalf("%v: %s", err, answer)
	}
	for _, x := range listed.Result.Tools {
		given := arguments()[x.Name]
		if given == "" {
			t.Fatalf("tell this test what to call the tool %s with", x.Name)
		}
		v := mcp
		v.cost = front.Answering(1)
		v.name = "the tool " + x.Name
		v.tool = true
		v.body = fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
			x.Name,
			given,
		)
		all = append(all, v)
	}
	return all
}

// walkedAPI serves everything there is, from an engine that gets stuck when it is closed.
func walkedAPI(t *testing.T, o Options) (*API, *halted) {
	t.Helper()
	if walked == nil {
		t.Fatal("there are no adapters")
	}
	s := &halted{Engine: testEngine(t, engineOptions{})}
	o.TempDir = t.TempDir()
	o.Engine = s
	o.Adapters = walked
	o.Guide = realGuide(t)
	several := shelfOf(map[string]Engine{"c": s})
	o.Name, o.Collections = "c", several
	o.Limits = s.Limits()
	api := newAPI(t, o)
	api.Collection = several.of["c"]
	keeper := keeping.New(haltedWriter{s}, documents.Options{Limits: documentLimits(), Words: 20}, nil)
	api.AttachDocuments(keeper, jobs.NewFolderInputs(t.TempDir(), UploadPrefix))
	api.AttachJudgments(noFile(t))
	attachAnyOriginal(t, api)
	if err := api.AttachWriter(haltedWriter{s}, haltedJobs{s}, emptySnapshots{}); err != nil {
		t.Fatal(err)
	}
	return api, s
}

// TestOneDoor: whatever is served is refused while there is no place, but for what tells how
// the server does; and it is answered when there is one again.
func TestOneDoor(t *testing.T) {
	control, err := overload.New(64, 2, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	api, _ := walkedAPI(t, Options{Admission: control})
	probes := map[string]bool{}
	for _, v := range everything(t, api) {
		place, err := control.Hold(64)
		if err != nil {
			t.Fatalf("before %s something holds a place: %v", v.name, err)
		}
		full := v.visit(t, api, t.Context(), "")
		place.Leave()
		switch {
		case v.cost.Kind == front.KindProbing:
			probes[v.path] = true
			if full.Code >= 400 && full.Code != http.StatusServiceUnavailable {
				t.Errorf("%s with no place: %d", v.name, full.Code)
			}
		case full.Code != http.StatusTooManyRequests || full.Header().Get("Retry-After") == "":
			t.Errorf("%s with no place: %d %.200s", v.name, full.Code, full.Body)
		}
		if w := v.visit(t, api, t.Context(), ""); w.Code >= 400 && w.Code != http.StatusUnprocessableEntity &&
			w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s with places: %d %.300s", v.name, w.Code, w.Body)
		}
	}
	if got := slices.Sorted(maps.Keys(probes)); !slices.Equal(
		got, []string{"/livez", "/metrics", "/readyz", "/startupz"},
	) {
		t.Errorf("%q are answered whatever else there is to do", got)
	}
	if roomTakenOf(api) != 0 {
		t.Errorf("%d bytes of room are taken in the end", roomTakenOf(api))
	}
}

// TestDoorCountsRates: of everything, the third request of a caller who may send two is
// refused, but for probes.
func TestDoorCountsRates(t *testing.T) {
	keys := []front.Key{{Name: "lists", SHA256: sha256.Sum256([]byte("lists")), Scopes: []schema.Scope{schema.ScopeAdmin}}}
	for i := range 1000 {
		keys = append(
			keys,
			front.Key{
				Name:   fmt.Sprint(i),
				SHA256: sha256.Sum256([]byte(fmt.Sprint(i))),
				Scopes: []schema.Scope{schema.ScopeAdmin},
			},
		)
	}
	open, _ := walkedAPI(t, Options{})
	api, _ := walkedAPI(t, Options{Keys: keys, RateRequests: 2})
	for i, v := range everything(t, open) {
		var codes []int
		for range 3 {
			codes = append(codes, v.visit(t, api, t.Context(), fmt.Sprint(i)).Code)
		}
		never := front.IsProbePath(v.path)
		if refused := codes[2] == http.StatusTooManyRequests; refused == never ||
			codes[1] == http.StatusTooManyRequests {
			t.Errorf("%s: %v", v.name, codes)
		}
	}
}

// TestDoorEnds: with everything stuck that anything can wait for, each request ends when
// its time is over, and a change with its caller.
func TestDoorEnds(t *testing.T) {
	control, err := overload.New(64, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const timeout = 40 * time.Millisecond
	open, _ := walkedAPI(t, Options{})
	all := everything(t, open)
	api, engine := walkedAPI(t, Options{Admission: control, Timeout: timeout})
	engine.closed = true
	turn, err := control.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn()
	whole := overload.Share{}
	if !api.admission.AnswerMemory.Resize(&whole, api.options.AnswerMemory) {
		t.Fatal("there is no room in an idle server")
	}
	defer api.admission.AnswerMemory.GiveBack(whole)
	for _, v := range all {
		ctx := t.Context()
		if v.cost.Kind == front.KindStoring {
			var gone context.CancelFunc
			ctx, gone = context.WithTimeout(ctx, timeout)
			defer gone()
		}
		w := v.visit(t, api, ctx, "")
		small := w.Code == http.StatusOK && w.Body.Len() <= small
		switch {
		case v.cost.Kind == front.KindProbing, v.cost.Kind == front.KindStoring:
		case v.cost.Kind == front.KindInParts:
			if !strings.Contains(w.Body.String(), `"code":"deadline"`) {
				t.Errorf("%s: %d %.300s", v.name, w.Code, w.Body)
			}
		case v.page && small, w.Code == http.StatusNoContent: // nothing that it could wait for
		case w.Code != http.StatusGatewayTimeout && w.Code != http.StatusTooManyRequests:
			t.Errorf("%s: %d %.300s", v.name, w.Code, w.Body)
		}
	}
	place, err := control.Hold(64)
	if err != nil {
		t.Errorf("after all: %v", err)
	} else {
		place.Leave()
	}
}

// TestDoorNeedsRoom: while the answers that are sent take all the room, nothing is answered
// that is larger than what a connection has anyway, and no tool at all.
func TestDoorNeedsRoom(t *testing.T) {
	open, _ := walkedAPI(t, Options{})
	all := everything(t, open)
	api, _ := walkedAPI(t, Options{Timeout: 40 * time.Millisecond})
	whole := overload.Share{}
	if !api.admission.AnswerMemory.Resize(&whole, api.options.AnswerMemory) {
		t.Fatal("there is no room in an idle server")
	}
	for _, v := range all {
		w := v.visit(t, api, t.Context(), "")
		if v.cost.Kind == front.KindProbing || v.cost.Kind == front.KindStoring || !v.tool && w.Body.Len() <= small {
			continue
		}
		if w.Code != http.StatusGatewayTimeout && w.Code != http.StatusTooManyRequests {
			t.Errorf("%s with no room: %d, %d bytes", v.name, w.Code, w.Body.Len())
		}
	}
	api.admission.AnswerMemory.GiveBack(whole)
	if roomTakenOf(api) != 0 {
		t.Errorf("%d bytes are taken in the end", roomTakenOf(api))
	}
}

// TestBatchOver: a batch whose searches wait ends when its time is over, and each search
// that was not done is answered as that, in its place, beside one that is wrong and one that
// was done.
func TestBatchOver(t *testing.T) {
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	wait := func(ctx context.Context) error { return nil }
	engine := testEngine(
		t,
		engineOptions{
			before: func(ctx context.Context) error { return wait(ctx) },
			limits: search.Limits{Timeout: time.Minute},
		},
	)
	api := newAPI(t, Options{Engine: engine, Timeout: time.Minute})
	wait = slow
	searches := []string{`{"question":"bees","experts":[]}`, `{"question":" "}`}
	for range 20 {
		searches = append(searches, `{"question":"bees","experts":["wiki"],"bm25":false,"timeout_ms":60000}`)
	}
	v := visitor{
		name:        "a batch",
		method:      http.MethodPost,
		path:        batchPath,
		contentType: schema.TypeJSON,
		body:        `{"timeout_ms":80,"searches":[` + strings.Join(searches, ",") + `]}`,
	}
	w := v.visit(t, api, t.Context(), "")
	var out struct {
		Answers []struct{ Code, Question string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || len(out.Answers) != len(searches) {
		t.Fatalf("%v, %d answers: %s", err, len(out.Answers), w.Body)
	}
	if out.Answers[0].Question != "bees" || out.Answers[1].Code != "empty_question" {
		t.Errorf("%+v", out.Answers[:2])
	}
	for i, x := range out.Answers[2:] {
		if x.Code != "deadline" {
			t.Errorf("%d: %+v", i, x)
		}
	}
	v.body = `{"timeout_ms":60001,"searches":[{"question":"x"}]}`
	if w := v.visit(t, api, t.Context(), ""); w.Code != http.StatusUnprocessableEntity ||
		!bytes.Contains(w.Body.Bytes(), []byte("60000")) {
		t.Errorf("more time than there is: %d %s", w.Code, w.Body)
	}
}
