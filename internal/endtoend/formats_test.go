package endtoend

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/search"
)

// releaseFiles lists what a release left in testdata/formats/RELEASE, and what it answered.
//
//	c, c-snapshots, c-jobs   a collection with a calibration, a log of changes, a snapshot and jobs
//	experts                  the bundle that encoded it
//	answers.json             answers to questions, by question
//	export.jsonl             what export printed
//
// CONCLAVE_WRITE_FORMATS=RELEASE go test -run TestFormats ./internal/endtoend writes the folder of a release. What is
// there is never written anew.
type releaseFiles struct{ folder string }

// formatAnswer holds what an answer to a question has to keep, whichever version gives it.
type formatAnswer struct {
	IDs        []string  `json:"ids"`
	Scores     []float64 `json:"scores"`
	Confidence string    `json:"confidence_basis"`
}

var formatQuestions = []string{"how long does cooked rice keep", "a lamp of the harbour 7", "which herd has number 21"}

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

// writeFormats writes the folder of a release that is not there.
func writeFormats(t *testing.T, folder string) {
	t.Helper()
	if _, err := os.Stat(folder); err == nil {
		t.Fatalf("%s is there already: what a release wrote stays as it is", folder)
	}
	var lines, questions strings.Builder
	for i := range 60 {
		text := []string{"the herd has number %d", "a lamp of the harbour %d was lit", "cooked rice keeps for %d days"}[i%3]
		text = fmt.Sprintf(text, i)
		fmt.Fprintf(&lines, "{\"id\":\"p%02d\",\"title\":\"Part %d\",\"text\":%q,\"tags\":[\"t%d\"]}\n", i, i, text, i%4)
		if i >= 12 {
			fmt.Fprintf(&questions, "{\"question\":%q,\"positive_ids\":[\"p%02d\"]}\n", "tell me: "+text, i)
		}
	}
	s := newSite(t, "log: {level: error}\n", []string{"base"}, "base", lines.String())
	if err := os.WriteFile(filepath.Join(s.dir, "questions.jsonl"), []byte(questions.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command("calibrate", "--collection", "c", "--questions", "questions.jsonl")
	p := s.serve("")
	p.get(http.MethodPost, "/v1/passages", `{"id":"new","text":"a passage that came later"}`+"\n", http.StatusOK, nil)
	p.get(http.MethodDelete, "/v1/passages/p03", "", http.StatusOK, nil)
	p.visible()
	s.command("snapshot", "--url", p.url, "--out", "first")
	answers := map[string]formatAnswer{}
	for _, question := range formatQuestions {
		answers[question] = p.formatAnswer(question)
	}
	// Acknowledged, and in the log alone.
	p.get(http.MethodPost, "/v1/passages", `{"id":"last","text":"a passage of the log"}`+"\n", http.StatusOK, nil)
	p.kill()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "experts" || e.Name() == "c" || strings.HasPrefix(e.Name(), "c-") {
			if err := os.CopyFS(filepath.Join(folder, e.Name()), os.DirFS(filepath.Join(s.dir, e.Name()))); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := json.MarshalIndent(answers, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"answers.json": append(text, '\n'),
		"export.jsonl": []byte(s.command("export", "--collection", "c-snapshots/first")),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// formatAnswer asks a question as its calibration says.
func (p *process) formatAnswer(question string) (a formatAnswer) {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"question": question, "k": 5})
	if err != nil {
		p.t.Fatal(err)
	}
	var response search.Response
	p.get(http.MethodPost, "/v1/search", string(body), http.StatusOK, &response)
	if len(response.Degraded) > 0 {
		p.t.Fatalf("left out: %+v\n%s", response.Degraded, p.log.String())
	}
	for _, r := range response.Results {
		a.IDs = append(a.IDs, r.ID)
		a.Scores = append(a.Scores, float64(r.Score))
	}
	a.Confidence = response.Basis
	return a
}

// near reports whether an answer has the same passages, with scores that differ by no more than the arithmetic
// of processors.
func (a formatAnswer) near(b formatAnswer) bool {
	if !slices.Equal(a.IDs, b.IDs) || a.Confidence != b.Confidence {
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
	exported, err := os.ReadFile(filepath.Join(s.dir, "export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]formatAnswer{}
	if err := json.Unmarshal(text, &answers); err != nil || len(answers) != len(formatQuestions) {
		t.Fatalf("%d answers: %v", len(answers), err)
	}

	s.command("verify", "--collection", "c-snapshots/first")
	s.command("models", "verify", "experts/base")
	if got := s.command("export", "--collection", "c-snapshots/first"); got != string(exported) {
		t.Errorf("the snapshot exports %d bytes, not %d", len(got), len(exported))
	}
	p := s.serve("")
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
	p.same(answers, "opened")
	p.get(http.MethodPost, "/v1/passages", `{"id":"today","text":"an umbrella of today"}`+"\n", http.StatusOK, nil)
	p.visible()
	if found := p.search("umbrella", ""); found["today"] == "" {
		t.Errorf("what was added is not found: %v", found)
	}
	p.get(http.MethodDelete, "/v1/passages/today", "", http.StatusOK, nil)
	p.visible()
	p.stop()

	s.command("index", "--collection", "c", "--rebuild-words")
	p = s.serve("")
	p.same(answers, "with its words indexed anew")
	p.stop()
	if got := s.command("export", "--collection", "c"); got != string(exported) {
		t.Errorf("after the upgrade it exports %d bytes, not %d", len(got), len(exported))
	}
}

// same compares the answers of a server with those of the release.
func (p *process) same(answers map[string]formatAnswer, when string) {
	p.t.Helper()
	for _, question := range slices.Sorted(maps.Keys(answers)) {
		if got, want := p.formatAnswer(question), answers[question]; !got.near(want) {
			p.t.Errorf("%s, %q: %+v, the release answered %+v", when, question, got, want)
		}
	}
}
