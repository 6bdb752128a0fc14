package examples

import (
	"encoding/json"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/testenv"
)

// claimed is an answer of which the guide tells.
type claimed struct {
	Confidence, Answerable float64
	Verdict                string
	Thresholds             map[string]float64 `json:"verdict_thresholds"`
	Results                []struct {
		ID            string
		Score         float64
		Contributions []struct {
			Source                      string
			Score, Weight, Contribution float64
		}
	}
}

// near is how far a figure may be from that of another processor, or of encoders of another precision.
const near = .02

// claims asks a server of the demo what the guide says that it answers: the quick start's answer with its
// numbers, each question that a page says is found, doubtful or not_found, and questions in languages that
// the shipped encoders do not read.
func claims(t *testing.T, server string) {
	ask := func(question string) (answer claimed) {
		t.Helper()
		r, err := http.Get(server + "/v1/search?k=1&q=" + url.QueryEscape(question))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || len(answer.Results) != 1 {
			t.Fatalf("%s: %d %v, %d results", question, r.StatusCode, err, len(answer.Results))
		}
		return answer
	}
	guide := os.DirFS(filepath.Join(testenv.Root(t), "docs"))
	quick, err := fs.ReadFile(guide, "quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?s)"question": "([^"]+)".*?"degraded"`).FindSubmatch(quick)
	if shown == nil {
		t.Fatal("the quick start shows no answer")
	}
	got := ask(string(shown[1]))
	number := func(name string, value float64) {
		t.Helper()
		text := regexp.MustCompile(`"` + name + `": ([0-9.]+)`).FindSubmatch(shown[0])
		if text == nil {
			t.Fatalf("the quick start says no %s", name)
		}
		if want, err := strconv.ParseFloat(string(text[1]), 64); err != nil || math.Abs(want-value) > near {
			t.Errorf("the quick start says that %s is %s; it is %v", name, text[1], value)
		}
	}
	number("confidence", got.Confidence)
	number("answerable", got.Answerable)
	number("found", got.Thresholds["found"])
	number("doubtful", got.Thresholds["doubtful"])
	number("score", got.Results[0].Score)
	for _, x := range []string{`"verdict": "` + got.Verdict + `"`, `"id": "` + got.Results[0].ID + `"`} {
		if !strings.Contains(string(shown[0]), x) {
			t.Errorf("the quick start does not say %s", x)
		}
	}
	for _, c := range got.Results[0].Contributions {
		line := regexp.MustCompile(`"source": "` + c.Source + `", "score": ([0-9.]+),.*"weight": ([0-9.]+), "contribution": ([0-9.]+)`).
			FindSubmatch(shown[0])
		if line == nil {
			t.Fatalf("the quick start has no contribution of %s", c.Source)
		}
		for i, value := range []float64{c.Score, c.Weight, c.Contribution} {
			if want, err := strconv.ParseFloat(string(line[i+1]), 64); err != nil || math.Abs(want-value) > near {
				t.Errorf("the quick start says %s of %s, which is %v", line[i+1], c.Source, value)
			}
		}
	}
	told := regexp.MustCompile("\"([a-z][^\"\n]+)\" is\\s+`(found|doubtful|not_found)`")
	n := 0
	for _, page := range []string{"quickstart.md", "api.md", "confidence.md", "answers.md", "faq.md", "chatbots.md"} {
		text, err := fs.ReadFile(guide, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range told.FindAllStringSubmatch(string(text), -1) {
			n++
			if answer := ask(claim[1]); answer.Verdict != claim[2] {
				t.Errorf("%s says that %q is %s; it is %s by %v", page, claim[1], claim[2], answer.Verdict, answer.Answerable)
			}
		}
	}
	if n == 0 {
		t.Error("no page says of a question whether it is found")
	}
	for _, question := range []string{
		"warum ist der Himmel blau", "wie tief ist der Baikalsee", "quelle est la capitale de la France",
		"comment arrêter un saignement de nez", "por qué la zorra escondió la luna",
		"hoe lang mag ik gekookte rijst bewaren", "quanto tempo posso conservare il riso cotto",
	} {
		if answer := ask(question); answer.Confidence > .1 || answer.Verdict == "found" {
			t.Errorf("%q has a confidence of %.3f and is %s: the quick start says that it is low", question,
				answer.Confidence, answer.Verdict)
		}
	}
}
