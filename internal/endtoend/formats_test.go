package endtoend

import (
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/search/reply"
)

// releaseFiles lists what a release left in testdata/formats/RELEASE, and what it answered.
//
//	c, c-snapshots   a collection with metadata, settings, judgments, a calibration, a log of changes, a snapshot, jobs
//	data             a folder of two collections that were made over HTTP
//	experts          the bundle that encoded all of them
//	answers.json     answers, by the name of their request
//	export.jsonl     what export printed
//	questions.jsonl  the judged questions, as calibrate reads them
//
// CONCLAVE_WRITE_FORMATS=RELEASE go test -run TestFormats ./internal/endtoend writes the folder of a release. What is
// there is never written anew.
type releaseFiles struct{ folder string }

// formatAnswer holds what an answer to a question has to keep, whichever version gives it.
type formatAnswer struct {
	IDs        []string  `json:"ids"`
	Scores     []float64 `json:"scores"`
	Confidence string    `json:"confidence_basis"`
	Synonyms   []string  `json:"synonyms,omitempty"` // the words that were added
}

// formatRequests are asked of the collection c, dataRequests of the folder of collections.
var (
	formatRequests = map[string]string{
		"rice":    `{"question":"how long does cooked rice keep","k":5}`,
		"lamp":    `{"question":"a lamp of the harbour 7","k":5}`,
		"herd":    `{"question":"which herd has number 21","k":5}`,
		"synonym": `{"question":"a lantern of the port","k":5}`,
		"number":  `{"question":"a lamp of the harbour","k":5,"filter":{"field":"price","gte":10,"lt":20}}`,
		"date":    `{"question":"cooked rice","k":5,"filter":{"field":"published","gt":"2024-01-20"}}`,
		"keyword": `{"question":"the herd","k":5,"filter":{"or":[{"field":"zip","eq":"0103"},{"field":"draft","eq":true}]}}`,
		"tags":    `{"question":"the herd","k":5,"filter":{"tags_all":["t1"]}}`,
	}
	dataRequests = map[string]string{
		"lamps":           `{"question":"a lantern of the port","k":3,"collections":["lamps"]}`,
		"herds and lamps": `{"question":"a lamp for the herd","k":6,"collections":["herds","lamps"]}`,
		"herds":           `{"question":"the herd","k":3,"collections":["herds"],"filter":{"field":"size","lt":4}}`,
	}
)

// TestFormats opens what every release wrote with the program of today: it verifies, exports and answers as the
// release did, is changed, and is upgraded.
func TestFormats(t *testing.T) {
	t.Parallel()
	if release := os.Getenv("CONCLAVE_WRITE_FORMATS"); release != "" {
		writeFormats(t, filepath.Join("testdata", "formats", release))
	}
	releases, err := filepath.Glob(filepath.Join("testdata", "formats", "*"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("no release has left its files: %v", err)
	}
	for _, folder := range releases {
		t.Run(filepath.Base(folder), func(t *testing.T) { releaseFiles{folder}.check(t) })
	}
}

// formatAnswer sends a request as its calibration, or its collections' settings, answer it.
func (p *process) formatAnswer(body string) (a formatAnswer) {
	p.t.Helper()
	var response reply.Response
	p.get(http.MethodPost, "/v1/search", body, http.StatusOK, &response)
	if len(response.Degraded) > 0 {
		p.t.Fatalf("left out: %+v\n%s", response.Degraded, p.log.String())
	}
	for _, r := range response.Results {
		a.IDs = append(a.IDs, r.ID)
		a.Scores = append(a.Scores, float64(r.Score))
	}
	for _, s := range response.Synonyms {
		a.Synonyms = append(a.Synonyms, s.As...)
	}
	a.Confidence = response.Basis
	return a
}

// near reports whether an answer has the same passages, with scores that differ by no more than the arithmetic
// of processors.
func (a formatAnswer) near(b formatAnswer) bool {
	if !slices.Equal(a.IDs, b.IDs) || !slices.Equal(a.Synonyms, b.Synonyms) || a.Confidence != b.Confidence {
		return false
	}
	for i, score := range a.Scores {
		if math.Abs(score-b.Scores[i]) > 1e-3*max(1, math.Abs(score)) {
			return false
		}
	}
	return true
}

func (w releaseFiles) check(t *testing.T) {
	s := newSite(t, "log: {level: error}\n", nil, "none", `{"id":"x","text":"replaced by what the release wrote"}`+"\n")
	if err := os.RemoveAll(filepath.Join(s.dir, "c")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.dir, os.DirFS(w.folder)); err != nil {
		t.Fatal(err)
	}
	exported, judged := s.read("export.jsonl"), s.read("questions.jsonl")
	answers := map[string]formatAnswer{}
	err := json.Unmarshal([]byte(s.read("answers.json")), &answers)
	if err != nil || len(answers) != len(formatRequests)+len(dataRequests) {
		t.Fatalf("%d answers: %v", len(answers), err)
	}

	s.command("verify", "--collection", "c-snapshots/first")
	s.command("models", "verify", "experts/base")
	if got := s.command("export", "--collection", "c-snapshots/first"); got != exported {
		t.Errorf("the snapshot exports %d bytes, not %d", len(got), len(exported))
	}
	p := s.serve("", "--collection", "c-snapshots/first")
	p.same(formatRequests, answers, "restored")
	if got := p.judgedQuestions(); got != judged {
		t.Errorf("the snapshot's judgments are %q, not %q", got, judged)
	}
	p.stop()
	p = s.serve("")
	p.visible()
	if found := p.search("a passage of the log", ""); found["last"] == "" {
		t.Errorf("what was in the log alone is lost: %v", found)
	}
	var list struct {
		Jobs []struct{ Kind, State string }
	}
	p.get(http.MethodGet, "/v1/jobs", "", http.StatusOK, &list)
	if len(list.Jobs) == 0 || list.Jobs[len(list.Jobs)-1].State != "done" {
		t.Errorf("its jobs: %+v", list.Jobs)
	}
	p.get(http.MethodDelete, "/v1/passages/last", "", http.StatusOK, nil)
	p.visible()
	p.same(formatRequests, answers, "opened")
	p.get(http.MethodPost, "/v1/passages", `{"id":"today","text":"an umbrella of today"}`+"\n", http.StatusOK, nil)
	p.visible()
	if found := p.search("umbrella", ""); found["today"] == "" {
		t.Errorf("what was added is not found: %v", found)
	}
	p.get(http.MethodDelete, "/v1/passages/today", "", http.StatusOK, nil)
	p.visible()
	p.checkJudgments(judged)
	p.stop()

	s.command("index", "--collection", "c", "--rebuild-words")
	p = s.serve("")
	p.same(formatRequests, answers, "with its words indexed anew")
	if got := p.judgedQuestions(); got != judged {
		t.Errorf("after the upgrade the judgments are %q, not %q", got, judged)
	}
	p.stop()
	if got := s.command("export", "--collection", "c"); got != exported {
		t.Errorf("after the upgrade it exports %d bytes, not %d", len(got), len(exported))
	}
	s.checkData(answers)
}

// read returns the text of a file.
func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// judgedQuestions returns the judged questions, a line each.
func (p *process) judgedQuestions() string {
	p.t.Helper()
	status, lines, err := p.send(http.MethodGet, "/v1/judgments/questions", "")
	if err != nil || status != http.StatusOK {
		p.t.Fatalf("the judged questions: %d, %v", status, err)
	}
	return string(lines)
}

// checkJudgments compares the judged questions with those of the release, judges one more, and takes it back.
func (p *process) checkJudgments(judged string) {
	p.t.Helper()
	if got := p.judgedQuestions(); got != judged || strings.Count(got, "\n") != 2 {
		p.t.Errorf("the judgments are %q, not %q", got, judged)
	}
	judge := `{"question":"what is judged today","passage":"p01"`
	p.get(http.MethodPost, "/v1/judgments", judge+`,"grade":1}`, http.StatusOK, nil)
	if got := p.judgedQuestions(); !strings.Contains(got, "judged today") || !strings.HasPrefix(got, judged) {
		p.t.Errorf("with another judgment they are %q", got)
	}
	p.get(http.MethodPost, "/v1/judgments", judge+`}`, http.StatusOK, nil)
}

// checkData serves the folder of collections, asks, changes and upgrades one of them, and makes and removes another.
func (s *site) checkData(answers map[string]formatAnswer) {
	s.t.Helper()
	p := s.serve("", "--data", "data")
	var list struct {
		Collections []struct {
			Name     string
			Settings struct {
				Description string
				Fields      map[string]string
			}
		}
	}
	p.get(http.MethodGet, "/v1/collections", "", http.StatusOK, &list)
	if len(list.Collections) != 2 || list.Collections[0].Settings.Fields["size"] != "number" ||
		list.Collections[1].Settings.Description != "What was lit" {
		s.t.Errorf("the collections: %+v", list.Collections)
	}
	p.same(dataRequests, answers, "opened")
	p.get(http.MethodPost, "/v1/collections/herds/passages?refresh=wait",
		`{"id":"today","text":"an umbrella","metadata":{"size":1}}`+"\n", http.StatusOK, nil)
	got := p.formatAnswer(`{"question":"umbrella","collections":["herds"],"filter":{"field":"size","lt":2}}`)
	if !slices.Contains(got.IDs, "today") {
		s.t.Errorf("what was added is not found: %+v", got)
	}
	p.get(http.MethodDelete, "/v1/collections/herds/passages/today?refresh=wait", "", http.StatusOK, nil)
	p.get(http.MethodPost, "/v1/collections", `{"name":"today","experts":["base"]}`, http.StatusCreated, nil)
	p.get(http.MethodDelete, "/v1/collections/today", "", http.StatusNoContent, nil)
	p.stop()

	s.command("index", "--collection", "data/herds", "--rebuild-words")
	p = s.serve("", "--data", "data")
	p.same(dataRequests, answers, "with its words indexed anew")
	p.stop()
}

// same compares the answers of a server to requests with those of the release.
func (p *process) same(requests map[string]string, answers map[string]formatAnswer, when string) {
	p.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if got, want := p.formatAnswer(requests[name]), answers[name]; !got.near(want) {
			p.t.Errorf("%s, %q: %+v, the release answered %+v", when, name, got, want)
		}
	}
}
