package adapters_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect connects the SDK's client to a server's /mcp, with a key unless that is "".
func connect(t *testing.T, s *site) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(
		t.Context(),
		&mcp.StreamableClientTransport{
			Endpoint:   s.url + "/mcp",
			HTTPClient: &http.Client{Transport: withKey(s.key)},
			MaxRetries: -1,
		},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type withKey string

func (key withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

// call calls a tool. What is structured and the one text have to be the same.
func call(t *testing.T, session *mcp.ClientSession, tool string, in any, into any) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil || result.IsError || len(result.Content) != 1 {
		t.Fatalf("%s: %+v, %v", tool, result, err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: %T", tool, result.Content[0])
	}
	var plain any
	if err := json.Unmarshal([]byte(text.Text), &plain); err != nil ||
		!reflect.DeepEqual(plain, result.StructuredContent) {
		t.Fatalf("%s: %s, and structured %v, %v", tool, text.Text, result.StructuredContent, err)
	}
	if err := json.Unmarshal([]byte(text.Text), into); err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
}

type found struct {
	Results []struct{ ID, Title, URL, Text string }
	Answers []reply.Extract
	Note    string
	Verdict string
}

// TestTools: what the tools say is what the API says, through the SDK's client.
func TestTools(t *testing.T) {
	s := serve(
		t, realclients.ServerOptions{Passages: realclients.Demo(t, "tales", "policy"), Change: realclients.Marker(t)},
	)
	session := connect(t, s)
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema == nil || !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%+v", tool)
		}
		for _, schema := range []any{tool.InputSchema, tool.OutputSchema} {
			if text, err := json.Marshal(schema); err != nil || strings.Contains(string(text), `"null"`) {
				t.Errorf("%s: %s, %v: not every program understands types that may be null", tool.Name, text, err)
			}
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"answer", "explain", "fetch", "list_experts", "search"}) {
		t.Error(names)
	}

	const question = "why did the fox hide the moon"
	var got found
	call(t, session, "search", object{"query": question}, &got)
	want := s.search(search.Request{Question: question, K: 10, Answer: ask.AnswerOptions{Wanted: true}})
	if len(got.Results) != 10 || len(want.Results) != 10 {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i, x := range got.Results {
		if w := want.Results[i]; x.ID != w.ID || x.Title != w.Title || x.Text != w.Text ||
			x.URL != s.url+"/v1/passages/"+url.PathEscape(w.ID) {
			t.Errorf("%d: %+v, want %+v", i, x, w)
		}
		var fetched struct {
			ID, Title, Text, URL string
			Metadata             object
		}
		call(t, session, "fetch", object{"id": x.ID}, &fetched)
		var passage corpus.Passage
		s.ask(http.MethodGet, strings.TrimPrefix(fetched.URL, s.url), nil, &passage)
		if fetched.ID != passage.ID || fetched.Title != passage.Title || fetched.Text != passage.Text ||
			fetched.Metadata == nil {
			t.Errorf("%+v, want %+v", fetched, passage)
		}
		for _, a := range got.Answers {
			if a.Passage == x.ID && fetched.Text[a.Start:a.End] != a.Text {
				t.Errorf("%+v is not in %s", a, fetched.Text)
			}
		}
	}
	same := func(a, b reply.Extract) bool {
		return a.Text == b.Text && a.Passage == b.Passage && a.Start == b.Start && a.End == b.End &&
			reflect.DeepEqual(a.Chance, b.Chance)
	}
	if len(got.Answers) == 0 || !slices.EqualFunc(got.Answers, want.Answers, same) {
		t.Errorf("the answers are %+v, want %+v", got.Answers, want.Answers)
	}
	var explained struct {
		Confidence *float64
		Sources    []reply.Source
		Results    []struct {
			ID            string
			Score         float64
			Contributions []reply.Contribution
			Terms         []storage.TermScore
		}
	}
	call(t, session, "explain", object{"query": question}, &explained)
	full := s.search(search.Request{Question: question, K: 3, Explain: true})
	if len(explained.Results) != 3 || len(explained.Sources) != len(full.Sources) ||
		!reflect.DeepEqual(explained.Confidence, full.Confidence) {
		t.Fatalf("%+v, want %+v", explained, full)
	}
	for i, x := range explained.Results {
		w := full.Results[i]
		for j := range w.Contributions {
			w.Contributions[j].Origin = "" // which is not told
		}
		if x.ID != w.ID || x.Score != w.Score || !reflect.DeepEqual(x.Contributions, w.Contributions) ||
			len(w.Explanation) > 0 && len(x.Terms) == 0 {
			t.Errorf("%+v, want %+v", x, w)
		}
		if !slices.IsSortedFunc(x.Terms, func(a, b storage.TermScore) int { return int(1e6 * (b.Score - a.Score)) }) {
			t.Errorf("%+v", x.Terms)
		}
	}
	var experts struct {
		Collection string
		Passages   int
		Experts    []struct{ Name, Kind string }
	}
	call(t, session, "list_experts", object{}, &experts)
	if experts.Collection != "c" || experts.Passages < 20 || len(experts.Experts) != 2 ||
		experts.Experts[1].Kind != "late" {
		t.Errorf("%+v", experts)
	}
	for tool, in := range map[string]object{"fetch": {"id": "nothing"}, "search": {"query": " "}, "explain": {"query": strings.Repeat("x", 9000)}} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
		if err != nil || !result.IsError || len(result.Content) != 1 ||
			strings.Contains(result.Content[0].(*mcp.TextContent).Text, "\n") {
			t.Errorf("%s: %+v, %v", tool, result, err)
		}
	}
}

// TestToolsBounds: answers fit beside a conversation, whatever is stored.
func TestToolsBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector a machine that is busy has no time for such long passages")
	}
	var lines strings.Builder
	for i := range 12 {
		line, err := json.Marshal(
			object{
				"id":       string(rune('a' + i)),
				"title":    strings.Repeat("é", 600),
				"text":     strings.Repeat("long é ", 8000),
				"tags":     []string{"t"},
				"metadata": object{"url": "https://example.org/" + string(rune('a'+i)), "large": strings.Repeat("m", 5000)},
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	session := connect(t, serve(t, realclients.ServerOptions{Passages: lines.String()}))
	for tool, in := range map[string]object{"search": {"query": "long"}, "fetch": {"id": "a"},
		"explain": {"query": "long"}} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
		if err != nil || result.IsError {
			t.Fatalf("%s: %+v, %v", tool, result, err)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if most := map[string]int{"search": 16 << 10, "fetch": 36 << 10, "explain": 12 << 10}[tool]; len(text) > most {
			t.Errorf("%s: %d bytes", tool, len(text))
		}
		if strings.Contains(text, "\uFFFD") {
			t.Errorf("%s: a character was cut in two", tool)
		}
		if tool == "fetch" &&
			(!strings.Contains(text, `"truncated":true`) || !strings.Contains(text, `"url":"https://example.org/a"`)) {
			t.Errorf("%.300s … %s", text, text[len(text)-300:])
		}
	}
}

// TestToolsCiteWebAddresses: what a chatbot makes a link of is an address of http or https,
// or the server's own, whatever metadata.url says.
func TestToolsCiteWebAddresses(t *testing.T) {
	cited := []string{"https://example.org/a?b=c#d", "http://127.0.0.1:81/é", "HTTPS://example.org"}
	not := []string{
		"javascript:alert(1)",
		"data:text/html,<b>x</b>",
		"file:///etc/passwd",
		"//example.org/x",
		"/x",
		"example.org",
		"https:",
		"https:///x",
		"http:example.org",
		"https://example.org/\n](javascript:alert(1))",
		" https://example.org",
		"https://a:b@example.org",
		"vbscript:x",
		"https://example.org/<script>",
		"ftp://example.org",
		"https://example.org/" + strings.Repeat(
			"x",
			2000,
		),
		"http://%zz",
		"java\tscript:alert(1)",
		"https://\u202eexample.org",
	}
	var lines strings.Builder
	for i, address := range append(slices.Clone(cited), not...) {
		line, err := json.Marshal(object{"id": fmt.Sprint(i), "text": "zebra", "metadata": object{"url": address}})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	session := connect(t, serve(t, realclients.ServerOptions{Passages: lines.String()}))
	for i, address := range append(slices.Clone(cited), not...) {
		result, err := session.CallTool(
			t.Context(), &mcp.CallToolParams{Name: "fetch", Arguments: object{"id": fmt.Sprint(i)}},
		)
		if err != nil || result.IsError {
			t.Fatalf("%+v, %v", result, err)
		}
		got, _ := result.StructuredContent.(map[string]any)["url"].(string)
		own := strings.HasSuffix(got, fmt.Sprintf("/v1/passages/%d", i))
		if i < len(cited) && got != address || i >= len(cited) && !own {
			t.Errorf("%q is cited as %q", address, got)
		}
	}
}

// TestToolsDoubt: with the shipped encoders, a question that the passages answer has no
// note, and one that they do not says so plainly: by the verdict of the search.
func TestToolsDoubt(t *testing.T) {
	session := connect(t, serve(t, realclients.ServerOptions{Real: true, Passages: firstTales(t)}))
	for question, doubted := range map[string]bool{
		"why did the fox want to keep the moon?":                        false,
		"how do I install a printer driver on an old version of Linux?": true,
	} {
		var got found
		call(t, session, "search", object{"query": question}, &got)
		if strings.HasPrefix(got.Note, "Not found: ") != doubted || got.Verdict != map[bool]string{true: "not_found", false: "found"}[doubted] {
			t.Errorf("%s: %q, %s", question, got.Note, got.Results[0].Text)
		}
	}
}

// firstTales returns the first twenty of the demo's tales.
func firstTales(t *testing.T) string {
	t.Helper()
	return strings.Join(strings.SplitAfter(realclients.Demo(t, "tales"), "\n")[:20], "")
}

// TestToolsKeys: /mcp needs a key with the scope of searches.
func TestToolsKeys(t *testing.T) {
	s := serve(t, realclients.ServerOptions{Change: keyed})
	for key, want := range map[string]int{"": 401, "wrong": 401, "embed": 403} {
		s.key = key
		if status, answer := s.send(http.MethodPost, "/mcp",
			object{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}); status != want {
			t.Errorf("%q: %d %s", key, status, answer)
		}
	}
	s.key = "search"
	var got found
	call(t, connect(t, s), "search", object{"query": "who hid the lamp"}, &got)
	if len(got.Results) != 3 {
		t.Errorf("%+v", got)
	}
}
