package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/reply"
)

// searched returns the answer to a question of the collection c.
func searched(t *testing.T, args ...string) reply.Response {
	t.Helper()
	code, out, complaints := conclave(
		t,
		append([]string{"search", "--collection", "c", "--json", "who hid in the lamp room"}, args...)...)
	var r reply.Response
	if err := json.Unmarshal([]byte(out), &r); code != cli.ExitOK || err != nil {
		t.Fatalf("search %v: exit code %d, %v\n%s%s", args, code, err, out, complaints)
	}
	return r
}

// weightOf returns the weight that a source had in an answer.
func weightOf(t *testing.T, r reply.Response, source string) float64 {
	t.Helper()
	at := slices.IndexFunc(r.Sources, func(s reply.Source) bool { return s.Name == source })
	if at < 0 || r.Sources[at].Weight == nil {
		t.Fatalf("%s has no weight: %+v", source, r.Sources)
	}
	return *r.Sources[at].Weight
}

// TestCalibrationIsUsed: what calibrate writes is what searches go by from then
// on: the experts' confidences, BM25's weight, the method, and the chances.
func TestCalibrationIsUsed(t *testing.T) {
	calibratable(t)
	for _, s := range searched(t).Sources {
		if s.Confidence != nil {
			t.Errorf("%s says how sure it is before anybody calibrated it", s.Name)
		}
	}
	if code, _, complaints := conclave(t, "search", "--collection", "c", "--fusion", "muf",
		"who"); code != cli.ExitFailed ||
		!strings.Contains(strings.ToLower(complaints), "calibrate") {
		t.Errorf("muf before anybody calibrated: exit code %d, %s", code, complaints)
	}

	code, out, complaints := conclave(t, both("calibrate", "--collection", "c", "--dry-run")...)
	if _, err := os.Stat(filepath.Join("c", calibration.RecordFile)); code != cli.ExitOK ||
		!errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(out, "60 questions") {
		t.Fatalf("a dry run: exit code %d, %v\n%s%s", code, err, complaints, out)
	}
	code, out, complaints = conclave(t, both("calibrate", "--collection", "c", "--json", "fit.json")...)
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	r, err := calibration.ReadRecord("c")
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	if len(r.Questions) != 2 || r.Questions[0].Domain != "tales" || r.Questions[0].Questions != talesAsked ||
		r.Questions[1].Questions != healthAsked ||
		len(r.Experts) != 2 {
		t.Errorf("the record is of %+v and %+v", r.Questions, r.Experts)
	}
	reliable(t, r)
	for _, method := range []string{fusion.MethodGate, fusion.MethodMUF, fusion.MethodMUFSparse} {
		if area, known := r.ConfidenceAUROC[method]; !known || area < 0 || area > 1 || len(r.ConfidenceAUROC) != 3 {
			t.Errorf("the confidence of %s tells right from wrong in %v: %v", method, area, r.ConfidenceAUROC)
		}
	}
	if !containsAll(out, []string{"60 questions are few", "95 of 100 times in"}) {
		t.Errorf("it does not say that these are few: %s", out)
	}
	for line := range strings.Lines(out) {
		if len(line) > 101 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	if !strings.HasSuffix(out, "auto is now "+r.Auto+"\n") {
		t.Errorf("it says %q, and auto is %s", out[strings.LastIndex(out[:len(out)-1], "\n"):], r.Auto)
	}

	hybrid := searched(t, "--fusion", "hybrid")
	for _, s := range hybrid.Sources {
		if (s.Confidence != nil) != (s.Kind == "dense") {
			t.Errorf("%s, %s, is sure by %v", s.Name, s.Kind, s.Confidence)
		}
	}
	sure, weights := 0., 0. // of the experts
	for _, s := range hybrid.Sources {
		if s.Confidence != nil {
			sure += math.Pow(*s.Confidence, r.Sharpness)
			weights += *s.Weight
		}
	}
	for _, s := range hybrid.Sources {
		if s.Confidence != nil && math.Abs(*s.Weight-math.Pow(*s.Confidence, r.Sharpness)/sure) > 1e-8 || r.Sharpness <= 0 ||
			math.Abs(weights-1) > 1e-8 {
			t.Errorf(
				"with the sharpness %v %s has the confidence %v and the weight %v",
				r.Sharpness,
				s.Name,
				s.Confidence,
				*s.Weight,
			)
		}
	}
	if w := weightOf(t, hybrid, "bm25"); math.Abs(w-r.Alpha) > 1e-9 || r.Alpha == .03 { // .03 is what it is without
		t.Errorf("BM25's weight is %v, the record says %v", w, r.Alpha)
	}
	var fitted calibration.FitReport
	if text, err := os.ReadFile("fit.json"); err != nil || json.Unmarshal(text, &fitted) != nil {
		t.Fatal(err)
	}
	if fitted.Questions != 60 || fitted.Auto != r.Auto || fitted.Alpha != r.Alpha || fitted.Sharpness != r.Sharpness ||
		len(fitted.Methods) != 4 ||
		len(fitted.Ensembles) != 2 ||
		len(fitted.Sources) != 3 {
		t.Errorf("%+v", fitted)
	}
	if len(r.Thresholds) == 0 || !reflect.DeepEqual(r.Thresholds, fitted.Thresholds) {
		t.Errorf("the record has the thresholds %+v, the report %+v", r.Thresholds, fitted.Thresholds)
	}
	if len(r.Sources) != 3 || r.Specialists != cli.AskedSpecialists {
		t.Errorf("chances of %d sources, for %d specialists", len(r.Sources), r.Specialists)
	}
	for _, s := range searched(t, "--fusion", "gate").Sources {
		if s.Name == reply.PhraseSource || s.Name == reply.NearSource { // a part of what the words say
			if s.Chance != nil {
				t.Errorf("%s has a chance of its own, %v", s.Name, *s.Chance)
			}
		} else if s.Chance == nil || *s.Chance <= 0 || *s.Chance >= 1 {
			t.Errorf("the chance of %s is %v", s.Name, s.Chance)
		}
	}
	if auto := searched(t); auto.Fusion != r.Auto {
		t.Errorf("auto is %s, the record says %s", auto.Fusion, r.Auto)
	}

	// A chance that no signal changes: 1/(1 + exp(-ln 3)) = 3/4.
	r.Auto = fusion.MethodGate
	first := &r.Chances[0].Logistic
	first.Intercept = math.Log(3)
	for i := range first.Signals {
		first.Signals[i].Coefficient = 0
	}
	r.Chances[0].Kind = calibration.Platt
	r.Chances[0].Isotonic = nil
	r.Chances = r.Chances[:1]
	if err := r.Write("c"); err != nil {
		t.Fatal(err)
	}
	if gated := searched(t); gated.Fusion != fusion.MethodGate || gated.Confidence == nil ||
		math.Abs(*gated.Confidence-.75) > 1e-9 {
		t.Errorf("%s, sure by %v", gated.Fusion, gated.Confidence)
	}
}

// TestCalibrateCounts: reciprocal ranks need no fitting, so that what calibrate
// prints of them can be worked out from the sources' own rankings. "Auto" is
// the method with the highest sum of top-1 and top-20.
func TestCalibrateCounts(t *testing.T) {
	calibratable(t)
	questions := alone(t)
	code, out, complaints := conclave(t, both("calibrate", "--collection", "c", "--dry-run", "--json", "fit.json")...)
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	var fitted calibration.FitReport
	if text, err := os.ReadFile("fit.json"); err != nil || json.Unmarshal(text, &fitted) != nil {
		t.Fatal(err)
	}
	by := func(j *judged) []string { return j.Reciprocal("base", "tales", "bm25") }
	rrf := fitted.Methods[len(fitted.Methods)-1]
	for domain, n := range map[string]int{"tales": talesAsked, "health": healthAsked} {
		want := calibration.DomainReport{
			Questions: n,
			Top1:      share(questions, domain, 1, by),
			Top20:     share(questions, domain, 20, by),
		}
		if rrf.Method != "rrf" || rrf.Domains[domain] != want {
			t.Errorf("%s, %s: %+v, worked out %+v", rrf.Method, domain, rrf.Domains[domain], want)
		}
	}
	var want []string
	for _, k := range []int{5, 20, 100} {
		want = append(want, fmt.Sprintf("%.1f", 100*share(questions, "", k, by)))
	}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] == "rrf" &&
			slices.Equal(fields[len(fields)-3:], want) {
			return
		}
	}
	t.Errorf("no line of rrf with %v in:\n%s", want, out)
}

// TestCalibrateChooses: auto is the gate, or what is ahead of it in the printed
// table.
func TestCalibrateChooses(t *testing.T) {
	calibratable(t)
	code, out, complaints := conclave(t, both("calibrate", "--collection", "c")...)
	if code != cli.ExitOK {
		t.Fatal(complaints)
	}
	r, err := calibration.ReadRecord("c")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 5 || !slices.Contains(search.MethodNames(), fields[0]) {
			continue
		}
		var figures [2]float64 // top-1, top-20
		for i, at := range []int{1, len(fields) - 2} {
			figures[i], err = strconv.ParseFloat(fields[at], 64)
			if err != nil {
				t.Fatal(err)
			}
		}
		sums[fields[0]] = figures[0] + figures[1]
	}
	if len(sums) != 4 || r.Auto != fusion.MethodGate && sums[r.Auto] <= sums[fusion.MethodGate] {
		t.Errorf("auto is %s: %v", r.Auto, sums)
	}
}

// TestCalibrateRefusesOverlap: a question that is to be measured on is not
// fitted on, however it is written. It is refused before a collection is opened.
func TestCalibrateRefusesOverlap(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "dev.jsonl", `{"id":"1","question":"Who hid the lamp?","positive_ids":["2"]}
{"id":"2","question":"What did the fox ask?","positive_ids":["3"]}
`)
	write(t, "text.jsonl", `{"id":"9","question":"what did the FOX ask","positive_ids":["3"]}`)
	write(t, "id.jsonl", `{"id":"1","question":"who keeps the lighthouse","positive_ids":["2"]}`)
	write(t, "apart.jsonl", `{"id":"8","question":"who keeps the lighthouse","positive_ids":["2"]}`)
	for _, c := range []struct {
		heldApart []string
		says      []string
	}{
		{[]string{"text.jsonl"}, []string{"dev.jsonl and text.jsonl share 1 questions", "What did the fox ask?"}},
		{[]string{"id.jsonl"}, []string{"dev.jsonl and id.jsonl share 1 questions"}},
		{[]string{"other=apart.jsonl", "more=text.jsonl"}, []string{"dev.jsonl and text.jsonl"}},
		{[]string{"apart.jsonl"}, []string{"nowhere"}}, // no overlap: on to the collection, which is not there
		{[]string{"missing.jsonl"}, []string{"missing.jsonl"}},
	} {
		args := []string{"calibrate", "--collection", "nowhere", "--questions", "dev.jsonl"}
		for _, file := range c.heldApart {
			args = append(args, "--apart", file)
		}
		code, _, complaints := conclave(t, args...)
		if code != cli.ExitFailed || !containsAll(complaints, c.says) {
			t.Errorf("apart from %v: exit code %d, %s", c.heldApart, code, complaints)
		}
	}
}

func TestCalibrateUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "q.jsonl", `{"id":"1","question":"who","positive_ids":["1"]}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, cli.ExitUsage, "questions"},
		{[]string{"--questions", "q.jsonl", "--limit", "-1"}, cli.ExitUsage, "--limit"},
		{[]string{"--questions", "q.jsonl", "--specialists", "-1"}, cli.ExitUsage, "--specialists"},
		{[]string{"--questions", "q.jsonl", "--question-format", "docx"}, cli.ExitUsage, "docx"},
		{[]string{"--questions", "missing.jsonl"}, cli.ExitFailed, "missing.jsonl"},
		{[]string{"--questions", "q.jsonl", "--collection", "nowhere"}, cli.ExitFailed, "nowhere"},
	} {
		code, _, complaints := conclave(t, append([]string{"calibrate"}, c.args...)...)
		if code != c.code || !strings.Contains(complaints, c.says) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.says, complaints)
		}
	}
}

// TestEvaluateKnowsItsFits: measured on the questions that everything was
// fitted on, and on some of them, it says so; on others it does not.
func TestEvaluateKnowsItsFits(t *testing.T) {
	calibratable(t)
	if code, _, complaints := conclave(t, "calibrate", "--collection", "c", "--questions",
		"tales=tales.jsonl"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	for _, c := range []struct {
		args  []string
		fits  bool
		names string
	}{
		{[]string{"--questions", "mine=tales.jsonl"}, true, "(mine)"},
		{[]string{"--questions", "tales=tales.jsonl", "--limit", "5"}, true, "(tales)"},
		{[]string{"--questions", "tales=tales.jsonl", "--questions", "health=health.jsonl"}, true, "(tales)"},
		{[]string{"--questions", "health=health.jsonl"}, false, ""},
	} {
		code, out, complaints := conclave(
			t,
			append([]string{"evaluate", "--collection", "c", "--fusions", "rrf", "--alone=false", "--timed", "0"}, c.args...)...)
		if code != cli.ExitOK {
			t.Fatal(complaints)
		}
		if strings.Contains(out, "fitted on these very questions") != c.fits || !strings.Contains(out, c.names) {
			t.Errorf("%v: %s", c.args, out)
		}
	}
}

// reliable checks the stored reliability curves: the expected calibration error of each source is the mean gap of its
// bins, and the bins of the answers have each question with its answer and without.
func reliable(t *testing.T, r *calibration.Record) {
	t.Helper()
	for _, s := range r.Sources {
		gaps, questions := 0.0, 0.0
		for _, bin := range s.Reliability {
			gaps += float64(bin.Questions) * math.Abs(bin.Accuracy-bin.Confidence)
			questions += float64(bin.Questions)
		}
		if questions == 0 || math.Abs(gaps/questions-s.ECE) > 1e-9 {
			t.Errorf(
				"the curve of %s, of %v questions, has the error %v; its record says %v",
				s.Name,
				questions,
				gaps/questions,
				s.ECE,
			)
		}
	}
	questions := 0
	for _, bin := range r.Reliability {
		questions += bin.Questions
	}
	if least := 2 * (talesAsked + healthAsked); questions < least {
		t.Errorf("the curve of the answers has %d questions, want %d: each with its answer and without", questions, least)
	}
}

// TestCalibrationOfAReader: calibrating fits what a reader says, where one is loaded and
// answers are known (of 56 of the 60 questions), and searches go by it: there are chances,
// and the confidence is another one with it. This reader is no judge of passages, so that
// it has no part in the ranking. The weight of a reranker is fitted likewise.
func TestCalibrationOfAReader(t *testing.T) {
	calibratable(t)
	// Of the readers by chance that these seeds make, this is one whose chances tell something of the test's questions, so
	// that the calibration gives them a weight.
	if _, err := tiny.Write(filepath.Join("experts", "marker"),
		tiny.Expert{Name: "marker", Seed: 8, Reader: true}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(filepath.Join("experts", "judge"),
		tiny.Expert{Name: "judge", Seed: 6, Reranker: true}); err != nil {
		t.Fatal(err)
	}
	write(t, "conclave.yaml", string(text)+"readers: [marker]\nrerankers: [judge]\nsearch: {rerank: true}\n")
	asked := func(requests ...search.Request) []reply.Response {
		t.Helper()
		config, err := configs.Load(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		config.Collection = "c"
		l, err := assembly.Open(assembly.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		responses, err := l.Engine.Compare(t.Context(), requests)
		err = errors.Join(err, l.Close())
		if err != nil {
			t.Fatal(err)
		}
		return responses
	}
	gated := search.Request{
		Question:  "who hid in the lamp room",
		Fusion:    search.Methods{Names: []string{fusion.MethodGate}},
		TimeoutMS: 10000,
	}
	withAnswer, least := gated, 0.0
	withAnswer.Answer = ask.AnswerOptions{Wanted: true, MinChance: &least, Passages: 10} // all that are answered
	for _, a := range asked(withAnswer)[0].Answers {
		if a.Chance != nil {
			t.Errorf("%+v has a chance before anybody calibrated the reader", a)
		}
	}
	code, out, complaints := conclave(t, both("calibrate", "--collection", "c")...)
	if code != cli.ExitOK ||
		!containsAll(out, []string{"with a reader, over 56 questions", "its words are right: ECE 0."}) {
		t.Fatalf("exit code %d\n%s%s", code, out, complaints)
	}
	r, err := calibration.ReadRecord("c")
	if err != nil || r.Reading == nil || r.Reading.Questions != 56 || r.Reading.Top1 < r.Reading.WithoutTop1 {
		t.Fatalf("%v: %+v", err, r.Reading)
	}
	if len(r.Reranking) != 1 || r.Reranking[0].Questions != talesAsked+healthAsked ||
		!strings.Contains(out, "with the reranker judge over the first 20 passages of 60 questions") {
		t.Errorf("%+v\n%s", r.Reranking, out)
	}
	reranked := gated
	reranked.Rerank = ask.RerankOptions{Asked: true, Wanted: true}
	for _, x := range asked(reranked)[0].Results {
		last := x.Contributions[len(x.Contributions)-1]
		if weight := r.Reranking[0].Weight; weight == 0 && last.Source == "judge" ||
			weight > 0 && (last.Source != "judge" || math.Abs(last.Weight-weight) > 1e-9) {
			t.Errorf("with a weight of %v: %+v", weight, last)
		}
	}
	pair := asked(gated, withAnswer)
	plain, read := pair[0], pair[1]
	if (*plain.Confidence == *read.Confidence) == r.Reading.Surer() || len(read.Answers) == 0 {
		t.Errorf(
			"the confidence is %v, with and without the reader, of which there are %d answers",
			*plain.Confidence,
			len(read.Answers),
		)
	}
	said := 0
	for _, x := range read.Results {
		if last := x.Contributions[len(x.Contributions)-1]; last.Source == "marker" && last.Origin == reply.OriginRead {
			said++
		}
	}
	if want := map[bool]int{true: len(read.Results)}[r.Reading.Ranking > 0]; said != want {
		t.Errorf(
			"with a weight of %v, the reader contributed to %d of %d results",
			r.Reading.Ranking,
			said,
			len(read.Results),
		)
	}
	for _, a := range read.Answers {
		if a.Chance == nil {
			t.Errorf("%+v has no chance", a)
		}
	}

	// Where nobody knows the answers, there is nothing to fit.
	for _, name := range []string{"tales.jsonl", "health.jsonl"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, strings.ReplaceAll(string(text), `"answers":`, `"hints":`))
	}
	if code, out, complaints := conclave(t, both("calibrate", "--collection", "c")...); code != cli.ExitOK ||
		strings.Contains(out, "with a reader") {
		t.Fatalf("exit code %d\n%s%s", code, out, complaints)
	}
	if r, err := calibration.ReadRecord("c"); err != nil || r.Reading != nil {
		t.Errorf("%v: %+v", err, r.Reading)
	}
}
