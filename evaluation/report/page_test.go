package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/evaluation"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

func written(t *testing.T, r *evaluation.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkPage checks what must hold of every page: it stands alone, its drawings
// are XML, and no figure is none.
func checkPage(t *testing.T, page string) {
	t.Helper()
	for _, unwanted := range []string{"NaN", "Inf", "ZgotmplZ", "%!", "<nil>"} {
		if at := strings.Index(page, unwanted); at >= 0 {
			t.Errorf("the page has %q: …%s…", unwanted, page[max(at-80, 0):min(at+80, len(page))])
		}
	}
	for _, link := range regexp.MustCompile(`(?i)(src|href|url\(|@import)[^>]{0,40}`).FindAllString(page, -1) {
		t.Errorf("the page needs something else: %s", link)
	}
	drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	for _, svg := range drawings {
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Errorf("a drawing is not XML: %v\n%.300s", err, svg)
				break
			}
		}
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="[^"]*"`).FindAllString(page, -1) {
		if ids[id] {
			t.Errorf("two elements have%s", id)
		}
		ids[id] = true
	}
}

func TestPage(t *testing.T) {
	r := simulatedReport(t, 25, "wiki", "fairytale", "nq")
	page := written(t, r)
	checkPage(t, page)
	for _, m := range r.Methods {
		if !strings.Contains(page, ">"+html.EscapeString(m.Name)+"</th>") {
			t.Errorf("no table has a row of %q", m.Name)
		}
	}
	for _, want := range []string{"Evaluation of union", "mean over domains", "Accuracy at k", "Who knows what", "Who is listened to", "Answering only when sure",
		"Is the confidence to be believed?", "43\u202f378 passages", "p-value", "data/wiki/questions.dev.jsonl.gz", "20 members"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if again := written(t, r); again != page {
		t.Error("the same report gives another page")
	}
	// A figure of the table, worked out from the report.
	top1 := fmt.Sprintf(">%.1f<", 100*r.Tables[0].Rows[0].Values["top1"])
	if row := page[strings.Index(page, ">wiki alone</th>"):]; !strings.Contains(row[:200], top1) {
		t.Errorf("the first row of the first table does not begin with %s: %s", top1, row[:200])
	}
}

// TestHostileNames: what a file or an expert is called stays text.
func TestHostileNames(t *testing.T) {
	const hostile = `<script>alert("x")</script>&'`
	r := simulatedReport(t, 6, hostile, "b</style><b>")
	page := written(t, r)
	checkPage(t, page)
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "</style><b>") {
		t.Error("a name became a part of the page")
	}
	if strings.Count(page, "<script>") != 1 {
		t.Error("there is more than the page's own script")
	}
}

// TestLittle: a report of one source and one domain is a page, too, without
// plots that would have nothing to show.
func TestLittle(t *testing.T) {
	r := &evaluation.Report{About: evaluation.About{Collection: "c", Passages: 3}, Depth: 1,
		Methods: []evaluation.Method{{Name: "bm25 alone", Kind: evaluation.KindSource, Source: reply.WordSource}},
		Domains: []evaluation.DomainInfo{{Questions: 1}},
		Tables: []evaluation.Table{
			{Name: "all questions", Scope: evaluation.ScopeDomain, Questions: 1, Rows: []evaluation.Row{
				{
					Method: "bm25 alone",
					Kind:   evaluation.KindSource,
					Values: map[string]float64{"answer1": 1},
					Curve:  []float64{1},
				}}},
		}}
	page := written(t, r)
	checkPage(t, page)
	for _, unwanted := range []string{"Who knows what", "Who is listened to", "Answering only when sure", "p-value"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page has %q, with nothing to show there", unwanted)
		}
	}
	if err := Write(io.Discard, &evaluation.Report{}); err == nil {
		t.Error("an empty report became a page")
	}
}

func TestNiceStep(t *testing.T) {
	for width, want := range map[float64]float64{.7: .1, .5: .1, .35: .05, .1: .02, 1: .2, .04: .005, 0: .1} {
		if got := niceStep(width); math.Abs(got-want) > 1e-12 {
			t.Errorf("a range of %v is cut in steps of %v, want %v", width, got, want)
		}
	}
}

// TestWeightsOfLateInteraction have a column of their own, in no share of the
// experts'.
func TestWeightsOfLateInteraction(t *testing.T) {
	r := &evaluation.Report{
		About:   evaluation.About{Experts: []learned.ExpertInfo{{Name: "base"}, {Name: "wiki"}}},
		Methods: []evaluation.Method{{Name: "auto"}},
		Domains: []evaluation.DomainInfo{
			{
				Name:    "wiki",
				Weights: map[string]map[string]float64{"auto": {"base": .25, "wiki": .75, reply.WordSource: .04, "late": 2.5}},
			},
			{
				Name:    "nq",
				Weights: map[string]map[string]float64{"auto": {"base": .5, "wiki": .5, reply.WordSource: .03, "late": 3.5}},
			},
		},
	}
	if got := weighedSources(r, "auto"); !slices.Equal(got, []string{"base", "wiki", reply.WordSource, "late"}) {
		t.Fatalf("columns %v", got)
	}
	cells := weightCells(r, r.Domains[0], "auto", weighedSources(r, "auto"))
	if cells[1].Shade != .75 || cells[2].Shade != 0 || cells[3].Shade != 0 || cells[3].Text != "2.5" {
		t.Errorf("%+v", cells)
	}
}
