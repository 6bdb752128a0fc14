package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/documents"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
)

// secret is a word of every passage of the group that the restricted key of grouped may not see.
const secret = "topsecret"

// grouped returns an API with everything that is served, over passages of two groups: "open" and
// "secret", of which the key "member" sees the first alone and the key "chief" both.
func grouped(t *testing.T, readOnly bool) *API {
	t.Helper()
	l := testLibrary()
	for i := range l.passages {
		p := &l.passages[i]
		p.Metadata = map[string]any{"group": "open", "year": 2020}
		if p.ID == "bees" {
			p.Metadata["group"] = "secret"
			p.Text += " " + secret
		}
	}
	for n := 1; n <= 2; n++ {
		l.passages = append(l.passages, corpus.Passage{
			ID: corpus.PassageID("bees", n), Title: secret, Text: fmt.Sprintf("Bees of the %s number %d.", secret, n),
			Metadata: map[string]any{
				"group": "secret", "note": secret,
				corpus.DocumentKey: "bees", corpus.DocumentTitleKey: secret, corpus.DocumentPassagesKey: 2,
			},
		})
	}
	for expert := range l.vectors {
		l.vectors[expert] = nil
		for i := range l.passages {
			l.vectors[expert] = append(l.vectors[expert], vectorOf(expert, l.text(rank.Ordinal(i))))
		}
	}
	key := func(name string, filter *conditions.Condition, scopes ...schema.Scope) front.Key {
		return front.Key{Name: name, SHA256: sha256.Sum256([]byte(name)), Scopes: scopes, Filter: filter}
	}
	open := conditions.Condition{Field: "group", Eq: new(conditions.Text("open"))}
	engine := testEngine(t, engineOptions{library: l})
	api := newAPI(t, Options{
		Engine: engine, Adapters: walked, TempDir: t.TempDir(), ReadOnly: readOnly,
		Keys: []front.Key{key("chief", nil, schema.ScopeAdmin), key("member", &open, schema.ScopeSearch, schema.ScopeEmbed)},
	})
	attachAnyOriginal(t, api)
	if readOnly {
		return api
	}
	s := &halted{Engine: engine}
	writer := shelfWriter{haltedWriter{s}, engine}
	keeper := keeping.New(writer, documents.Options{Limits: documentLimits(), Words: 20}, nil)
	api.AttachDocuments(keeper, jobs.NewFolderInputs(t.TempDir(), UploadPrefix))
	if err := api.AttachWriter(writer, haltedJobs{s}, emptySnapshots{}); err != nil {
		t.Fatal(err)
	}
	return api
}

// shelfWriter knows the passages that the engine has.
type shelfWriter struct {
	haltedWriter
	engine *search.Engine
}

func (s shelfWriter) Passage(
	ctx context.Context,
	id string,
	_ func(int) error,
) (p corpus.Passage, version string, ok bool, err error) {
	// Without what restricts the context: the log knows no keys.
	p, version, err = s.engine.Passage(context.Background(), search.Caller{}, id)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.NotFound {
		return p, "", false, ctx.Err()
	}
	return p, version, err == nil, err
}

// moreVisitors returns other ways to ask for what everything asks for.
func moreVisitors() (all []visitor) {
	for _, body := range []string{
		`{"question":"bees","explain":true,"around":5,"k":50,"fields":["title","text","tags","metadata","document","highlights","contributions"]}`,
		`{"question":"bees","fusion":["rrf","sum"],"exact":true}`,
		`{"question":"bees","group_by":"document","filter":{"documents":["bees"]}}`,
		`{"question":"bees","filter":{"or":[{"field":"group","eq":"secret"},{"field":"group","exists":true}]}}`,
		`{"question":"bees","filter":{"not":{"field":"group","eq":"open"}}}`,
		`{"question":"topsecrte"}`,
		`{"messages":[{"role":"user","content":"bees"},{"role":"assistant","content":"yes"},{"role":"user","content":"and where?"}]}`,
	} {
		all = append(
			all,
			visitor{
				name:        "search " + body,
				method:      http.MethodPost,
				path:        "/v1/search",
				body:        body,
				contentType: schema.TypeJSON,
			},
			visitor{
				name:        "stream " + body,
				method:      http.MethodPost,
				path:        "/v1/search",
				body:        body,
				contentType: schema.TypeJSON,
				accept:      typeEvents,
			},
		)
	}
	for _, path := range []string{"/v1/passages?after=b", "/v1/passages?after=bees&limit=1", "/v1/passages/bees%231",
		"/v1/documents/bees?text=true", "/v1/originals/bees", "/v1/documents/bees?passages=true", "/v1/documents?q=bees",
		"/v1/documents?prefix=bee", "/v1/search?q=bees&explain=true", "/v1/files/file-YmVlcw/content"} {
		all = append(all, visitor{name: "GET " + path, method: http.MethodGet, path: path})
	}
	for _, call := range []string{`"name":"fetch","arguments":{"id":"bees#2"}`, `"name":"search","arguments":{"query":"bees","in":["bees"]}`} {
		all = append(
			all,
			visitor{
				name:        "the tool with " + call,
				method:      http.MethodPost,
				path:        "/mcp",
				contentType: schema.TypeJSON,
				tool:        true,
				body:        `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + call + `}}`,
			},
		)
	}
	return all
}

// tellNothing returns the routes whose answers have no texts of passages, whoever asks. What is new has to
// be among them, or to tell the chief something, which is then kept from the member.
func tellNothing() []string {
	return []string{
		"POST /v1/fuse", "POST /v1/embed", "POST /v1/embeddings", "POST /embed", "POST /rerank", "POST /v1/rerank",
		"POST /v2/rerank", "the tool list_experts", "GET /v1/experts", "GET /v1/experts/{name}", "GET /v1/limits",
		"GET /v1/admin/settings", "PUT /v1/admin/settings",
		"GET /v1/collections", "GET /v1/collections/{name}", // numbers of passages
		"POST /mcp", "GET /v1/models", "GET /v1/models/{model}",
		"GET /v1/vector_stores", "GET /v1/vector_stores/{collection}", // numbers of files
		"GET /livez", "GET /readyz", "GET /v1/readyz", "GET /startupz", "GET /metrics", "GET /openapi.json", "GET /openapi.yaml",
	}
}

// tells reports whether an answer has something of the secret passages.
func tells(answer string) bool {
	return strings.Contains(answer, secret) || strings.Contains(answer, `"filename":"bees"`)
}

// TestKeysFilter: whatever is served, and however it is asked, a key with a filter is told nothing of
// other passages: not their texts, titles or ids in lists; of those that it may see it is told
// the same as others.
func TestKeysFilter(t *testing.T) {
	if walked == nil {
		t.Fatal("there are no adapters")
	}
	for _, readOnly := range []bool{false, true} {
		api := grouped(t, readOnly)
		told := map[string]bool{}
		for _, v := range append(everything(t, api, "chief"), moreVisitors()...) {
			if v.page {
				continue
			}
			whole := v.visit(t, api, t.Context(), "chief")
			part := v.visit(t, api, t.Context(), "member")
			if tells(whole.Body.String()) {
				told[v.name] = true
			}
			if tells(part.Body.String()) {
				t.Errorf("%s, read only %v: the member is told\n%.2000s", v.name, readOnly, part.Body)
			}
			denied := part.Code == http.StatusForbidden
			if !told[v.name] && !denied && !slices.Contains(tellNothing(), strings.Replace(v.name, "HEAD ", "GET ", 1)) && !strings.Contains(v.path, "?") &&
				!strings.Contains(v.name, `{"`) &&
				whole.Code < 300 {
				t.Errorf(
					"%s, read only %v: the chief is told nothing either, so that this test says nothing of it:\n%d %.400s",
					v.name,
					readOnly,
					whole.Code,
					whole.Body,
				)
			}
		}
		if len(told) < 12 {
			t.Errorf("read only %v: only %v tell secrets at all", readOnly, slices.Sorted(maps.Keys(told)))
		}
		list := visitor{method: http.MethodGet, path: "/v1/passages?limit=8"}
		if got := list.visit(t, api, t.Context(), "member").Body.String(); strings.Contains(got, "bees") ||
			!strings.Contains(got, "p00") {
			t.Errorf("listed: %s", got)
		}
		mine := visitor{method: http.MethodPost, path: "/v1/search", body: `{"question":"answer to everything"}`,
			contentType: schema.TypeJSON}
		if got := mine.visit(t, api, t.Context(), "member"); got.Code != http.StatusOK ||
			!strings.Contains(got.Body.String(), "wiki/42") {
			t.Errorf("a search of the member: %s", got.Body)
		}
	}
}
