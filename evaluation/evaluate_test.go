package evaluation

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search/reply"

	"example.org/conclave/search"
)

func evaluated(t *testing.T, o MeasureOptions) *Report {
	t.Helper()
	o.Methods = scriptedMethods()
	o.Depth = 4
	o.Reference = "X alone"
	r, err := Evaluate(context.Background(), scripted(), scriptedDomains(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Report) row(t *testing.T, table, method string) *Row {
	t.Helper()
	for i := range r.Tables {
		if r.Tables[i].Name != table {
			continue
		}
		for j := range r.Tables[i].Rows {
			if r.Tables[i].Rows[j].Method == method {
				return &r.Tables[i].Rows[j]
			}
		}
	}
	t.Fatalf("there is no row of %q in the table %q", method, table)
	return nil
}

// TestTablesByHand compares with sums worked out on paper from the script. The
// ranks of the first relevant passage of q1…q5 are, for x: 1 2 1 – 3; for y:
// – 3 2 1 2; for BM25: 2 – – 4 1; for rrf: 1 1 1 2 –.
func TestTablesByHand(t *testing.T) {
	r := evaluated(t, MeasureOptions{})
	var tables []string
	for _, table := range r.Tables {
		tables = append(tables, table.Name)
	}
	if want := []string{"all questions", "mean over domains", "x", "y"}; !slices.Equal(tables, want) {
		t.Fatalf("tables are %v, want %v", tables, want)
	}
	ideal := 2 + 1/math.Log2(3) // of q3, whose grades are 2 and 1
	for _, c := range []struct {
		table, method, value string
		want                 float64
	}{
		{"all questions", "x alone", "top1", 2. / 5}, {"all questions", "y alone", "top1", 1. / 5},
		{"all questions", "bm25 alone", "top1", 1. / 5}, {"all questions", "rrf", "top1", 3. / 5},
		{"all questions", "x alone", "top5", 4. / 5}, {"all questions", "bm25 alone", "top100", 3. / 5},
		{"x", "x alone", "top1", 2. / 3}, {"y", "x alone", "top1", 0}, {"y", "y alone", "top1", 1. / 2},
		{"x", "rrf", "top1", 1},
		{"mean over domains", "x alone", "top1", 1. / 3}, {"mean over domains", "y alone", "top1", 1. / 4},
		{"mean over domains", "bm25 alone", "top1", 1. / 4}, {"mean over domains", "rrf", "top1", 1. / 2},
		{"all questions", OracleIndicator, "top1", 3. / 5}, {"mean over domains", OracleIndicator, "top1", 7. / 12},
		{"all questions", OracleExpert, "top1", 3. / 5}, {"all questions", OracleSource, "top1", 4. / 5},
		{"all questions", OracleExpert, "mrr10", (1 + .5 + 1 + 1 + .5) / 5},
		{"all questions", OracleSource, "mrr10", (1 + .5 + 1 + 1 + 1) / 5},
		{"all questions", "rrf", "mrr10", (1 + 1 + 1 + .5) / 5},
		{"all questions", "x alone", "mrr10", (1 + .5 + 1 + 1./3) / 5},
		{"x", "x alone", "map", (1 + .5 + (1+2./3)/2) / 3}, {"x", "y alone", "map", (0 + 1./3 + (1./2)/2) / 3},
		{"x", "x alone", "recall100", 1}, {"x", "y alone", "recall100", (0 + 1 + .5) / 3},
		{"x", "x alone", "ndcg10", (1 + 1/math.Log2(3) + (1+2/math.Log2(4))/ideal) / 3},
		{"x", "y alone", "ndcg10", (0 + 1/math.Log2(4) + (2/math.Log2(3))/ideal) / 3},
		{"x", "rrf", "ndcg10", 1},
		// Confidences of x: .9 right, .8 wrong, .9 right, .5 and .5 wrong.
		{"all questions", "x alone", "ece", (2*.1 + .8 + 2*.5) / 5}, {"all questions", "x alone", "auroc", 1},
		{"all questions", "x alone", "surest_half", 2. / 3},
		// Of y: .2 .2 .4 wrong, .9 right, .9 wrong: the tie counts half.
		{"all questions", "y alone", "auroc", 3.5 / 4}, {"all questions", "y alone", "surest_half", 1. / 3},
	} {
		got, ok := r.row(t, c.table, c.method).Values[c.value]
		if !ok {
			t.Errorf("%s, %s: no %s", c.table, c.method, c.value)
			continue
		}
		near(t, c.table+", "+c.method+": "+c.value, got, c.want)
	}
	for _, value := range []string{"ece", "auroc", "surest_half", "answer1"} {
		if v, ok := r.row(t, "all questions", "rrf").Values[value]; ok {
			t.Errorf("rrf, which has no confidence, and questions without answers: %s is %v", value, v)
		}
	}
	curve := r.row(t, "all questions", "x alone").Curve
	for k, want := range []float64{.4, .6, .8, .8} {
		near(t, "accuracy at k of x", curve[k], want)
	}
	coverage := r.row(t, "all questions", "x alone").Coverage // .9 .9 right, then .8 and, equally sure, two .5 wrong
	for i, want := range []float64{1, 1, 1, 1, 2. / 3, 2. / 3, 2. / 4, 2. / 4, 2. / 5, 2. / 5} {
		near(t, "coverage of x", coverage[i], want)
	}
	near(t, "the mean weight of bm25", r.Domains[0].Weights["rrf"]["bm25"], 2)
}

// TestChancesByHand: against x alone, the best source is right on two questions
// more, so half of the four ways to swap these give as large a difference; BM25
// differs by one of three, which all ways give.
func TestChancesByHand(t *testing.T) {
	r := evaluated(t, MeasureOptions{})
	for _, table := range []string{"all questions", "mean over domains"} {
		for method, want := range map[string]float64{OracleSource: .5, "bm25 alone": 1, "rrf": 1} {
			if table != "all questions" && method == "bm25 alone" {
				// Weighted, q1 and q3 count 5/6 and q5 5/4: the sums are 5/12 and,
				// when q5 is swapped with or against both, more.
				want = 1
			}
			if got := r.row(t, table, method).P["top1"]; math.Abs(got-want) > .02 {
				t.Errorf("%s: p of %s is %v, want %v", table, method, got, want)
			}
		}
		if p := r.row(t, table, "x alone").P; p != nil {
			t.Errorf("the reference has p-values against itself: %v", p)
		}
	}
}

// TestIndicatorNeedsAnOwner: where a domain has no expert, the indicator is only
// defined with somebody to ask otherwise.
func TestIndicatorNeedsAnOwner(t *testing.T) {
	has := func(r *Report, table string) bool {
		return slices.ContainsFunc(r.Tables, func(t Table) bool {
			return t.Name == table && slices.ContainsFunc(t.Rows, func(row Row) bool { return row.Method == OracleIndicator })
		})
	}
	domains := scriptedDomains()
	domains[1].Name = "z"
	ask := func(otherwise string) (*Report, error) {
		return Evaluate(
			context.Background(),
			scripted(),
			domains,
			MeasureOptions{Methods: scriptedMethods(), Depth: 4, Otherwise: otherwise},
		)
	}
	r, err := ask("")
	if err != nil || has(r, "all questions") || has(r, "z") || !has(r, "x") {
		t.Errorf("nobody owns z: the indicator may stand in the table of x only (%v)", err)
	}
	r, err = ask("x")
	if err != nil {
		t.Fatal(err)
	}
	near(
		t,
		"top-1 of the indicator that asks x otherwise",
		r.row(t, "all questions", OracleIndicator).Values["top1"],
		2./5,
	)
	_, err = ask("nobody")
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("an owner that is not there: %v", err)
	}
}

// TestAnswersByHand measures where the answers are, by the text and by pattern.
func TestAnswersByHand(t *testing.T) {
	for _, c := range []struct {
		answers  []string
		patterns bool
		top1     float64 // of x, q1 to q3: rankings P n1 n2 n3, n1 P n2 n3, H n1 G n2
	}{
		{[]string{"of P"}, false, 1. / 3}, {[]string{"TEXT, of", "of n1"}, false, 1. / 3}, {[]string{"text"}, false, 1},
		{[]string{"of [PH]$"}, true, 2. / 3}, {[]string{"of [PH]$"}, false, 0}, {[]string{"(", "title"}, true, 0},
	} {
		domains := scriptedDomains()[:1]
		for i := range domains[0].Questions {
			domains[0].Questions[i].Answers = c.answers
		}
		r, err := Evaluate(
			context.Background(),
			scripted(),
			domains,
			MeasureOptions{Methods: scriptedMethods(), Depth: 4, Patterns: c.patterns},
		)
		if err != nil {
			t.Fatal(err)
		}
		near(t, strings.Join(c.answers, "|"), r.row(t, "x", "x alone").Values["answer1"], c.top1)
		if noted := len(r.Notes) > 0; noted != slices.Contains(c.answers, "(") {
			t.Errorf("%q: notes are %q", c.answers, r.Notes)
		}
	}
	domains := scriptedDomains()[:1]
	domains[0].Questions[1].Answers = []string{" "}
	domains[0].Questions[1].Place = "file line 7"
	_, err := Evaluate(context.Background(), scripted(), domains, MeasureOptions{Methods: scriptedMethods()})
	if err == nil || !strings.Contains(err.Error(), `file line 7, field "answers"`) {
		t.Errorf("an answer that matches everything: %v", err)
	}
}

// TestOnePass asks every question once, whatever is measured.
func TestOnePass(t *testing.T) {
	s := scripted()
	_, err := Evaluate(
		context.Background(), s, scriptedDomains(), MeasureOptions{Methods: scriptedMethods(), Depth: 4, Timed: 2},
	)
	if err != nil {
		t.Fatal(err)
	}
	for q, n := range s.compared {
		if n != 1 {
			t.Errorf("%s was asked %d times, want once", q, n)
		}
	}
	if want := (2 + 2) * len(scriptedMethods()); len(s.searched) != want { // two to warm up
		t.Errorf("%d requests were timed, want %d", len(s.searched), want)
	}
	for _, r := range s.searched {
		if r.K != 0 || r.Fields != nil {
			t.Fatalf("a timed request is not as a user sends it: %+v", r)
		}
	}
}

func TestQuantile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(i + 1)
	}
	for share, want := range map[float64]float64{.5: 50, .95: 95, .99: 99, 1: 100, 0: 1} {
		near(t, "quantile", quantile(values, share), want)
	}
	near(t, "the 99th of three", quantile(values[:3], .99), 3)
}

func TestEvaluateRefuses(t *testing.T) {
	methods := scriptedMethods()
	twice := append(slices.Clone(methods), methods[0])
	for name, c := range map[string]struct {
		domains []questions.Domain
		options MeasureOptions
		says    string
	}{
		"no questions":      {nil, MeasureOptions{Methods: methods}, "no questions"},
		"an empty domain":   {[]questions.Domain{{Name: "x"}}, MeasureOptions{Methods: methods}, "no questions"},
		"no methods":        {scriptedDomains(), MeasureOptions{}, "no methods"},
		"a method twice":    {scriptedDomains(), MeasureOptions{Methods: twice}, `two methods called "x alone": choose a name that none of x alone, y alone, bm25 alone, rrf, `},
		"a domain twice":    {append(scriptedDomains(), scriptedDomains()...), MeasureOptions{Methods: methods}, "two sets"},
		"unknown reference": {scriptedDomains(), MeasureOptions{Methods: methods, Reference: "magic"}, "bm25 alone"},
		"unknown run": {scriptedDomains(), MeasureOptions{Methods: methods, Runs: &Runs{Of: []string{"magic"}}},
			"magic"},
		"unknown form": {scriptedDomains(), MeasureOptions{Methods: methods, Runs: &Runs{Forms: []string{"xml"}}},
			"xml"},
	} {
		if _, err := Evaluate(context.Background(), scripted(), c.domains, c.options); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

// TestWhatWasMissedCounts: a source that was left out of one answer ends it.
func TestWhatWasMissedCounts(t *testing.T) {
	_, err := Evaluate(
		context.Background(), degraded{scripted()}, scriptedDomains(), MeasureOptions{Methods: scriptedMethods()},
	)
	if err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("a degraded answer was averaged over: %v", err)
	}
	// But for experts that are known to be out: that is said once.
	late := reply.Missing{Source: "bm25", Reason: "too late"}
	r, err := Evaluate(
		context.Background(),
		degraded{scripted()},
		scriptedDomains(),
		MeasureOptions{Methods: scriptedMethods(), Out: []reply.Missing{late}},
	)
	if err != nil || !slices.Contains(r.Notes, "bm25 is left out: too late") {
		t.Errorf("an expert that is left out: %v", err)
	}
}

type degraded struct{ *script }

func (d degraded) Compare(ctx context.Context, requests []search.Request) ([]reply.Response, error) {
	out, err := d.script.Compare(ctx, requests)
	if err == nil && requests[0].Question == "q5" {
		out[2].Degraded = []reply.Missing{{Source: "bm25", Reason: "too late"}}
	}
	return out, err
}

func TestText(t *testing.T) {
	r := evaluated(t, MeasureOptions{Timed: 1})
	var out bytes.Buffer
	if err := r.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"all questions (5)", "top-1", " ref ", OracleExpert, "p50 ms", "1.000", "5 questions of 2 domains"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if len([]rune(line)) > 100 {
			t.Errorf("line %d has %d characters", i+1, len([]rune(line)))
		}
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatal(err)
	}
	near(t, "top-1 read from JSON", again.row(t, "all questions", "rrf").Values["top1"], .6)
}

// TestAskedFor: what is asked for stands in the tables behind its kind, once; what is measured anyway is not doubled,
// and rankings that are not deep enough are an error. The ranks are those of TestTablesByHand.
func TestAskedFor(t *testing.T) {
	var asked []Metric
	for _, name := range []string{"top-3", "MRR@1", "top3", "top-20"} {
		m, err := AskedMetric(name)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, m)
	}
	r := evaluated(t, MeasureOptions{Metrics: asked})
	row := r.row(t, "all questions", "y alone")
	if row.Values["top3"] != 4./5 || row.Values["mrr1"] != 1./5 || row.P["top3"] == 0 {
		t.Errorf("%+v, %+v", row.Values, row.P)
	}
	if got := r.row(t, "all questions", OracleExpert).Values["top3"]; got != 1 {
		t.Errorf("the best expert of each question: %v", got)
	}
	var headings []string
	for _, m := range r.Columns()[:6] {
		headings = append(headings, m.Heading)
	}
	if want := []string{"top-1", "top-5", "top-20", "top-100", "top-3", "MRR@10"}; !slices.Equal(headings, want) {
		t.Errorf("columns %v, not %v", headings, want)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "MRR@1 ") {
		t.Errorf("%v\n%s", err, &text)
	}
	deep, err := AskedMetric("nDCG@5")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Evaluate(context.Background(), scripted(), scriptedDomains(),
		MeasureOptions{Methods: scriptedMethods(), Depth: 4, Metrics: []Metric{deep}})
	if err == nil || !strings.Contains(err.Error(), "nDCG@5 needs rankings of 5 passages, and these have 4") {
		t.Error(err)
	}
}
