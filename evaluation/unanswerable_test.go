package evaluation

import (
	"context"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/questions"
)

// TestUnanswerableQuestions: beside the script's five, one that nothing answers, of
// which x is sure by .3 and y by .7. It counts for the confidences, and for nothing
// else; alone it is a domain without a top-1.
func TestUnanswerableQuestions(t *testing.T) {
	s := scripted()
	s.answers["q6"] = map[string]string{
		"x":    "n1 n2 n3 n4|.3",
		"y":    "n1 n2 n3 n4|.7",
		"bm25": "n1 n2 n3 n4",
		"rrf":  "n1 n2 n3 n4",
	}
	domains := append(
		scriptedDomains(),
		questions.Domain{
			Name:      "z",
			Path:      "z.jsonl",
			Questions: []questions.Question{{ID: "1", Text: "q6", Unanswerable: true}},
		},
	)
	r, err := Evaluate(context.Background(), s, domains, MeasureOptions{Methods: scriptedMethods(), Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		table, method, value string
		want                 float64
	}{
		{"all questions", "x alone", "top1", 2. / 5}, {"all questions", "rrf", "top1", 3. / 5},
		// .9 right, .8 wrong, .9 right, .5, .5 and .3 wrong.
		{"all questions", "x alone", "ece", (2*.1 + .8 + 2*.5 + .3) / 6}, {"all questions", "x alone", "auroc", 1},
		{"all questions", "x alone", "given", 1}, {"all questions", "x alone", "silent", 1},
		// .2, .2, .4 wrong, .9 right, .9 and .7 wrong.
		{"all questions", "y alone", "auroc", 4.5 / 5}, {"all questions", "y alone", "silent", 0},
		{"z", "x alone", "ece", .3},
	} {
		got, ok := r.row(t, c.table, c.method).Values[c.value]
		if !ok {
			t.Errorf("%s, %s: no %s", c.table, c.method, c.value)
			continue
		}
		near(t, c.table+", "+c.method+": "+c.value, got, c.want)
	}
	if _, ok := r.row(t, "z", "x alone").Values["top1"]; ok {
		t.Error("a top-1 of questions that nothing answers")
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "z: 1 questions that nothing answers") {
		t.Errorf("the notes say %q", r.Notes)
	}
	alone, err := Evaluate(context.Background(), s, domains[2:], MeasureOptions{Methods: scriptedMethods(), Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "x alone", alone.row(t, "z", "x alone").Values["silent"], 1)
	domains[2].Name = "" // as in a file that names no domain
	alone, err = Evaluate(context.Background(), s, domains[2:], MeasureOptions{Methods: scriptedMethods(), Depth: 4})
	if err != nil || !slices.Contains(alone.Notes, "1 questions that nothing answers count for the confidences alone") {
		t.Errorf("%v: the notes of a domain without a name say %q", err, alone.Notes)
	}
}
