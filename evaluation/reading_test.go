package evaluation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// marked is an engine with a reader that marks the whole text of a passage, by a table.
type marked struct {
	auto, bm25 map[string]string // by question: ids
	passages   map[string]markedPassage
	ranking    float64
	read       [][]string
	fail       error
}

// markedPassage has the exponential of a passage's selection, and the probability of its
// words in it.
type markedPassage struct {
	selection, words float64
	text             string
}

func (m *marked) Compare(_ context.Context, requests []search.Request) ([]reply.Response, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	sure := .75
	responses := make([]reply.Response, len(requests))
	for i, r := range requests {
		ranking := m.auto[r.Question]
		if r.Experts != nil {
			if len(*r.Experts) > 0 || r.Late == nil || *r.Late || i != 1 {
				return nil, fmt.Errorf("request %d is not of words alone: %+v", i, r)
			}
			ranking = m.bm25[r.Question]
		}
		if r.K != 5 || r.TimeoutMS != 2000 {
			return nil, fmt.Errorf("request %d: %+v", i, r)
		}
		responses[i].Confidence = &sure
		for _, id := range strings.Fields(ranking) {
			responses[i].Results = append(
				responses[i].Results, reply.Result{ID: id, Score: -float64(len(responses[i].Results))},
			)
		}
	}
	return responses, nil
}

func (m *marked) Readings(_ context.Context, reader, _ string, ids []string) (read extract.Read, err error) {
	m.read = append(m.read, ids)
	for _, id := range ids {
		p, ok := m.passages[id]
		if !ok || reader != "marker" {
			return read, fmt.Errorf("reader %s, passage %s", reader, id)
		}
		read.Passages = append(read.Passages, corpus.Passage{ID: id, Text: p.text})
		read.Readings = append(
			read.Readings,
			learned.ReadResult{
				Select: math.Log(p.selection),
				Spans:  []learned.Span{{Start: 0, End: len(p.text), Score: math.Log(p.words)}},
			},
		)
	}
	read.Ranking = m.ranking
	return read, nil
}

// Readers begin with a generator, which marks nothing.
func (m *marked) Readers() []learned.ReaderInfo {
	return []learned.ReaderInfo{{Name: "writer", Generates: true}, {Name: "marker"}}
}

// Ordinal finds every passage but one.
func (m *marked) Ordinal(id string) (rank.Ordinal, bool, error) { return 0, id != "gone", nil }

// TestAnswersOfAReaderByHand: of q1's passages, whose selections are parts of 15, the
// best words by the reader alone are e's (2.4/15, F1 4/5). With a rank's score, 2/3 for
// each rank lower, c's are (.4·4·2/3 against .5·2 of d, F1 2/3), and cat also has the
// highest sum. BM25's are f's (1/2), of the two that answer c's are the best (1.6/5
// against 0.9/5, 2/3), and b's are right. Of q2's, i's are the best (0.8/4, 2/3) by the
// reader alone, and h's, the one that answers, with ranks (.5 against .4·2·4/9); BM25
// finds nothing. Nothing answers q3. Auto finds nothing for q4, and what answers q5.
func TestAnswersOfAReaderByHand(t *testing.T) {
	engine := &marked{
		ranking: math.Log(1.5),
		auto:    map[string]string{"q1": "d c b a e", "q2": "h m i", "q3": "h", "q5": "l"},
		bm25:    map[string]string{"q1": "f", "q4": "k"},
		passages: map[string]markedPassage{
			"a": {
				5,
				.2,
				"blue dog",
			}, "b": {1, .9, "red cat"}, "c": {4, .4, "cat"}, "d": {2, .5, "The cat"}, "e": {3, .8, "red cat sat"},
			"f": {
				1,
				.6,
				"red dog",
			}, "h": {1, .5, "ten"}, "i": {2, .4, "10 years"}, "k": {1, .5, "Moon!"}, "l": {1, .5, "the moon"}, "m": {1, .1, "eleven"},
		},
	}
	domains := []questions.Domain{
		{Name: "x", Questions: []questions.Question{
			{ID: "1", Domain: "x", Text: "q1", Answers: []string{"red cat"}, PositiveIDs: []string{"b", "c", "gone"}},
			{ID: "2", Domain: "x", Text: "q2", Answers: []string{"ten", "10"}, Grades: map[string]float64{"h": 2, "i": 0}}}},
		{Name: "none", Questions: []questions.Question{{ID: "1", Domain: "none", Text: "q3"}}},
		{Name: "z", Questions: []questions.Question{
			{ID: "1", Domain: "z", Text: "q4", Answers: []string{"moon"}, PositiveIDs: []string{"l"}},
			{ID: "2", Domain: "z", Text: "q5", Answers: []string{"moon"}, PositiveIDs: []string{"l"}}}},
	}
	var told []string
	o := AnswerOptions{Passages: 5, Timeout: 2 * time.Second,
		Progress: func(done, total int) { told = append(told, fmt.Sprint(done, "/", total)) }}
	r, err := Answers(t.Context(), engine, engine, domains, o)
	if err != nil {
		t.Fatal(err)
	}
	type sums struct{ em, f1 []float64 } // in the order of AnswerWays
	want := map[string]sums{
		"x": {
			[]float64{.5, .5, 0, 0, .5, 1},
			[]float64{(2./3 + 1) / 2, (2./3 + 1) / 2, (4./5 + 2./3) / 2, 1. / 4, (2./3 + 1) / 2, 1},
		},
		"z": {[]float64{.5, .5, .5, .5, 1, .5}, []float64{.5, .5, .5, .5, 1, .5}},
	}
	mean := sums{make([]float64, 6), make([]float64, 6)}
	for _, domain := range want {
		for w := range mean.em {
			mean.em[w], mean.f1[w] = mean.em[w]+domain.em[w]/2, mean.f1[w]+domain.f1[w]/2
		}
	}
	want["mean"] = mean
	if len(r.Rows) != 3*len(AnswerWays()) {
		t.Fatalf("%d rows: %+v", len(r.Rows), r.Rows)
	}
	for i, row := range r.Rows {
		way := i % len(AnswerWays())
		if row.Way != AnswerWays()[way] || row.Questions != map[string]int{"x": 2, "z": 2, "mean": 4}[row.Domain] {
			t.Errorf("row %d: %+v", i, row)
		}
		near(t, row.Domain+", exact match of "+row.Way, row.EM, 100*want[row.Domain].em[way])
		near(t, row.Domain+", F1 of "+row.Way, row.F1, 100*want[row.Domain].f1[way])
	}
	// Of q1, q2 and q5: d, h and l are first; a, i and l are selected; by both c, h and l are.
	for name, share := range map[string]float64{"auto": 2. / 3, "select": 1. / 3, "both": 1} {
		near(t, "the first passage by "+name, r.Top1[name], 100*share)
	}
	if last := []string{"b", "c", "d", "e", "f"}; len(engine.read) != 5 ||
		!slices.Equal(engine.read[0], append([]string{"a"}, last...)) {
		t.Errorf("read %v", engine.read)
	}
	if !slices.Equal(told, []string{"1/5", "2/5", "3/5", "4/5", "5/5"}) {
		t.Errorf("progress %v", told)
	}

	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"50.0 / 83.3", "100.0 / 100.0", "auto 66.7 %", "selection 33.3 %", "both 100.0 %"} {
		if !strings.Contains(text.String(), line) {
			t.Errorf("%q is not in\n%s", line, text.String())
		}
	}

	// A reader without a part in the order: the words are those by the reader alone, and nothing is said of both.
	engine.ranking = 0
	r, err = Answers(t.Context(), engine, engine, domains, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, told := r.Top1["both"]; told || len(r.Top1) != 2 {
		t.Errorf("first passages of a reader without a part in the order: %v", r.Top1)
	}
	for name, share := range map[string]float64{"auto": 2. / 3, "select": 1. / 3} {
		near(t, "no part, the first passage by "+name, r.Top1[name], 100*share)
	}
	near(t, "no part, exact match of auto in x", r.Rows[0].EM, 0)
	near(t, "no part, F1 of auto in x", r.Rows[0].F1, 100*(4./5+2./3)/2)
	text.Reset()
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "no part in the order") ||
		strings.Contains(text.String(), "by both") {
		t.Errorf("%v\n%s", err, text.String())
	}

	engine.fail = errors.New("the engine fell over")
	if _, err := Answers(t.Context(), engine, engine, domains, o); !errors.Is(err, engine.fail) ||
		!strings.Contains(err.Error(), "question 1 of x") {
		t.Errorf("the engine fails: %v", err)
	}
}
