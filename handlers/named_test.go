package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/overload"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// shelf is several collections in memory. Those that are being used are counted.
type shelf struct {
	mu   sync.Mutex
	of   map[string]*Collection
	used map[string]int
	made collections.Settings // of the last that was made
}

func (s *shelf) Use(_ context.Context, name string) (*Collection, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch k := s.of[name]; {
	case name == "broken":
		return nil, nil, &collections.Error{Code: collections.Damaged, Detail: `"broken" cannot be opened`}
	case name == "slow":
		return nil, nil, &collections.Error{Code: collections.NotOpen, Detail: `"slow" is still being opened`}
	case k == nil:
		return nil, nil, collections.UnknownError(name)
	default:
		s.used[name]++
		return k, func() { s.mu.Lock(); s.used[name]--; s.mu.Unlock() }, nil
	}
}

// Join joins nothing: it is the first one, under all names.
func (s *shelf) Join(ctx context.Context, names []string) (*Collection, func(), error) {
	if slices.Contains(names, "cluster") {
		return nil, nil, &collections.Error{Code: collections.NoValue, Detail: "these cannot be searched as one"}
	}
	return s.Use(ctx, names[0])
}

func (s *shelf) List(context.Context) (out []collections.Info, err error) {
	for name := range s.of {
		out = append(out, collections.Info{Name: name, Status: collections.Opened})
	}
	slices.SortFunc(out, func(a, b collections.Info) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (s *shelf) Describe(_ context.Context, name string) (collections.Info, error) {
	if s.of[name] == nil {
		return collections.Info{}, collections.UnknownError(name)
	}
	return collections.Info{Name: name, Status: collections.Opened}, nil
}

func (s *shelf) Create(_ context.Context, name string, with collections.Settings) (collections.Info, error) {
	s.made = with
	if name == "busy" {
		return collections.Info{}, &collections.Error{Code: collections.Exists, Detail: "there is one already"}
	}
	return collections.Info{Name: name, Status: collections.Closed}, nil
}

func (s *shelf) Remove(_ context.Context, name string) error {
	if name == "used" {
		return &collections.Error{Code: collections.InUse, Detail: "requests are still being answered"}
	}
	return nil
}

// shelfOf returns collections that find the passages of their engines.
func shelfOf(engines map[string]Engine) *shelf {
	s := &shelf{of: map[string]*Collection{}, used: map[string]int{}}
	for name, engine := range engines {
		s.of[name] = NewCollection(name, nil)
		if engine != nil {
			s.of[name].Attach(engine)
		}
	}
	return s
}

// asking sends a request to an API, and returns its answer.
func asking(t *testing.T, api *API, method, path, body, key string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", schema.TypeJSON)
	} else {
		r.Body = http.NoBody
		r.ContentLength = 0
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	provoked(w.Body.Bytes())
	keepsContract(t, method, r.URL.Path, received{w.Result(), w.Body.Bytes()})
	return w.Code, w.Body.String()
}

// toolCall returns a message that calls a tool.
func toolCall(tool, arguments string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		tool,
		arguments,
	)
}

// TestNamed: each route answers from the collection that its path names, every interface's; without a
// name, from the default one. What is not a collection's is not below one.
func TestNamed(t *testing.T) {
	engine := testEngine(t, engineOptions{})
	several := shelfOf(map[string]Engine{"a": engine, "main": engine, "empty": nil})
	api := newAPI(t, Options{Name: "main", Collections: several, Adapters: walked, Limits: engine.Limits()})
	api.MarkStarted()
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/v1/search", `{"question":"bees"}`, 200, `"results"`},
		{"POST", "/v1/collections/a/search", `{"question":"bees"}`, 200, `"results"`},
		{"POST", "/v1/search", `{"question":"bees","collections":["a","main"]}`, 200, `"results"`},
		{"POST", "/v1/search", `{"question":"bees","collections":["b"]}`, 404, `unknown_collection`},
		{"GET", "/v1/search?q=bees&collections=a,main", "", 200, `"results"`},
		{"GET", "/v1/search?q=bees&collections=b,a", "", 404, `unknown_collection`},
		{"GET", "/v1/search?q=bees&collections=", "", 422, `"parameter":"collections"`},
		{"GET", "/v1/collections/a/search?q=bees&collections=a", "", 422, `collections`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","collections":["a","main"]}]}`, 200, `"results"`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees"}]}`, 200, `"results"`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","collections":["b"]}]}`, 404, `unknown_collection`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","collections":["b"]},{"question":"bees","collections":["a"]}]}`,
			200, `"code":"unknown_collection"`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","collections":7},{"question":"bees","collections":["a"]},{"question":"hive"}]}`,
			200, `/searches/0/collections`},
		{"POST", "/v1/collections/a/search/batch", `{"searches":[{"question":"bees","collections":["a"]}]}`, 200, `/collections`},
		{"POST", "/v1/search", `{"question":"bees","collections":["cluster"]}`, 422, `searched as one`},
		{"POST", "/v1/search", `{"question":"bees","collections":[]}`, 422, `out_of_range`},
		{"POST", "/v1/search", `{"question":"bees","collections":"a"}`, 422, `wrong_type`},
		{"POST", "/v1/collections/a/search", `{"question":"bees","collections":["a"]}`, 422, `/collections`},
		{"GET", "/v1/collections/a/search?q=bees", "", 200, `"results"`},
		{"GET", "/v1/collections/a", "", 200, `"languages":["en"]`},
		{"GET", "/v1/collections", "", 200, `"several":true`},
		{"GET", "/v1/collections/a/passages/bees", "", 200, `"bees"`},
		{"GET", "/v1/collections/a/passages/no%2Fsuch", "", 404, `unknown_passage`},
		{"GET", "/v1/collections/b/limits", "", 404, `unknown_collection`},
		{"GET", "/v1/collections/broken/limits", "", 503, `collection_damaged`},
		{"GET", "/v1/collections/slow/limits", "", 503, `opening`},
		{"GET", "/v1/collections/empty/limits", "", 503, `not_ready`},
		{"GET", "/v1/collections/a/livez", "", 404, `no_such_path`},
		{"GET", "/v1/collections/a/collections", "", 404, `no_such_path`},
		{"GET", "/v1/collections/a/", "", 404, ``},
		{"PUT", "/v1/collections/a/search", `{}`, 405, `GET, HEAD, OPTIONS, POST`},
		{"OPTIONS", "/v1/collections/a/search", "", 204, ``},
		{"POST", "/v1/collections/b/rerank", `{"query":"bees","texts":["x"]}`, 404, `no collection`},
		{"POST", "/v1/collections/a/embeddings", `{"model":"wiki","input":"bees"}`, 200, `"embedding"`},
		{"POST", "/v1/collections/a/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"tools"`},
		{"POST", "/retrieval", `{"knowledge_id":"a","query":"bees","retrieval_setting":{"top_k":3}}`, 200, `"records"`},
		{"POST", "/retrieval", `{"knowledge_id":"b","query":"bees","retrieval_setting":{"top_k":3}}`, 404, `2001`},
		{"POST", "/v1/collections/a/retrieval", `{"knowledge_id":"a","query":"bees"}`, 200, `"records"`},
		{"POST", "/v1/collections/a/retrieval", `{"knowledge_id":"main","query":"bees"}`, 404, `2001`},
		{"GET", "/v1/vector_stores", "", 200, `"id":"main"`},
		{"GET", "/v1/vector_stores/a", "", 200, `"id":"a"`},
		{"GET", "/v1/vector_stores/b", "", 404, `no collection`},
		{"POST", "/v1/vector_stores/a/search", `{"query":"bees"}`, 200, `"data"`},
		{"POST", "/v1/collections/a/vector_stores/a/search", `{"query":"bees"}`, 200, `"data"`},
		{"POST", "/v1/collections/a/vector_stores/main/search", `{"query":"bees"}`, 404, `no collection`},
		{"POST", "/v1/vector_stores", `{"name":"new"}`, 200, `"vector_store"`},
		{"POST", "/v1/vector_stores", `{"name":"new","metadata":{"a":1}}`, 400, `metadata`},
		{"DELETE", "/v1/vector_stores/a", "", 200, `"deleted":true`},
		{"POST", "/mcp", toolCall("search", `{"query":"bees","collection":"a"}`), 200, `"results`},
		{"POST", "/mcp", toolCall("search", `{"query":"bees","collection":"b"}`), 404, `unknown_collection`},
		{"POST", "/mcp", toolCall("search", `{"query":"bees","collections":["main","a"]}`), 200, `"results`},
		{"POST", "/mcp", toolCall("search", `{"query":"bees","collections":["a","cluster"]}`), 422, `searched as one`},
		{"POST", "/mcp", toolCall("fetch", `{"id":"bees","collection":"a"}`), 200, `/v1/collections/a/passages/bees`},
		{"POST", "/v1/chat/completions", `{"model":"conclave","messages":[{"role":"user","content":"bees"}],"collections":["a","main"]}`,
			200, `"content"`},
		{"POST", "/v1/chat/completions", `{"model":"conclave","messages":[{"role":"user","content":"bees"}],"collections":["b"]}`,
			404, `no collection`},
		{"POST", "/mcp", toolCall("list_experts", `{"collection":"a"}`), 200, `\"collection\":\"a\"`},
		{"GET", "/v1/collections", "", 200, `"default":"main"`},
		{"GET", "/v1/collections/a", "", 200, `"status":"open"`},
		{"GET", "/v1/collections/b", "", 404, `unknown_collection`},
		{"POST", "/v1/collections", `{"name":"new","quotas":{"passages":5}}`, 201, `"new"`},
		{"POST", "/v1/collections", `{"name":"busy"}`, 409, `collection_exists`},
		{"DELETE", "/v1/collections/a", "", 204, ``},
		{"DELETE", "/v1/collections/used", "", 409, `collection_in_use`},
		{"GET", "/readyz", "", 200, `"ready"`},
		{"GET", "/startupz", "", 200, ``},
	} {
		status, text := asking(t, api, c.method, c.path, c.body, "")
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %.300s, not %d with %s", c.method, c.path, status, text, c.status, c.says)
		}
	}
	for name, users := range several.used {
		if users != 0 {
			t.Errorf("%d requests of %s never ended", users, name)
		}
	}
	if len(several.used) != 3 {
		t.Errorf("%v were used", several.used)
	}
}

// TestOneCollection: a server of one collection answers for it by its name, and makes no other.
func TestOneCollection(t *testing.T) {
	api := newAPI(t, Options{Name: "my index", Engine: testEngine(t, engineOptions{})})
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/v1/collections/my%20index/search", `{"question":"bees"}`, 200, `"results"`},
		{"GET", "/v1/collections/other/search?q=bees", "", 404, `unknown_collection`},
		{"POST", "/v1/search", `{"question":"bees","collections":["my index"]}`, 200, `"results"`},
		{"GET", "/v1/search?q=bees&collections=my%20index", "", 200, `"results"`},
		{"GET", "/v1/search?q=bees&collections=b", "", 404, `unknown_collection`},
		{"POST", "/v1/search/batch", `{"searches":[{"question":"bees","collections":["my index"]}]}`, 200, `"results"`},
		{"POST", "/v1/search", `{"question":"bees","collections":["my index","b"]}`, 404, `There is no collection \"b\"`},
		{"GET", "/v1/collections", "", 200, `{"collections":[{"name":"my index","status":"open","default":true`},
		{"GET", "/v1/collections/my%20index", "", 200, `"status":"open"`},
		{"POST", "/v1/collections", `{"name":"b"}`, 403, `one_collection`},
		{"DELETE", "/v1/collections/my%20index", "", 403, `one_collection`},
		{"DELETE", "/v1/collections/other", "", 403, `one_collection`},
	} {
		if status, text := asking(t, api, c.method, c.path, c.body, ""); status != c.status ||
			!strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %.300s, not %d with %s", c.method, c.path, status, text, c.status, c.says)
		}
	}
	reading := newAPI(t, Options{Name: "a", Collections: shelfOf(nil), ReadOnly: true})
	if status, text := asking(t, reading, "POST", "/v1/collections", `{"name":"b"}`, ""); status != 403 ||
		!strings.Contains(text, "read_only") {
		t.Errorf("%d %s", status, text)
	}
}

// TestBoundKeys: whatever a key asks of a collection that it is not for is answered as for one that
// is not there, byte for byte but for the request's id and the name.
func TestBoundKeys(t *testing.T) {
	engine := testEngine(t, engineOptions{})
	key := func(name string, of ...string) front.Key {
		return front.Key{
			Name:        name,
			SHA256:      sha256.Sum256([]byte(name)),
			Scopes:      []schema.Scope{schema.ScopeAdmin},
			Collections: of,
		}
	}
	metrics := NewMetrics()
	if err := metrics.ShowCollections(100); err != nil {
		t.Fatal(err)
	}
	api := newAPI(t, Options{
		Metrics: metrics,
		Name:    "main", Adapters: walked, Limits: engine.Limits(),
		Collections: shelfOf(map[string]Engine{"main": engine, "team-a": engine, "team-b": engine, "other": engine}),
		Keys:        []front.Key{key("all"), key("team", "team-*"), key("one", "team-a", "main")},
	})
	api.MarkStarted()
	type asked struct{ key, name string }
	for a, status := range map[asked]int{
		{"all", "team-a"}: 200, {"all", "other"}: 200, {"team", "team-a"}: 200, {"team", "team-b"}: 200,
		{"team", "other"}: 404, {"team", "main"}: 404, {"one", "team-a"}: 200, {"one", "team-b"}: 404, {"one", "main"}: 200,
	} {
		if got, text := asking(t, api, "GET", "/v1/collections/"+a.name+"/limits", "", a.key); got != status {
			t.Errorf("%v: %d %s", a, got, text)
		}
	}
	if got, text := asking(t, api, "GET", "/v1/limits", "", "team"); got != 404 {
		t.Errorf("the default collection: %d %s", got, text)
	}
	var list CollectionList
	_, text := asking(t, api, "GET", "/v1/collections", "", "team")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Collections) != 2 ||
		list.Collections[0].Name != "team-a" || list.Collections[1].Name != "team-b" {
		t.Errorf("%v %s", err, text)
	}
	if got, text := asking(t, api, "POST", "/v1/collections", `{"name":"else"}`, "team"); got != 403 {
		t.Errorf("a name of others: %d %s", got, text)
	}
	id := func(text, name string) string {
		return strings.ReplaceAll(requestIDIn.ReplaceAllString(text, ""), name, "NAME")
	}
	asking(t, api, "POST", "/v1/collections/other/search", `{"question":"bees"}`, "all")
	asking(t, api, "POST", "/v1/collections/team-a/search", `{"question":"bees"}`, "all")
	for key, seen := range map[string]bool{"all": true, "team": false} {
		_, text := asking(t, api, "GET", "/metrics", "", key)
		if strings.Contains(text, `"other"`) != seen ||
			strings.Contains(text, "conclave_http_requests_total") != seen ||
			!strings.Contains(text, `collection="team-a"`) {
			t.Errorf("the metrics of %s: %s", key, text)
		}
	}
	open, _ := walkedAPI(t, Options{})
	for _, v := range everything(t, open) {
		if v.tool || v.page || v.cost.Kind == front.KindProbing || strings.HasPrefix(v.path, "/v1/collections") ||
			strings.HasPrefix(
				v.path, "/openapi",
			) || strings.HasPrefix(v.path, "/v1/vector_stores") || v.path == "/retrieval" ||
			v.path == "/mcp" || v.path == "/embed" || v.path == "/rerank" {
			continue // some of which are asked below
		}
		path := strings.TrimPrefix(v.path, "/v1")
		both := map[string]string{}
		for _, name := range []string{"other", "nobody"} {
			v.path = "/v1/collections/" + name + path
			w := v.visit(t, api, t.Context(), "team")
			if w.Code != 404 {
				t.Errorf("%s of %s: %d %s", v.name, name, w.Code, w.Body)
			}
			both[name] = id(w.Body.String(), name)
		}
		if both["other"] != both["nobody"] {
			t.Errorf("%s tells them apart: %v", v.name, both)
		}
	}
	for _, c := range []struct{ path, body string }{
		{"/retrieval", `{"knowledge_id":"NAME","query":"bees"}`},
		{"/v1/vector_stores/NAME/search", `{"query":"bees"}`},
		{"/v1/search", `{"question":"bees","collections":["team-a","NAME"]}`},
		{"/v1/vector_stores/NAME/files", `{"file_id":"file-YmVlcw"}`},
		{"/v1/search/batch", `{"searches":[{"question":"bees","collections":["NAME","team-a"]}]}`},
		{"/mcp", toolCall("search", `{"query":"bees","collection":"NAME"}`)},
		{"/mcp", toolCall("answer", `{"query":"bees","collections":["team-a","NAME"]}`)},
		{"/v1/chat/completions", `{"model":"conclave","messages":[{"role":"user","content":"bees"}],"collections":["NAME"]}`},
	} {
		both := map[string]string{}
		for _, name := range []string{"other", "nobody"} {
			status, text := asking(t, api, "POST", strings.ReplaceAll(c.path, "NAME", name),
				strings.ReplaceAll(c.body, "NAME", name), "team")
			both[name] = id(text, name)
			if status != 404 {
				t.Errorf("%s of %s: %d %s", c.path, name, status, text)
			}
		}
		if both["other"] != both["nobody"] {
			t.Errorf("%s tells them apart: %v", c.path, both)
		}
	}
	if status, text := asking(t, api, "GET", "/v1/vector_stores", "", "team"); status != 200 ||
		strings.Contains(text, "other") || !strings.Contains(text, "team-b") {
		t.Errorf("%d %s", status, text)
	}
	tools := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	if status, text := asking(t, api, "POST", "/mcp", tools, "team"); status != 200 {
		t.Errorf("without a collection: %d %s", status, text)
	}
	for _, name := range []string{"other", "nobody"} {
		for _, method := range []string{"GET", "DELETE"} {
			if got, text := asking(t, api, method, "/v1/collections/"+name, "", "team"); got != 404 {
				t.Errorf("%s %s: %d %s", method, name, got, text)
			}
		}
	}
}

var requestIDIn = regexp.MustCompile(`"request_id":"[^"]*"`)

// TestKeyQuotas: a collection that a key makes has the key's quotas, or lower ones that it asks for; what is beyond
// them is refused, and so is one collection more than the key may have.
func TestKeyQuotas(t *testing.T) {
	engine := testEngine(t, engineOptions{})
	key := func(name string, most int, q collections.Quotas) front.Key {
		return front.Key{Name: name, SHA256: sha256.Sum256([]byte(name)), Scopes: []schema.Scope{schema.ScopeAdmin},
			Collections: []string{"team-*"}, Quotas: q, MostCollections: most}
	}
	of := shelfOf(map[string]Engine{"main": engine, "team-a": engine, "team-b": engine})
	api := newAPI(t, Options{
		Name: "main", Limits: engine.Limits(), Collections: of, Adapters: walked,
		Keys: []front.Key{
			key("free", 0, collections.Quotas{}),
			key("bound", 3, collections.Quotas{Passages: 10, Bytes: 1000}),
			key("full", 2, collections.Quotas{}),
		},
	})
	api.MarkStarted()
	for _, c := range []struct {
		key, path, body string
		status          int
		want            collections.Quotas
	}{
		{"free", "/v1/collections", `{"name":"team-c"}`, 201, collections.Quotas{}},
		{"bound", "/v1/collections", `{"name":"team-c"}`, 201, collections.Quotas{Passages: 10, Bytes: 1000}},
		{"bound", "/v1/vector_stores", `{"name":"team-c"}`, 200, collections.Quotas{Passages: 10, Bytes: 1000}},
		{"bound", "/v1/collections", `{"name":"team-c","quotas":{"passages":7,"requests_a_second":3}}`, 201,
			collections.Quotas{Passages: 7, Bytes: 1000, RequestsASecond: 3}},
		{"bound", "/v1/collections", `{"name":"team-c","quotas":{"passages":11}}`, 403, collections.Quotas{}},
		{"bound", "/v1/collections", `{"name":"team-c","quotas":{"bytes":1001}}`, 403, collections.Quotas{}},
		{"full", "/v1/collections", `{"name":"team-c"}`, 403, collections.Quotas{}},
	} {
		of.made = collections.Settings{}
		status, text := asking(t, api, "POST", c.path, c.body, c.key)
		if status != c.status || of.made.Quotas != c.want ||
			status == 403 && !strings.Contains(text, "quota_exceeded") {
			t.Errorf("%s of %s: %d %s, %+v", c.body, c.key, status, text, of.made.Quotas)
		}
	}
}

// waiting is an engine whose searches of one question wait.
type waiting struct {
	Engine
	begun, goOn chan struct{}
}

func (s waiting) Search(ctx context.Context, _ search.Caller, r search.Request) (reply.Response, error) {
	if r.Question == "wait" {
		s.begun <- struct{}{}
		<-s.goOn
		return reply.Response{Degraded: []reply.Missing{}, Results: []reply.Result{}}, nil
	}
	return s.Engine.Search(ctx, search.Caller{}, r)
}

// TestFloodOfOneTenant: a key for some collections that fills all the places it gets, through four collections, keeps
// another key from nothing; and who has one collection gets as much.
func TestFloodOfOneTenant(t *testing.T) {
	const places = 16
	control, err := overload.New(places, 1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	engine := waiting{testEngine(t, engineOptions{}), make(chan struct{}), make(chan struct{})}
	of := map[string]Engine{"one": engine}
	for i := range 4 {
		of[fmt.Sprint("team-", i)] = engine
	}
	key := func(name string, of ...string) front.Key {
		return front.Key{
			Name:        name,
			SHA256:      sha256.Sum256([]byte(name)),
			Scopes:      []schema.Scope{schema.ScopeSearch},
			Collections: of,
		}
	}
	api := newAPI(t, Options{
		Name: "one", Limits: engine.Limits(), Collections: shelfOf(of), Admission: control,
		Keys: []front.Key{key("team", "team-*"), key("one", "one")},
	})
	api.MarkStarted()
	const waits = `{"question":"wait"}`
	ended := make(chan int)
	flood := 0
	for i := range 2 * places {
		go func() {
			status, _ := asking(t, api, "POST", fmt.Sprintf("/v1/collections/team-%d/search", i%4), waits, "team")
			ended <- status
		}()
		select {
		case <-engine.begun:
			flood++
		case status := <-ended:
			if status != http.StatusTooManyRequests {
				t.Errorf("one more of the flood: %d", status)
			}
		}
	}
	if flood != places-places/8 {
		t.Errorf("the flood has %d of %d places", flood, places)
	}
	if status, text := asking(t, api, "POST", "/v1/collections/one/search", `{"question":"bees"}`, "one"); status != 200 {
		t.Errorf("another key beside the flood: %d %.300s", status, text)
	}
	close(engine.goOn)
	for range flood {
		if status := <-ended; status != http.StatusOK {
			t.Errorf("of the flood: %d", status)
		}
	}
}
