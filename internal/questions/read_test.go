package questions

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/golden"

	"github.com/klauspost/compress/gzip"
)

// folder writes files and returns where they are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		data := []byte(content)
		if strings.HasSuffix(name, ".gz") {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			if _, err := w.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			data = packed.Bytes()
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestFormatsAreTold reads the same two questions in every format, the format
// told from the content.
func TestFormatsAreTold(t *testing.T) {
	root := folder(t, map[string]string{
		"q.jsonl": "\ufeff" + `{"id":"1","question":"who?","answers":["Ann"],"positive_ids":["a","b"],"grades":{"a":2,"b":1,"c":0}}` + "\r\n\n" +
			`{"id":"2","question":"what?","positive_ids":["c"],"domain":"own","free_answers":["x"]}`,
		"q.dpr.gz":               "who?\t['Ann', \"O'Neil\"]\n\"what \"\"is\"\" it?\"\t\"['a \"\"b\"\"']\"\n",
		"topics.txt":             "1\twho?\n2\twhat?\n3\twhere?\n4\twhen?\n",
		"qrels.txt":              "1 0 a 2\n1 0 b 1\n1 0 c 0\n2 Q0 c 1\n3 0 a 0\n",
		"beir/queries.jsonl.gz":  `{"_id":"1","text":"who?","metadata":{}}` + "\n" + `{"_id":"2","text":"what?"}` + "\n" + `{"_id":"9","text":"of train?"}`,
		"beir/qrels/test.tsv":    "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t1\n1\tc\t0\n2\tc\t1\n",
		"two/queries.jsonl":      `{"_id":"1","text":"who?"}`,
		"two/qrels/test.tsv":     "1\ta\t1\n",
		"two/qrels/train.tsv.gz": "query-id\tcorpus-id\tscore\n1\tz\t1\n",
		"numbers.jsonl":          `{"id":7,"question":"who?","positive_ids":[1546130668394913822,"b"]}` + "\n\ufeff" + `{"question":"what?","positive_ids":[-3]}`,
		"utf-16.jsonl": "\xff\xfe" + strings.Join(
			strings.Split(`{"id":"1","question":"who?","positive_ids":["c"]}`, ""),
			"\x00",
		) + "\x00",
		"answers-in-the-singular.js": `{"question":"who?","answer":["Ann"]}`,
	})
	at := func(name string) string { return filepath.Join(root, name) }
	graded := map[string]float64{"a": 2, "b": 1, "c": 0}
	for name, c := range map[string]struct {
		source  QuestionFile
		format  Format
		leftOut int
		want    []Question
	}{
		"jsonl": {QuestionFile{Path: at("q.jsonl")}, FormatJSONL, 0, []Question{
			{ID: "1", Text: "who?", Answers: []string{"Ann"}, PositiveIDs: []string{"a", "b"}, Grades: graded},
			{ID: "2", Text: "what?", PositiveIDs: []string{"c"}, Domain: "own"},
		}},
		"jsonl of a domain": {
			QuestionFile{Path: at("answers-in-the-singular.js"), Domain: "mine"}, FormatJSONL, 0, []Question{
				{ID: "1", Text: "who?", Answers: []string{"Ann"}, Domain: "mine"},
			},
		},
		"ids that are numbers": {QuestionFile{Path: at("numbers.jsonl")}, FormatJSONL, 0, []Question{
			{ID: "7", Text: "who?", PositiveIDs: []string{"1546130668394913822", "b"}},
			{ID: "2", Text: "what?", PositiveIDs: []string{"-3"}},
		}},
		"UTF-16": {QuestionFile{Path: at("utf-16.jsonl")}, FormatJSONL, 0, []Question{
			{ID: "1", Text: "who?", PositiveIDs: []string{"c"}},
		}},
		"dpr": {QuestionFile{Path: at("q.dpr.gz")}, FormatDPR, 0, []Question{
			{ID: "1", Text: "who?", Answers: []string{"Ann", "O'Neil"}},
			{ID: "2", Text: `what "is" it?`, Answers: []string{`a "b"`}},
		}},
		"trec": {QuestionFile{Path: at("topics.txt"), Judgements: at("qrels.txt")}, FormatTREC, 1, []Question{
			{ID: "1", Text: "who?", PositiveIDs: []string{"a", "b"}, Grades: graded},
			{ID: "2", Text: "what?", PositiveIDs: []string{"c"}, Grades: map[string]float64{"c": 1}},
		}},
		"beir": {QuestionFile{Path: at("beir")}, FormatBEIR, 0, []Question{
			{ID: "1", Text: "who?", PositiveIDs: []string{"a", "b"}, Grades: graded},
			{ID: "2", Text: "what?", PositiveIDs: []string{"c"}, Grades: map[string]float64{"c": 1}},
		}},
		"beir's split": {QuestionFile{Path: at("two"), Split: "train"}, FormatBEIR, 0, []Question{
			{ID: "1", Text: "who?", PositiveIDs: []string{"z"}, Grades: map[string]float64{"z": 1}},
		}},
		"beir's queries": {QuestionFile{Path: at("two/queries.jsonl"), Judgements: at("two/qrels/test.tsv")}, FormatBEIR, 0,
			[]Question{
				{ID: "1", Text: "who?", PositiveIDs: []string{"a"}, Grades: map[string]float64{"a": 1}},
			}},
	} {
		set, err := Read(c.source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i := range set.Questions {
			q := &set.Questions[i]
			if !strings.Contains(q.Place, root) || !strings.Contains(q.Place, " line ") {
				t.Errorf("%s: question %s is said to be at %q", name, q.ID, q.Place)
			}
			q.Place = ""
			if len(q.Answers) == 0 {
				q.Answers = nil
			}
		}
		if set.Format != c.format || set.LeftOut != c.leftOut || !reflect.DeepEqual(set.Questions, c.want) {
			t.Errorf(
				"%s: as %s, %d left out:\n%+v\nwant as %s, %d left out:\n%+v",
				name,
				set.Format,
				set.LeftOut,
				set.Questions,
				c.format,
				c.leftOut,
				c.want,
			)
		}
	}
}

// TestErrorsNameThePlace: file, line and field, and what is to be done.
func TestErrorsNameThePlace(t *testing.T) {
	const good = `{"id":"1","question":"who?","positive_ids":["a"]}` + "\n"
	files := map[string]struct {
		content    string
		judgements string
		says       []string
	}{
		"syntax.jsonl": {good + `{"id":"2",`, "", []string{"line 2", "not one JSON object"}},
		"type.jsonl": {
			good + `{"id":"2","question":"what?","answers":"Ann"}`,
			"",
			[]string{"line 2", `field "answers"`, "a list of texts"},
		},
		"kind.jsonl": {
			`{"id":7.5,"question":"what?"}`,
			"",
			[]string{"line 1", `field "id"`, "a text or a whole number"},
		},
		"positive.jsonl": {
			`{"question":"what?","positive_ids":[1e3]}`,
			"",
			[]string{"line 1", `field "positive_ids"`, "a text or a whole number"},
		},
		"grades.jsonl": {
			good + "\n" + `{"question":"what?","grades":{"a":"x"}}`,
			"",
			[]string{"line 3", `field "grades"`, "number"},
		},
		"text.jsonl":    {`{"id":"2","question":"  ","positive_ids":["a"]}`, "", []string{"line 1", `field "question"`}},
		"nothing.jsonl": {`{"id":"2","question":"what?"}`, "", []string{"line 1", "nothing can be measured"}},
		"twice.jsonl":   {good + good, "", []string{"line 2", `field "id"`, "line 1"}},
		"space.jsonl":   {`{"id":"a b","question":"what?","positive_ids":["a"]}`, "", []string{"white space"}},
		"latin.jsonl": {
			good + "{\"question\":\"\xe9\"}",
			"",
			[]string{"line 2", "UTF-8", "iconv -f WINDOWS-1252 -t UTF-8 /"},
		},
		"list.dpr": {
			"who?\t['a']\nwhat?\t['a', 3]\n",
			"",
			[]string{"line 2", `field "answers"`, "a list of texts", `3]`},
		},
		"empty-list.dpr":   {"who?\t[]\n", "", []string{"line 1", `field "answers"`, "empty"}},
		"columns.dpr":      {"who?\t['a']\nwhat?\t['a']\tx\n", "", []string{"line 2", "3 columns"}},
		"no-text.dpr":      {"\t['a']\n", "", []string{"none of jsonl"}},
		"topics":           {"1\twho?\n", "", []string{"judgements"}},
		"columns.trec":     {"1\twho?\n", "1 0 a\n", []string{"judgements line 1", "3 columns"}},
		"grade.trec":       {"1\twho?\n", "1 0 a 1\n1 0 b high\n", []string{"judgements line 2", `field "grade"`, `"high"`}},
		"unknown.trec":     {"1\twho?\n", "2 0 a 1\n", []string{"judgements line 1", `"2"`}},
		"twice.trec":       {"1\twho?\n", "1 0 a 1\n1 0 a 2\n", []string{"judgements line 2", `"a"`}},
		"topic-twice.trec": {"1\twho?\n1\twhat?\n", "1 0 a 1\n", []string{"line 2", "line 1 already"}},
		"irrelevant.trec":  {"1\twho?\n", "1 0 a 0\n", []string{"none of its 1 questions"}},
		"no-tab.trec":      {"1\twho?\n2 what?\n", "1 0 a 1\n", []string{"line 2", "no TAB"}},
		"prose.txt":        {"Once upon a time\n", "", []string{"none of jsonl", "Once upon"}},
		"empty":            {"\n\n", "", []string{"no questions"}},
	}
	content := map[string]string{}
	for name, c := range files {
		content[name] = c.content
		content[name+".judgements"] = c.judgements
	}
	content["beir/queries.jsonl"] = `{"_id":"1","text":"who?"}`
	content["beir/qrels/a.tsv"], content["beir/qrels/b.tsv"] = "1\ta\t1\n", "1\ta\t1\n"
	content["bare/queries.jsonl"] = ""
	root := folder(t, content)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		source := QuestionFile{Path: filepath.Join(root, name)}
		if files[name].judgements != "" {
			source.Judgements = source.Path + ".judgements"
		}
		_, err := Read(source)
		for _, says := range append(files[name].says, name) {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want an error with %q", name, err, says)
			}
		}
	}
	twice := filepath.Join(root, "twice.jsonl")
	for name, c := range map[string]struct {
		source QuestionFile
		says   string
	}{
		"two splits":     {QuestionFile{Path: filepath.Join(root, "beir")}, "the splits a, b"},
		"unknown split":  {QuestionFile{Path: filepath.Join(root, "beir"), Split: "c"}, "c.tsv"},
		"no judgements":  {QuestionFile{Path: filepath.Join(root, "bare")}, "qrels"},
		"not there":      {QuestionFile{Path: filepath.Join(root, "nobody")}, "nobody"},
		"unknown format": {QuestionFile{Path: root, Format: "docx"}, `"docx"`},
		"too much":       {QuestionFile{Path: twice, Format: FormatJSONL, Judgements: "x"}, "leave x out"},
		"split of jsonl": {QuestionFile{Path: twice, Split: "test"}, "no splits"},
	} {
		if _, err := Read(c.source); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

// TestSample: a smaller sample is part of a larger one, in the order of the
// file, whatever that is.
func TestSample(t *testing.T) {
	var all []Question
	for _, id := range strings.Fields("a b c d e f g h i j k l") {
		all = append(all, Question{ID: id})
	}
	ids := func(questions []Question) (out []string) {
		for _, q := range questions {
			out = append(out, q.ID)
		}
		return out
	}
	five, eight := ids(Sample(all, 5)), ids(Sample(all, 8))
	if len(five) != 5 || len(eight) != 8 || !slices.IsSorted(five) || !slices.IsSorted(eight) {
		t.Fatalf("samples of 5 and 8 are %v and %v", five, eight)
	}
	for _, id := range five {
		if !slices.Contains(eight, id) {
			t.Errorf("%s is among five, but not among eight", id)
		}
	}
	slices.Reverse(all)
	if again := ids(Sample(all, 5)); !slices.Equal(slices.Sorted(slices.Values(again)), five) {
		t.Errorf("the sample depends on the order: %v, %v", again, five)
	}
	if len(Sample(all, 0)) != 12 || len(Sample(all, 12)) != 12 {
		t.Error("without a limit all questions are meant")
	}
}

// TestReadsTheDomains reads real files and compares with the published counts.
func TestReadsTheDomains(t *testing.T) {
	for name, want := range map[string]int{"wiki/questions.dev": 629, "fairytale/questions.dev": 1023, "medquad/questions.dev": 1202,
		"nfcorpus/questions.test": 323, "scifact/questions.test": 300, "cranfield/questions.test": 225,
		"cacm/questions.test": 52} {
		set, err := Read(QuestionFile{Path: golden.Path(t, "data/"+name+".jsonl.gz")})
		if err != nil {
			t.Error(err)
		} else if len(set.Questions) != want {
			t.Errorf("%s has %d questions, its README says %d", name, len(set.Questions), want)
		}
	}
}

// TestReadsWhatPythonWrote reads a file that Python's csv and repr wrote
// (testdata/qas.py).
func TestReadsWhatPythonWrote(t *testing.T) {
	data, err := os.ReadFile("testdata/qas.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Question string
		Answers  []string
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	set, err := Read(QuestionFile{Path: "testdata/qas.csv"})
	if err != nil {
		t.Fatal(err)
	}
	if set.Format != FormatDPR || len(set.Questions) != len(want) {
		t.Fatalf("%d questions as %s, want %d", len(set.Questions), set.Format, len(want))
	}
	for i, q := range set.Questions {
		if q.Text != want[i].Question || !slices.Equal(q.Answers, want[i].Answers) {
			t.Errorf("%s: %q with %q, want %q with %q", q.Place, q.Text, q.Answers, want[i].Question, want[i].Answers)
		}
	}
}

// TestReadUnanswerable: an empty list says that nothing answers; no list is a
// mistake.
func TestReadUnanswerable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.jsonl")
	read := func(text string) ([]Question, error) {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		q, _, err := readJSONL(path)
		return q, err
	}
	q, err := read(
		`{"id":"1","question":"what is not here","positive_ids":[]}` + "\n" + `{"id":"2","question":"what is","positive_ids":["p"]}`,
	)
	if err != nil || !q[0].Unanswerable || q[1].Unanswerable {
		t.Errorf("%+v, %v", q, err)
	}
	for _, line := range []string{`{"id":"1","question":"what"}`, `{"id":"1","question":"what","positive_ids":null}`} {
		if _, err := read(line); err == nil || !strings.Contains(err.Error(), `"positive_ids": []`) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if q, err := read(`{"id":"1","question":"what","positive_ids":[],"answers":["a"]}`); err != nil || q[0].Unanswerable {
		t.Errorf("with an answer: %+v, %v", q, err)
	}
}
