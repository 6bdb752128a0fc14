package handlers

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
)

// seenCodes are the codes that came over HTTP in the tests of this package.
var seenCodes = struct {
	sync.Mutex
	codes map[string]bool
}{codes: map[string]bool{}}

var codeInAnswer = regexp.MustCompile(`"code":"([a-z0-9_]+)"`)

// provoked notes the codes of an answer.
func provoked(answer []byte) {
	seenCodes.Lock()
	defer seenCodes.Unlock()
	for _, found := range codeInAnswer.FindAllSubmatch(answer, -1) {
		seenCodes.codes[string(found[1])] = true
	}
}

// unprovoked returns 1, and says which, where a code of the document came in no answer.
func unprovoked() int {
	missing := slices.Sorted(maps.Keys(schema.APIDocument().Conditions))
	missing = slices.DeleteFunc(missing, func(code string) bool { return seenCodes.codes[code] })
	if len(missing) == 0 {
		return 0
	}
	fmt.Println("FAIL: no test provokes", strings.Join(missing, ", "))
	return 1
}

// TestCodesInSource: what the packages that answer call a code is one of the document's.
func TestCodesInSource(t *testing.T) {
	made := regexp.MustCompile(`\b(?:[nN]ewProblem|add|fail|Refuse)\("([a-z0-9_]+)", |\b[Cc]ode(?: =|:) "([a-z0-9_]+)"`)
	n := 0
	for _, folder := range []string{".", "schema", "../search", "../internal/jobs", "../internal/server"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range made.FindAllSubmatch(text, -1) {
				code := string(found[1]) + string(found[2])
				n++
				if _, ok := schema.APIDocument().Conditions[code]; !ok && !strings.HasSuffix(file, "_test.go") &&
					code != "not_comparable" { // never served
					t.Errorf("%s: %s is not in openapi.yaml", file, code)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d codes were found", n)
	}
}

// TestRareCodes provokes what no other test does.
func TestRareCodes(t *testing.T) {
	expect := func(r received, status int, code string) {
		t.Helper()
		if p := r.problem(t); r.StatusCode != status || p.Code != code {
			t.Errorf("%d %s, want %d %s", r.StatusCode, r.body, status, code)
		}
	}
	s := start(t, Options{})
	for body, code := range map[string]string{
		`{"question":"x","fusion":["rrf","rrf"]}`:                                     "duplicate_method",
		`{"question":"x","experts":["wiki","wiki"]}`:                                  "duplicate_expert",
		`{"question":"x","fusion":"muf","experts":[]}`:                                "needs_experts",
		`{"question":"x","fields":[` + strings.Repeat("1,", schema.MaxValues) + "1]}": "too_many_values",
	} {
		expect(s.post("/v1/search", body), schema.NewProblem(code, "").Status, code)
	}
	expect(s.post("/v1/search", `{"question":"x","answer":true}`), 422, "needs_reader")
	expect(s.post("/v1/search", `{"question":"x","rerank":{"passages":5}}`), 422, "needs_reranker")
	reads := start(t, Options{Engine: testEngine(t, engineOptions{lineUp: func(l *search.LineUp) {
		l.Readers = []learned.LoadedReader{{Reader: struct{ learned.Reader }{}, Name: "reader"}}
		l.Rerankers = []learned.LoadedReranker{{Reranker: struct{ learned.Reranker }{}, Name: "reranker"}}
		l.Defaults.ConfidenceAUROC = map[string]float64{"muf": .5}
	}})})
	for body, code := range map[string]string{
		`{"question":"x","answer":{"reader":"nobody"}}`:         "unknown_reader",
		`{"question":"x","rerank":{"model":"nobody"}}`:          "unknown_reranker",
		`{"question":"x","fusion":["rrf","muf"],"answer":true}`: "not_one_ranking",
		`{"question":"x","fusion":"muf","min_confidence":0.5}`:  "uninformative_confidence",
	} {
		expect(reads.post("/v1/search", body), 422, code)
	}
	oneWay := start(t, Options{Engine: testEngine(t, engineOptions{oneWay: true})})
	expect(oneWay.post("/v1/embed", `{"expert":"wiki","input":["x"],"kind":"passage"}`), 422, "no_passage_encoder")
	damaged := start(t, Options{Engine: testEngine(t, engineOptions{damaged: true})})
	expect(damaged.post("/v1/search", `{"question":"bees"}`), 503, "failed")
	closing := testEngine(t, engineOptions{})
	going := start(t, Options{Engine: closing})
	if err := closing.Close(t.Context()); err != nil {
		t.Error(err)
	}
	expect(going.post("/v1/search", `{"question":"bees"}`), 503, "shutting_down")

	// A caller who closes the sending half: behind half a body, and behind a whole one.
	halfClosed := func(s *server, body string, declared int) string {
		c := s.drip(
			fmt.Sprintf(
				"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				declared,
				body,
			),
		)
		_ = c.(*net.TCPConn).CloseWrite()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		out, _ := io.ReadAll(c)
		provoked(out)
		return string(out)
	}
	if out := halfClosed(s, `{"question":`, 100); !strings.Contains(out, "incomplete_body") {
		t.Errorf("half a body: %s", out)
	}
	held := start(t, Options{Engine: testEngine(t, engineOptions{before: gate(make(chan struct{}, 8), nil)})})
	const whole = `{"question":"x","bm25":false}`
	if out := halfClosed(held, whole, len(whole)); !strings.Contains(out, "client_gone") {
		t.Errorf("a whole body: %s", out)
	}

	refusing := jobs.Handler{Check: func(r jobs.Request) error {
		if strings.Contains(r.Name, "_") { // as package serving refuses it
			return jobs.Refuse(r.Name, "there is a reason")
		}
		return nil
	}}
	lost := startWriting(
		t,
		writingOptions{
			Options: Options{TempDir: filepath.Join(t.TempDir(), "nowhere")},
			kinds:   map[string]jobs.Handler{jobs.AddExpert: refusing},
		},
	)
	for code, status := range map[string]int{"expert_exists": 409, "expert_in_use": 409, "invalid_name": 422, "unknown_bundle": 422} {
		expect(lost.post("/v1/admin/experts", fmt.Sprintf(`{"name":%q}`, code)), status, code)
	}
	for i := 0; ; i++ {
		if r := lost.post("/v1/admin/experts", fmt.Sprintf(`{"name":"e%d"}`, i)); r.StatusCode != 202 {
			expect(r, 429, "too_many_jobs")
			break
		}
	}
	if _, _, last := lost.upload("/v1/passages", strings.Repeat("{\"id\":\"a\",\"text\":\"x\"}\n", 10_000)); last == nil ||
		last.Code != "answer_lost" {
		t.Errorf("an answer that cannot be kept: %+v", last)
	}
}

// TestEveryCode: the document names each code with its status; and no answer has one
// that it does not name (conditionOf, whose answer for such a one is 500).
func TestEveryCode(t *testing.T) {
	var document struct {
		Problems []struct {
			Code   string
			Status int
		} `json:"x-problems"`
		Components struct {
			Responses map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(schema.APIDocument().JSON, &document); err != nil {
		t.Fatal(err)
	}
	for _, listed := range document.Problems {
		p := schema.NewProblem(listed.Code, "x")
		if p.Code != listed.Code || p.Status != listed.Status || p.Title == "" ||
			!strings.HasSuffix(p.Type, "#problem-"+listed.Code) {
			t.Errorf("%+v", p)
		}
		// No operation answers 405: another method of its path does.
		if r, some := document.Components.Responses[schema.ProblemName(p.Status)]; (some || p.Status != 405) &&
			!strings.Contains(r.Description, "`"+p.Code+"`") {
			t.Errorf("the responses do not name %s", p.Code)
		}
	}
	page, err := os.ReadFile("web/files/docs.js")
	if err != nil || !strings.Contains(string(page), "x-problems") {
		t.Errorf("the reference page does not list the document's problems: %v", err)
	}
}
