package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
)

// contract checks answers against the OpenAPI document, as it is served, with
// a JSON Schema validator that is not ours. Fields that the document does not
// know are mistakes here, although clients have to expect them.
type contract struct {
	document map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

const documentURL = "https://conclave.example/openapi.json"

var theContract = sync.OnceValues(func() (*contract, error) {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema.APIDocument().JSON))
	if err != nil {
		return nil, err
	}
	c := &contract{
		document: parsed.(map[string]any),
		compiler: jsonschema.NewCompiler(),
		compiled: map[string]*jsonschema.Schema{},
	}
	for _, s := range at(c.document, "components", "schemas").(map[string]any) {
		if s := s.(map[string]any); s["properties"] != nil && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
	}
	return c, c.compiler.AddResource(documentURL, c.document)
})

func at(v any, path ...string) any {
	for _, step := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[step]
	}
	return v
}

// operation finds what the document says of a method and path.
func (c *contract) operation(method, path string) (template string, op map[string]any) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for candidate, item := range c.document["paths"].(map[string]any) {
		if path != candidate && (!fits(candidate, path) || template != "" && !strings.Contains(template, "{id}")) {
			continue // the rest of a path that an id takes is the last to be looked for
		}
		if found, ok := at(item, strings.ToLower(method)).(map[string]any); ok {
			template, op = candidate, found
			if path == candidate {
				break
			}
		}
	}
	return template, op
}

// fits reports whether a path is one of a template, whose {id} may have slashes.
func fits(template, path string) bool {
	for template != "" && path != "" {
		name := ""
		before, rest, open := strings.Cut(template, "{")
		if !strings.HasPrefix(path, before) || !open {
			return path == before
		}
		name, template, _ = strings.Cut(rest, "}")
		path = path[len(before):]
		if name == "id" && template == "" {
			return path != ""
		}
		end := strings.IndexByte(path, '/')
		if end < 0 {
			end = len(path)
		}
		if end == 0 {
			return false
		}
		path = path[end:]
	}
	return template == path
}

// schemaAt compiles the schema at a place of the document.
func (c *contract) schemaAt(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.compiled[pointer]; ok {
		return s, nil
	}
	s, err := c.compiler.Compile(documentURL + "#" + pointer)
	c.compiled[pointer] = s
	return s, err
}

// checkReply returns nil when the document allows the answer.
func (c *contract) checkReply(method, path string, r received) error {
	template, op := c.operation(method, path)
	if op == nil {
		return nil // a path that is not there, or a page
	}
	if r.Header.Get("Content-Type") == schema.TypeProblem && op["tags"].([]any)[0] == any(schema.OthersTag) &&
		(r.StatusCode == http.StatusNotFound || r.StatusCode == http.StatusMethodNotAllowed) {
		return nil // the server under test has no adapters
	}
	status := fmt.Sprint(r.StatusCode)
	response, ok := at(op, "responses", status).(map[string]any)
	if !ok {
		return fmt.Errorf("%s %s answers %s, which is not documented", method, template, status)
	}
	// ~ and / in a JSON pointer inside a URL fragment.
	escape := func(s string) string {
		return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
	}
	pointer := "/paths/" + escape(
		template,
	) + "/" + strings.ToLower(
		map[bool]string{true: "get", false: method}[method == http.MethodHead],
	) + "/responses/" + status
	if ref, ok := response["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
		response, _ = at(c.document, strings.Split(pointer, "/")[1:]...).(map[string]any)
	}
	for name, header := range response["headers"].(map[string]any) {
		if header.(map[string]any)["required"] != false && r.Header.Get(name) == "" {
			return fmt.Errorf("%s %s answers %s without the header %s", method, template, status, name)
		}
	}
	contents, _ := response["content"].(map[string]any)
	if len(contents) == 0 {
		if len(r.body) > 0 {
			return fmt.Errorf("%s %s answers %s with a body", method, template, status)
		}
		return nil
	}
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if _, ok := contents[contentType]; !ok {
		return fmt.Errorf("%s %s answers %s with %q, which is not documented", method, template, status, contentType)
	}
	if method == http.MethodHead || !strings.HasSuffix(contentType, "json") {
		return nil
	}
	of := "/schema"
	texts := [][]byte{r.body}
	if contentType == schema.TypeLines {
		of = "/schema/contentSchema"
		texts = bytes.Split(bytes.TrimSuffix(r.body, []byte("\n")), []byte("\n"))
	}
	s, err := c.schemaAt(pointer + "/content/" + escape(contentType) + of)
	if err != nil {
		return err
	}
	for _, text := range texts {
		if contentType == schema.TypeLines && len(text) == 0 && len(texts) == 1 {
			continue // an upload without a line
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s %s: %w in %.200s", method, template, err, text)
		}
		if err := s.Validate(v); err != nil {
			return fmt.Errorf("%s %s %s: %w\n%.500s", method, template, status, err, text)
		}
	}
	return nil
}

// keepsContract fails the test where the document does not allow an answer.
func keepsContract(t testing.TB, method, path string, r received) {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.checkReply(method, path, r); err != nil {
		t.Error(err)
	}
}

// TestEverySchemaCompiles also keeps references from dangling.
func TestEverySchemaCompiles(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	for name := range at(c.document, "components", "schemas").(map[string]any) {
		if _, err := c.schemaAt("/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContractNotices makes sure that the check can fail.
func TestContractNotices(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"a"}}
	good := `{"status":"ok"}`
	for name, r := range map[string]received{
		"status": {&http.Response{StatusCode: 418, Header: header}, []byte(good)},
		"type": {&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"},
			"X-Request-Id": {"a"}}}, []byte(good)},
		"header":  {&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}}, []byte(good)},
		"field":   {&http.Response{StatusCode: 200, Header: header}, []byte(`{"status":"ok","x":1}`)},
		"missing": {&http.Response{StatusCode: 200, Header: header}, []byte(`{}`)},
	} {
		if c.checkReply(http.MethodGet, "/livez", r) == nil {
			t.Errorf("a wrong %s is not noticed", name)
		}
	}
	if err := c.checkReply(http.MethodGet, "/livez", received{&http.Response{StatusCode: 200, Header: header},
		[]byte(good)}); err != nil {
		t.Error(err)
	}
}

// TestRequestExamples holds the examples of the document to its own schemas,
// and to the server.
func TestRequestExamples(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{})
	o := writingOptions{kinds: map[string]jobs.Handler{
		jobs.Snapshot: {}, jobs.AddExpert: {}, jobs.Calibrate: {}, jobs.Evaluate: {}, jobs.ReadSite: {},
	}}
	o.Write.Hosts = []string{"docs.example.org"}
	writing := startWriting(t, o)
	n := 0
	for path, item := range c.document["paths"].(map[string]any) {
		if strings.HasPrefix(path, "/v1/collections") {
			continue // TestCreated, and the same by another path
		}
		if lines, ok := at(item, "post", "requestBody", "content", schema.TypeLines, "example").(string); ok {
			n++
			r := writing.send(http.MethodPost, path, lines, "Content-Type", schema.TypeLines)
			if r.StatusCode != http.StatusOK ||
				r.Header.Get("Conclave-Accepted") != "2" {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
		example := at(item, "put", "requestBody", "content", schema.TypeJSON, "example")
		if example != nil && strings.HasPrefix(path, "/v1/passages/") {
			n++
			body, err := json.Marshal(example)
			if err != nil {
				t.Fatal(err)
			}
			if r := writing.put("/v1/passages/a", string(body)); r.StatusCode != http.StatusCreated {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
		example = at(item, "post", "requestBody", "content", schema.TypeJSON, "example")
		if tags, _ := at(item, "post", "tags").([]any); example == nil || slices.Contains(tags, any(schema.OthersTag)) {
			continue // of adapters: TestAdaptersAsDocumented
		}
		n++
		body, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/v1/embed" { // the demo's expert
			body = bytes.Replace(body, []byte("base"), []byte("wiki"), 1)
		}
		if strings.HasPrefix(path, "/v1/admin/") || path == "/v1/documents" {
			if r := writing.post(path, string(body)); r.StatusCode != http.StatusAccepted {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
			continue
		}
		if path == "/v1/documents" { // of a host that nobody allowed
			if r := writing.post(path, string(body)); !strings.Contains(string(r.body), "host_not_allowed") {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
			continue
		}
		if path == "/v1/judgments" { // of a passage that is there
			body = bytes.Replace(body, []byte("health/0002"), []byte("rice"), 1)
			writing.put("/v1/passages/rice", `{"text":"rice"}`)
			if r := writing.post(path, string(body)); r.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
			continue
		}
		if r := s.post(path, string(body)); r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if n != 12 {
		t.Errorf("%d examples", n)
	}
}
