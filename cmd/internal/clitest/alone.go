// Package clitest makes the small collection on which commands of both programs are tested,
// and works out by itself what they have to find in it.
package clitest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped/demo"
)

// Run runs one command line of conclave, and returns its exit code and what it wrote.
type Run func(args ...string) (code int, out, complaints string)

// Write writes a file, and makes the folders above it. The test fails at once if it cannot.
func Write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ContainsAll reports whether a text has every part.
func ContainsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TalesAsked and HealthAsked are the numbers of questions of the two domains. They differ, so that a mean over
// questions is not a mean over domains.
const TalesAsked, HealthAsked = 40, 20

// Calibratable makes a temporary folder, changes into it, and indexes the collection c: two domains of the demo, tales
// and health, and two tiny experts with ensembles, base and tales. tales.jsonl and health.jsonl hold the domains'
// questions. Searches have ten seconds. The test is skipped without ONNX Runtime, and fails at once if conclave does.
func Calibratable(t *testing.T, conclave Run) {
	t.Helper()
	t.Setenv("CONCLAVE_SEARCH_TIMEOUT", "10s") // other tests may have both processors for longer than 2 s
	library := testenv.Runtime(t)
	t.Chdir(t.TempDir())
	for seed, name := range []string{"base", "tales"} {
		if _, err := tiny.Write(filepath.Join("experts", name),
			tiny.Expert{Name: name, Seed: uint64(seed) + 1, EnsembleMembers: 4}); err != nil {
			t.Fatal(err)
		}
	}
	Write(t, "conclave.yaml", "cache: cache\nruntime: "+library+"\n")
	domainFile(t, "passages/tales.jsonl", "passages/tales.jsonl", "tales", math.MaxInt)
	domainFile(t, "passages/health.jsonl", "passages/health.jsonl", "health", math.MaxInt)
	domainFile(t, "tales.jsonl", "questions/dev.jsonl", "tales", TalesAsked)
	domainFile(t, "health.jsonl", "questions/dev.jsonl", "health", HealthAsked)
	code, _, complaints := conclave(
		"index", "--collection", "c", "--in", "passages/tales.jsonl", "--in", "passages/health.jsonl", "--experts",
		"base,tales", "--index", "flat",
	)
	if code != 0 {
		t.Fatal(complaints)
	}
}

// domainFile writes the first lines, at most most, whose ids are of a domain from the demo's file from to the file
// name. The test fails if there are none, or fewer than most unless that is math.MaxInt.
func domainFile(t *testing.T, name, from, domain string, most int) {
	t.Helper()
	data, err := demo.FS.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, `{"id":"`+domain+`/`) && len(own) < most {
			own = append(own, line)
		}
	}
	if len(own) == 0 || most < math.MaxInt && len(own) < most {
		t.Fatalf("%s has %d lines of %s", from, len(own), domain)
	}
	Write(t, name, strings.Join(own, ""))
}

// Both appends to args the flags that name the question files of both domains.
func Both(args ...string) []string {
	return append(args, "--questions", "tales=tales.jsonl", "--questions", "health=health.jsonl")
}

// JudgedQuestion is a question with the rankings of each source alone, by its name.
type JudgedQuestion struct {
	Domain   string
	Answers  []string // ids
	Rankings map[string][]string
}

// Alone returns the judged questions of both domains, each with the ranking of every source ("base", "tales", "bm25")
// when it alone is asked. It runs `conclave evaluate` on collection c and reads the TREC runs that this writes. The
// test fails at once if the command does.
func Alone(t *testing.T, conclave Run) []JudgedQuestion {
	t.Helper()
	methods := map[string]string{"base": "base alone", "tales": "tales alone", "bm25": "bm25 alone"}
	args := Both(
		"evaluate", "--collection", "c", "--fusions", "none", "--timed", "0", "--runs", "runs", "--run-forms", "trec",
	)
	for _, method := range methods {
		args = append(args, "--runs-of", method)
	}
	if code, _, complaints := conclave(args...); code != 0 {
		t.Fatal(complaints)
	}
	var out []JudgedQuestion
	for _, domain := range []string{"tales", "health"} {
		data, err := os.ReadFile(domain + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		runs := map[string]map[string][]string{}
		for source, method := range methods {
			runs[source] = trecRun(t, filepath.Join("runs", domain, strings.ReplaceAll(method, " ", "-")+".trec"))
		}
		for line := range bytes.Lines(data) {
			var q struct {
				ID      string   `json:"id"`
				Answers []string `json:"positive_ids"`
			}
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatal(err)
			}
			j := JudgedQuestion{domain, q.Answers, map[string][]string{}}
			for source, run := range runs {
				j.Rankings[source] = run[q.ID]
			}
			out = append(out, j)
		}
	}
	return out
}

// trecRun reads a file of rankings in TREC's format, and returns the ids of the passages for each question's id, best
// first. The test fails at once if it cannot be opened.
func trecRun(t *testing.T, path string) map[string][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	run := map[string][]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		run[fields[0]] = append(run[fields[0]], fields[2])
	}
	return run
}

// Reciprocal returns the ids of all passages in the rankings of some sources, best first by Σ 1/(60 + rank). It is the
// tests' own computation of reciprocal rank fusion. Equal sums are in the order of the collection: tales before health,
// then by id. A source without a ranking counts for nothing.
func (j *JudgedQuestion) Reciprocal(sources ...string) []string {
	sums := map[string]float64{}
	for _, source := range sources {
		for i, id := range j.Rankings[source] {
			sums[id] += 1 / float64(60+i+1)
		}
	}
	var ids []string
	for id := range sums {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		health := func(id string) int { return strings.Count(id, "health/") }
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(health(a), health(b)), cmp.Compare(a, b))
	})
	return ids
}

// Share returns the share, 0 to 1, of the questions of a domain that have an answer among the first k of a ranking; ""
// takes all domains. It is NaN if the domain has no questions.
func Share(questions []JudgedQuestion, domain string, k int, ranking func(j *JudgedQuestion) []string) float64 {
	right, all := 0, 0
	for i := range questions {
		j := &questions[i]
		if domain != "" && j.Domain != domain {
			continue
		}
		all++
		ids := ranking(j)
		if slices.ContainsFunc(ids[:min(k, len(ids))], func(id string) bool { return slices.Contains(j.Answers, id) }) {
			right++
		}
	}
	return float64(right) / float64(all)
}

// Damage flips a bit in the middle of the first ONNX graph of an expert in the folder experts. The test fails at once
// if it has none.
func Damage(t *testing.T, expert string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("experts", expert, "*.onnx"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	Write(t, files[0], string(content))
}
