package questions

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestGradesOfNegatives: a passage with a grade of 0 or less was judged and is not relevant, in
// every format and in each other's judgements; a question with such passages alone is left out
// and counted.
func TestGradesOfNegatives(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	beir := "{\"_id\":\"1\",\"text\":\"one\"}\n{\"_id\":\"2\",\"text\":\"two\"}\n{\"_id\":\"3\",\"text\":\"three\"}\n"
	scores := "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n1\tc\t-1\n2\ta\t0\n3\td\t1.0\n"
	at("beir/queries.jsonl", beir)
	at("beir/qrels/test.tsv", scores)
	topics, qrels := at(
		"topics.tsv", "1\tone\n2\ttwo\n3\tthree\n",
	), at(
		"qrels.txt",
		"1 0 a 2\n1 0 b 0\n1 Q0 c -1\n2 0 a 0\n3\t0\td\t1.0\n",
	)
	lines := at("q.jsonl", `{"id":"1","question":"one","grades":{"a":2,"b":0,"c":-1}}
{"id":"2","question":"two","grades":{"a":0}}
{"id":"3","question":"three","positive_ids":["d"]}
`)
	both := at("both.jsonl", `{"id":"1","question":"one","positive_ids":["a","b","c"],"grades":{"a":2,"b":0,"c":-1}}
{"id":"2","question":"two","positive_ids":["a"],"grades":{"a":0}}
{"id":"3","question":"three","positive_ids":["d"],"grades":{"e":0}}
`)
	for name, source := range map[string]QuestionFile{
		"BEIR":                  {Path: filepath.Join(dir, "beir")},
		"BEIR, TREC's qrels":    {Path: filepath.Join(dir, "beir", "queries.jsonl"), Judgements: qrels},
		"TREC":                  {Path: topics, Judgements: qrels},
		"TREC, BEIR's scores":   {Path: topics, Judgements: filepath.Join(dir, "beir", "qrels", "test.tsv")},
		"JSON Lines":            {Path: lines},
		"JSON Lines, with both": {Path: both},
	} {
		set, err := Read(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if set.LeftOut != 1 || len(set.Questions) != 2 || set.Questions[0].ID != "1" || set.Questions[1].ID != "3" {
			t.Errorf("%s: %d left out, %+v", name, set.LeftOut, set.Questions)
			continue
		}
		first, third := set.Questions[0], set.Questions[1]
		if !maps.Equal(first.Judgements(), Judgements{"a": 2, "b": 0, "c": -1}) || first.Judgements().Relevant() != 1 ||
			third.Judgements()["d"] != 1 ||
			third.Judgements().Relevant() != 1 {
			t.Errorf("%s: %v and %v", name, first.Judgements(), third.Judgements())
		}
		if name != "JSON Lines" && !slices.Equal(first.PositiveIDs, []string{"a"}) {
			t.Errorf("%s: positive are %q", name, first.PositiveIDs)
		}
	}
	// Judged negatives beside "nothing answers" are one statement.
	set, err := Read(QuestionFile{Path: at("none.jsonl", `{"id":"1","question":"one","positive_ids":[],"grades":{"a":0}}`+"\n")})
	if err != nil || len(set.Questions) != 1 || !set.Questions[0].Unanswerable {
		t.Errorf("%+v, %v", set, err)
	}
}
