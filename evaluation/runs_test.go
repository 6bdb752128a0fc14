package evaluation

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search/reply"
)

// files lists what is in a folder.
func files(t *testing.T, root string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRuns(t *testing.T) {
	root := t.TempDir()
	methods := scriptedMethods()
	domains := scriptedDomains()
	domains[0].Questions[0].Answers = []string{"of n2"}
	o := MeasureOptions{Methods: methods, Depth: 3, Runs: &Runs{Folder: root, Forms: RunForms()}}
	if _, err := Evaluate(context.Background(), scripted(), domains, o); err != nil {
		t.Fatal(err)
	}
	if got := files(t, root); len(got) != 2*2*len(methods) || !slices.Contains(got, "y/bm25-alone.trec") {
		t.Fatalf("runs are %v", got)
	}
	trec, err := os.ReadFile(filepath.Join(root, "x", "x-alone.trec"))
	if err != nil {
		t.Fatal(err)
	}
	// The script's scores are 2, 2, 1: the tie is broken downwards.
	below := strconv.FormatFloat(float64(math.Nextafter32(2, 0)), 'g', -1, 32)
	want := "1 Q0 P 1 2 x-alone\n1 Q0 n1 2 " + below + " x-alone\n1 Q0 n2 3 1 x-alone\n2 Q0 n1 1 2 x-alone\n"
	if !strings.HasPrefix(string(trec), want) {
		t.Errorf("the run begins\n%s\nwant\n%s", trec, want)
	}
	data, err := os.ReadFile(filepath.Join(root, "x", "x-alone.dpr.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dpr []struct {
		Question   string
		Answers    []string
		Confidence *float64
		Ctxs       []struct {
			ID, Title, Text, Score string
			HasAnswer              bool `json:"has_answer"`
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&dpr); err != nil {
		t.Fatal(err)
	}
	if len(dpr) != 3 || dpr[0].Question != "q1" || *dpr[0].Confidence != .9 || len(dpr[0].Ctxs) != 3 ||
		dpr[1].Answers == nil {
		t.Fatalf("DPR's result is\n%s", data)
	}
	if c := dpr[0].Ctxs[2]; c.ID != "n2" || c.Title != "title of n2" || c.Text != "text of n2" || c.Score != "1" ||
		!c.HasAnswer ||
		dpr[0].Ctxs[0].HasAnswer {
		t.Errorf("the third passage is %+v", c)
	}
}

// TestRunsOfAFailure: what is not whole is not there.
func TestRunsOfAFailure(t *testing.T) {
	root := t.TempDir()
	s := scripted()
	s.fail = "q5"
	o := MeasureOptions{Methods: scriptedMethods(), Runs: &Runs{Folder: root, Forms: RunForms(), Of: []string{"rrf"}}}
	if _, err := Evaluate(context.Background(), s, scriptedDomains(), o); err == nil {
		t.Fatal("no error")
	}
	if got := files(t, root); !slices.Equal(got, []string{"x/rrf.dpr.json", "x/rrf.trec"}) {
		t.Errorf("files are %v, want those of x alone", got)
	}
}

// TestRunsKeepTheOrder writes equal, nearly equal and negative scores and puts
// the lines in the order that trec_eval would: by score, then by id backwards.
func TestRunsKeepTheOrder(t *testing.T) {
	for name, scores := range map[string][]float64{
		"ties":     {1, 1, 1, 1},
		"close":    {1, 1 - 1e-9, 1 - 2e-9, .5},
		"negative": {-1, -1, -1, -2},
		"zero":     {0, 0, 0, 0},
		"large":    {1e30, 1e30, 0, -1e30},
		"cascade":  {1, 1, math.Nextafter(1, 0), float64(math.Nextafter32(1, 0))},
	} {
		var results []reply.Result
		for i, s := range scores {
			results = append(results, reply.Result{ID: string(rune('a' + i)), Score: s})
		}
		var out bytes.Buffer
		f := &runFile{out: bufio.NewWriter(&out), name: "run"}
		answered := &AnsweredQuestion{Question: &questions.Question{ID: "q"}}
		if err := f.writeTREC(answered, &MethodRanking{Results: results}); err != nil {
			t.Fatal(err)
		}
		if err := f.out.Flush(); err != nil {
			t.Fatal(err)
		}
		type line struct {
			id    string
			score float32
		}
		var lines []line
		for text := range strings.Lines(out.String()) {
			columns := strings.Fields(text)
			score, err := strconv.ParseFloat(columns[4], 32)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line{columns[2], float32(score)})
		}
		sorted := slices.Clone(lines)
		slices.SortFunc(sorted, func(a, b line) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) })
		if !slices.Equal(sorted, lines) {
			t.Errorf("%s: written %v, read as %v", name, lines, sorted)
		}
	}
	f := &runFile{out: bufio.NewWriter(&bytes.Buffer{})}
	if err := f.writeTREC(&AnsweredQuestion{Question: &questions.Question{ID: "q"}},
		&MethodRanking{Results: []reply.Result{{ID: "a b"}}}); err == nil {
		t.Error("an id with a space in it was written into a TREC run")
	}
}

// TestRunsNameTheJudgedCopy: where a result has copies, the line has the id of the one that was judged best, which is
// what the measures count.
func TestRunsNameTheJudgedCopy(t *testing.T) {
	var out bytes.Buffer
	f := &runFile{out: bufio.NewWriter(&out), name: "run"}
	question := &questions.Question{ID: "q", Grades: map[string]float64{"b": 1, "c": 2, "e": 1}}
	answered := &AnsweredQuestion{Question: question}
	results := []reply.Result{{ID: "a", Copies: []string{"b", "c"}, Score: 3}, {ID: "d", Score: 2}, {ID: "e", Score: 1}}
	if err := f.writeTREC(answered, &MethodRanking{Results: results}); err != nil {
		t.Fatal(err)
	}
	if err := f.out.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "q Q0 c 1 3 run\nq Q0 d 2 2 run\nq Q0 e 3 1 run\n"; got != want {
		t.Errorf("the run is\n%s\nwant\n%s", got, want)
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]string{"muf, lowest": "muf-lowest", "../../etc": "etc", "oracle: best": "oracle-best", "α = 0.05": "0.05", "": ""} {
		if got := fileName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	o := MeasureOptions{Methods: []Method{{Name: "a b"}, {Name: "a-b"}}, Runs: &Runs{Forms: RunForms()}}
	if err := o.checkQuestions([]questions.Domain{{}}); err == nil || !strings.Contains(err.Error(), "two runs") {
		t.Errorf("two methods of one file name: %v", err)
	}
}
