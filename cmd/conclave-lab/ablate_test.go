package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/research/ablation"
)

// ablated measures the collection c, and returns the tables and the report that
// was written beside them.
func ablated(t *testing.T, args ...string) (tables string, r ablation.Findings) {
	t.Helper()
	code, out, complaints := lab(
		t,
		both(append([]string{"ablate", "--collection", "c", "--json", "out.json"}, args...)...)...)
	if code != cli.ExitOK {
		t.Fatalf("ablate %v: %s", args, complaints)
	}
	data, err := os.ReadFile("out.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return out, r
}

// rowOf returns the row with this name. The test fails at once if there is none.
func rowOf(t *testing.T, rows []ablation.Row, name string) ablation.Row {
	t.Helper()
	at := slices.IndexFunc(rows, func(r ablation.Row) bool { return r.Name == name })
	if at < 0 {
		t.Fatalf("there is no row %q among %v", name, rows)
	}
	return rows[at]
}

// agree fails the test unless a row has the shares that ranking gives for the questions of these domains: of each
// domain, over all questions, and as the mean over domains.
func agree(t *testing.T, r ablation.Row, questions []judged, ranking func(j *judged) []string, domains ...string) {
	t.Helper()
	of := func(domain string) ablation.Accuracies {
		return ablation.Accuracies{
			Top1:  share(questions, domain, 1, ranking),
			Top5:  share(questions, domain, 5, ranking),
			Top20: share(questions, domain, 20, ranking),
		}
	}
	var all, macro ablation.Accuracies
	sizes := map[string]float64{"tales": talesAsked, "health": healthAsked}
	total := 0.0
	for _, domain := range domains {
		total += sizes[domain]
	}
	for _, domain := range domains {
		own := of(domain)
		if !near(r.Domains[domain], own) {
			t.Errorf("%s, %s: %v, worked out %v", r.Name, domain, r.Domains[domain], own)
		}
		for _, sum := range []struct {
			of    *ablation.Accuracies
			share float64
		}{{&all, sizes[domain] / total}, {&macro, 1 / float64(len(domains))}} {
			sum.of.Top1 += sum.share * own.Top1
			sum.of.Top5 += sum.share * own.Top5
			sum.of.Top20 += sum.share * own.Top20
		}
	}
	if !near(r.All, all) || !near(r.Macro, macro) || len(r.Domains) != len(domains) {
		t.Errorf(
			"%s: %v and %v over the domains %v, worked out %v and %v over %v",
			r.Name,
			r.All,
			r.Macro,
			slices.Sorted(maps.Keys(r.Domains)),
			all,
			macro,
			domains,
		)
	}
}

// near reports whether two rows' shares are equal but for rounding.
func near(a, b ablation.Accuracies) bool {
	return math.Abs(a.Top1-b.Top1) < 1e-9 && math.Abs(a.Top5-b.Top5) < 1e-9 && math.Abs(a.Top20-b.Top20) < 1e-9
}

// TestAblateCounts compares what can be worked out from the sources' own
// rankings: reciprocal ranks, the mean of one expert, and a gate that has one
// source left.
func TestAblateCounts(t *testing.T) {
	calibratable(t)
	questions := alone(t)
	only := func(source string) func(j *judged) []string {
		return func(j *judged) []string { return j.Rankings[source] }
	}

	tables, r := ablated(t, "--foreign", "tales", "--held-out", "tales")
	if r.Questions != talesAsked+healthAsked || r.Yardsticks[0].P != nil {
		t.Errorf("%d questions, %+v", r.Questions, r.Yardsticks[0])
	}
	rrf := rowOf(t, r.Yardsticks, "base and words, RRF")
	agree(t, rrf, questions, func(j *judged) []string { return j.Reciprocal("base", "bm25") }, "tales", "health")
	if rrf.All == rrf.Macro || rrf.All.Top1 == 0 {
		t.Errorf("these domains tell a mean over them from one over questions, and it says %v and %v", rrf.All, rrf.Macro)
	}
	if len(r.Without) != 5 || r.Foreign == nil || len(r.HeldOut) != 1 {
		t.Fatalf("%d rows without a source, foreign %v, held out %v", len(r.Without), r.Foreign, r.HeldOut)
	}
	// Without tales and without words, base is all that there is.
	agree(t, r.Foreign.Mean[0], questions, only("base"), "health")
	if r.Foreign.Questions != healthAsked {
		t.Errorf("to %d questions tales is foreign", r.Foreign.Questions)
	}
	for side, domain := range map[*[2]ablation.Row]string{&r.HeldOut[0].Own: "tales", &r.HeldOut[0].Others: "health"} {
		for _, row := range side {
			if len(row.Domains) != 1 || row.All != row.Domains[domain] {
				t.Errorf("%s, of the questions about %s: %+v", row.Name, domain, row.Domains)
			}
		}
	}
	first := r.Yardsticks[0]
	for _, line := range []string{
		"60 questions; top-1 / top-20",
		fmt.Sprintf("%.1f / %.1f  %.1f / %.1f", 100*rrf.All.Top1, 100*rrf.All.Top20, 100*rrf.Macro.Top1, 100*rrf.Macro.Top20),
		fmt.Sprintf("%+.1f / %+.1f  %.4f / %.4f", 100*(rrf.All.Top1-first.All.Top1), 100*(rrf.All.Top20-first.All.Top20),
			rrf.P.Top1, rrf.P.Top20),
		"without bm25", "without phrases", "without near", "without tales", "base, words and phrases, best fixed weight", "20 questions, with foreign experts (tales)", "tales, own questions", "tales, all others",
	} {
		if !strings.Contains(strings.Join(strings.Fields(tables), " "), strings.Join(strings.Fields(line), " ")) {
			t.Errorf("the tables lack %q:\n%s", line, tables)
		}
	}

	// The joint expert is none of the gate's sources.
	tables, r = ablated(t, "--joint", "tales", "--trials", "without")
	agree(t, rowOf(t, r.Without, "without bm25"), questions, only("base"), "tales", "health")
	if len(r.Without) != 4 || len(r.Yardsticks) != 1 || strings.Contains(tables, "RRF") {
		t.Errorf("one trial was asked for:\n%s", tables)
	}
}

// TestAblateKnowsLateInteraction: it is one of the sources that are left out.
func TestAblateKnowsLateInteraction(t *testing.T) {
	calibratable(t)
	if _, err := tiny.Write(filepath.Join("experts", "tokens"),
		tiny.Expert{Name: "tokens", Seed: 7, Late: 16}); err != nil {
		t.Fatal(err)
	}
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--add-expert", "tokens"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	_, r := ablated(t, "--trials", "without")
	rowOf(t, r.Without, "without tokens")
}

// TestAblateRefuses names what is wrong.
func TestAblateRefuses(t *testing.T) {
	calibratable(t)
	if code, _, complaints := conclave(t, "index", "--collection", "words", "--in", "passages/tales.jsonl", "--experts", "none"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	write(t, "elsewhere.jsonl", `{"id":"1","question":"who","positive_ids":["elsewhere/1"]}`)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--questions", "tales.jsonl", "--trials", "without,luck"}, cli.ExitUsage, `"luck"`},
		{[]string{"--questions", "tales.jsonl", "--joint", "nobody"}, cli.ExitUsage, `"nobody"`},
		{[]string{"--questions", "tales.jsonl", "--base", "nobody"}, cli.ExitUsage, `"nobody"`},
		{[]string{"--questions", "tales.jsonl", "--foreign", "tales,nobody"}, cli.ExitUsage, `"nobody"`},
		{[]string{"--questions", "tales.jsonl", "--held-out", "nobody"}, cli.ExitUsage, `"nobody"`},
		{[]string{"--questions", "health=health.jsonl", "--held-out", "tales", "--trials", "held-out"}, cli.ExitFailed, `"tales"`},
		{[]string{"--questions", "tales=tales.jsonl", "--foreign", "tales", "--trials", "foreign"}, cli.ExitFailed, "tales"},
		{[]string{"--questions", "tales.jsonl", "--limit", "-1"}, cli.ExitUsage, "--limit"},
		{[]string{"--questions", "missing.jsonl"}, cli.ExitFailed, "missing.jsonl"},
		{[]string{"--questions", "elsewhere.jsonl"}, cli.ExitFailed, "none of the relevant passages"},
		{[]string{"--questions", "tales.jsonl", "--collection", "words"}, cli.ExitFailed, "one source"},
		{nil, cli.ExitUsage, "questions"},
	} {
		code, _, complaints := lab(t, append([]string{"ablate", "--collection", "c"}, c.args...)...)
		if code != c.code || !strings.Contains(complaints, c.says) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, code, c.code, c.says, complaints)
		}
	}
}
