package handlers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
)

// TestAdaptersAsDocumented: every adapter of the program is in the document; what it takes and answers
// is as that says, the refusals too, and so are the examples.
func TestAdaptersAsDocumented(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	api, _ := walkedAPI(t, Options{})
	const path = "/v1/vector_stores/c/files"
	examples := 0
	ask := func(method, path, body, contentType string) *httptest.ResponseRecorder {
		t.Helper()
		v := visitor{name: method + " " + path, method: method, path: path, body: body, contentType: contentType}
		w := v.visit(t, api, t.Context(), "")
		path, _, _ = strings.Cut(path, "?")
		if err := c.checkReply(method, path, received{w.Result(), w.Body.Bytes()}); err != nil {
			t.Error(err)
		}
		return w
	}
	takeOthers := []string{"/v1/chat/completions", "/v1/responses", "/v1/completions"} // fields without effect
	of := map[string]Adapter{}
	for _, x := range walked {
		of[x.Method+" "+x.Path] = x
		template, op := c.operation(x.Method, x.Path)
		if template != x.Path || op["tags"].([]any)[0] != schema.OthersTag {
			t.Errorf("%s %s is not in the document", x.Method, x.Path)
			continue
		}
		if example := at(op, "requestBody", "content", schema.TypeJSON, "example"); example != nil {
			examples++
			text, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			body := strings.NewReplacer(`"base"`, `"wiki"`, `"demo"`, `"c"`).Replace(string(text))
			path := strings.NewReplacer("{collection}", "c", "{file}", "file-YmVlcw").Replace(x.Path)
			// Nothing here reranks, and there are no documents.
			missing := strings.Contains(x.Path, "rerank") || strings.Contains(x.Path, "/files")
			if w := ask(x.Method, path, body, schema.TypeJSON); w.Code != http.StatusOK && !missing {
				t.Errorf("%s %s: %d %s", x.Method, x.Path, w.Code, w.Body)
			}
			if w := ask(x.Method, path, body[:len(body)-1]+`,"unheard":1}`, schema.TypeJSON); (w.Code < 400) != slices.Contains(takeOthers, x.Path) && x.Path != "/mcp" {
				t.Errorf("%s %s takes what it does not know: %d", x.Method, x.Path, w.Code)
			}
		}
	}
	if examples < 8 {
		t.Errorf("%d examples", examples)
	}
	for _, v := range everything(t, api) {
		pattern := strings.NewReplacer("/vector_stores/c", "/vector_stores/{collection}", "file-YmVlcw", "{file}").
			Replace(v.path)
		if _, ok := of[v.method+" "+pattern]; !ok {
			continue
		}
		ask(v.method, v.path, v.body, v.contentType)
		if v.body != "" {
			ask(v.method, v.path, "nonsense", v.contentType)
			if w := ask(v.method, v.path, v.body, "image/png"); w.Code != http.StatusUnsupportedMediaType {
				t.Errorf("%s of an image: %d %s", v.name, w.Code, w.Body)
			}
		}
		if w := ask(v.method, v.path+"?unheard=1", v.body, v.contentType); w.Code != http.StatusBadRequest &&
			strings.HasPrefix(v.path, "/v1/") {
			t.Errorf("%s with a parameter that nobody knows: %d %s", v.name, w.Code, w.Body)
		}
	}
	for query, want := range map[string]int{
		"limit=2": 200, "limit=0": 400, "limit=101": 400, "limit=x": 400, "order=desc": 400,
	} {
		if w := ask(http.MethodGet, path+"?"+query, "", ""); w.Code != want {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
