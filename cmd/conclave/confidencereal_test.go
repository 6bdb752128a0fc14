package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/search/reply"
)

// TestConfidenceSaysNotHere, with the real encoders on the demo: questions about
// nothing in it, nonsense, and questions in other languages get a low confidence,
// and its own a high one; uncalibrated, and calibrated on all of its questions, as
// somebody did whom Bicycle told how to install a driver with 0.88.
func TestConfidenceSaysNotHere(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes the demo")
	}
	library := testenv.Runtime(t)
	bundles := filepath.Dir(testenv.Base(t, "int8"))
	if _, err := os.Stat(filepath.Join(bundles, "late")); err != nil {
		t.Skip("late interaction is not set up: conclave setup")
	}
	// Without the shipped reader, which would read thousands of passages to calibrate what
	// no question here asks for.
	cache := provision.Cache{Root: t.TempDir()}
	for _, name := range []string{"base", "late"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(cache.Bundle(name)), 0o755),
			os.Symlink(filepath.Join(bundles, name), cache.Bundle(name))); err != nil {
			t.Fatal(err)
		}
	}
	demo, err := filepath.Abs(filepath.Join("..", "..", "shipped", "demo"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "cache: "+cache.Root+"\nruntime: "+library+"\n")
	index := []string{"index", "--collection", "c", "--index", "flat"}
	for _, domain := range []string{"encyclopedia", "reviews", "tales", "health", "policy"} {
		index = append(index, "--in", filepath.Join(demo, "passages", domain+".jsonl"))
	}
	if code, _, complaints := conclave(t, index...); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	thresholdsTell(t, filepath.Join(demo, "questions"))
	var server *served
	ask := func(question string) reply.Response {
		t.Helper()
		r := server.first(question)
		if r.Confidence == nil {
			t.Fatalf("%q has no confidence", question)
		}
		return r
	}
	for _, basis := range []string{reply.BasisShipped, reply.BasisCalibrated} {
		if basis == reply.BasisCalibrated {
			if code, _, complaints := conclave(t, "calibrate", "--collection", "c", "--questions", filepath.Join(demo, "questions", "dev.jsonl")); code != cli.ExitOK {
				t.Fatal(complaints)
			}
		}
		server = startServer(t)
		for question, note := range map[string]bool{
			"how to install a gpu driver": false, "python list comprehension syntax": false,
			"who won the super bowl last year":    false,
			"quelle est la capitale de la France": true, "comment installer un pilote graphique": false, "warum ist der Himmel blau": true,
			"asdf qwer zxcv": false, "blah blah blah": false, "the": false, "?": false,
			"как установить драйвер видеокарты": true, "法国的首都是哪里": true,
		} {
			r := ask(question)
			if *r.Confidence > .2 || r.Basis != basis {
				t.Errorf("%q: %s, %s with %.2f", question, r.Basis, r.Results[0].Title, *r.Confidence)
			}
			if r.Verdict == reply.VerdictFound && question != "warum ist der Himmel blau" {
				t.Errorf("%q is %s by %+v", question, r.Verdict, r.Judged)
			}
			if (len(r.Notes) == 1) != note {
				t.Errorf("%q: notes %q", question, r.Notes)
			}
		}
		// What does not say what it is about is not found, and one word that a passage treats of is.
		for question, want := range map[string]bool{
			"2023": false, "365": false, "1998": false, "water": false, "who are you?": false, "what can you do": false,
			"why is that so": false, "nosebleed": true, "fox": true, "vermeer": true, "insomnia": true, "coffee": true,
		} {
			if r := ask(question); (r.Verdict == reply.VerdictFound) != want || !want && *r.Confidence > *r.Answerable {
				t.Errorf("%q is %s by %+v, notes %q", question, r.Verdict, r.Judged, r.Notes)
			}
		}
		// None of them is in questions.Nonsense.
		high := 0
		nonsense := strings.Fields(
			"n o p q r s t u v w x y z 1 5 8 12 42 2023 zx qv lk jt wq pb gh dt xcv rgb tbn lwm can would will or if how when it my continue next test testing bye hello okay more great sorry",
		)
		for _, text := range nonsense {
			if r := ask(text); *r.Confidence > .2 {
				t.Logf("%s: %q %.2f: %s", basis, text, *r.Confidence, r.Results[0].Title)
				high++
			}
		}
		t.Logf("%s: %d of %d texts that ask nothing have a confidence above 0.2", basis, high, len(nonsense))
		if high > len(nonsense)/10 {
			t.Errorf("%s: %d of %d texts that ask nothing have a confidence above 0.2", basis, high, len(nonsense))
		}
		for question, title := range map[string]string{
			"what is the deepest lake in siberia": "Lake Baikal", "why did the fox hide the moon": "The Fox and the Borrowed Moon",
			"who discovered penicillin": "Penicillin",
		} {
			if r := ask(question); *r.Confidence < .4 || r.Results[0].Title != title || r.Verdict != reply.VerdictFound {
				t.Errorf("%q: %s, %s with %.2f", question, r.Basis, r.Results[0].Title, *r.Confidence)
			}
		}
		verdictsTell(t, server, filepath.Join(demo, "questions"))
		server.stop()
	}
}

// verdictsTell: of the test questions of the demo few are doubted, hardly one is refused, and of
// questions about other subjects most are not found.
func verdictsTell(t *testing.T, server *served, questions string) {
	t.Helper()
	verdicts := func(file string) (all []reply.Verdict) {
		text, err := os.ReadFile(filepath.Join(questions, file))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var q struct{ Question string }
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				t.Fatal(err)
			}
			all = append(all, server.first(q.Question).Verdict)
		}
		return all
	}
	share := func(all []reply.Verdict, of func(reply.Verdict) bool) float64 {
		n := 0
		for _, v := range all {
			if of(v) {
				n++
			}
		}
		return float64(n) / float64(len(all))
	}
	own := verdicts("test.jsonl")
	doubted := share(own, func(v reply.Verdict) bool { return v != reply.VerdictFound })
	refused := share(own, func(v reply.Verdict) bool { return v == reply.VerdictNotFound })
	foreign := share(verdicts("elsewhere.jsonl"), func(v reply.Verdict) bool { return v != reply.VerdictFound })
	t.Logf("of 100 test questions %.1f are doubted and %.1f refused; of foreign ones %.1f are not found", 100*doubted,
		100*refused, 100*foreign)
	if doubted > .08 || refused > .03 || foreign < .7 {
		t.Errorf("of 100 test questions %.1f are doubted and %.1f refused; of foreign ones %.1f are not found", 100*doubted,
			100*refused, 100*foreign)
	}
}

// thresholdsTell: calibrate says what a threshold costs and gains, and there is one that
// keeps nine of ten right first passages and refuses four of five questions about
// something else.
func thresholdsTell(t *testing.T, questions string) {
	t.Helper()
	code, out, complaints := conclave(
		t,
		"calibrate",
		"--collection",
		"c",
		"--questions",
		filepath.Join(questions, "dev.jsonl"),
		"--questions",
		filepath.Join(questions, "elsewhere.jsonl"),
		"--dry-run",
		"--json",
		"fit.json",
	)
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	text, err := os.ReadFile("fit.json")
	var r calibration.FitReport
	if err != nil || json.Unmarshal(text, &r) != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(line)) - 1; n > 100 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	good := false
	for i, x := range r.Thresholds {
		if i > 0 && (x.Lost < r.Thresholds[i-1].Lost || x.TakenOut < r.Thresholds[i-1].TakenOut) {
			t.Errorf("a higher threshold loses less: %+v", r.Thresholds)
		}
		good = good || x.Lost <= .1 && *x.Unanswerable >= .8
		if shown := fmt.Sprintf(" %.2f %.1f %.1f %.1f ", x.MinConfidence, 100*x.Lost, 100*x.TakenOut,
			100**x.Unanswerable); !strings.Contains(
			strings.Join(strings.Fields(out), " ")+" ",
			shown,
		) {
			t.Errorf("%q is not shown:\n%s", shown, out)
		}
	}
	if !good {
		t.Errorf("no threshold is of use: %+v", r.Thresholds)
	}
}
