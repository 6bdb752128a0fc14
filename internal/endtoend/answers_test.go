package endtoend

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// TestAnswersInABatch: searches of a batch get the answers that each gets alone, beside
// searches that ask for none and searches that are wrong, which are named by their place.
func TestAnswersInABatch(t *testing.T) {
	var lines strings.Builder
	for i, animal := range []string{"fox", "dog", "horse", "bird", "fish", "cat"} {
		fmt.Fprintf(
			&lines,
			`{"id":"p%d","title":"The %s","text":"A question of science: the %s was in London before the year of the answer."}`+"\n",
			i,
			animal,
			animal,
		)
	}
	fmt.Fprintf(
		&lines,
		`{"id":"long","text":"%s","tags":["long"]}`+"\n",
		strings.Repeat("a question of science and of London ", 500),
	)
	s := newSite(
		t,
		"readers: [marker]\nsearch: {timeout: 60s}\nlimits: {batch: 8, batch_parallel: 3, timeout: 60s}\n",
		[]string{"first"},
		"first",
		lines.String(),
	)
	if _, err := tiny.Write(filepath.Join(s.dir, "experts", "marker"),
		tiny.Expert{Name: "marker", Seed: 5, Reader: true}); err != nil {
		t.Fatal(err)
	}
	p := s.serve("")
	searches := []struct{ body, pointer, code string }{
		{body: `{"question":"where was the fox","k":5,"answer":true}`},
		{body: `{"question":"where was the fox","k":5}`},
		{`{"question":"where was the fox","answer":{"reader":"nobody"}}`, "/answer/reader", "unknown_reader"},
		{body: `{"question":"who was in London","k":4,"answer":{"reader":"marker","passages":2,"combine":"sum"}}`},
		{`{"question":"where was the fox","answer":{"passages":51}}`, "/answer/passages", "out_of_range"},
		{body: `{"question":"ποια ήταν η αλεπού","k":5,"answer":true}`},
		{body: `{"question":"who was in London","k":5,"answer":{"min_chance":0.5}}`},
	}
	var bodies []string
	for _, search := range searches {
		bodies = append(bodies, search.body)
	}
	var batch struct{ Answers []json.RawMessage }
	p.get(http.MethodPost, "/v1/search/batch", `{"searches":[`+strings.Join(bodies, ",")+`]}`, http.StatusOK, &batch)
	if len(batch.Answers) != len(searches) {
		t.Fatalf("%d answers to %d searches", len(batch.Answers), len(searches))
	}
	marked := make([]int, len(searches))
	for i, c := range searches {
		if c.code != "" {
			if got := string(batch.Answers[i]); !strings.Contains(got, fmt.Sprintf(`"/searches/%d%s"`, i, c.pointer)) ||
				!strings.Contains(got, c.code) {
				t.Errorf("search %d: %s", i, got)
			}
			continue
		}
		var alone, got reply.Response
		p.get(http.MethodPost, "/v1/search", c.body, http.StatusOK, &alone)
		if err := json.Unmarshal(batch.Answers[i], &got); err != nil || len(got.Degraded) > 0 || len(alone.Degraded) > 0 {
			t.Fatalf("search %d: %v %s, alone degraded %+v", i, err, batch.Answers[i], alone.Degraded)
		}
		marked[i] = len(got.Answers)
		if asks := strings.Contains(c.body, `"answer"`); asks != strings.Contains(string(batch.Answers[i]), `"answers":`) {
			t.Errorf("search %d asks for answers: %v, and gets %s", i, asks, batch.Answers[i])
		}
		same := func(a, b reply.Extract) bool {
			return a.Text == b.Text && a.Passage == b.Passage && a.Start == b.Start && a.End == b.End &&
				math.Abs(a.Score-b.Score) < 1e-6
		}
		if !slices.EqualFunc(got.Answers, alone.Answers, same) {
			t.Errorf("search %d: %+v, and alone %+v", i, got.Answers, alone.Answers)
		}
		for _, a := range got.Answers {
			at := slices.IndexFunc(got.Results, func(r reply.Result) bool { return r.ID == a.Passage })
			if at < 0 || got.Results[at].Text[a.Start:a.End] != a.Text {
				t.Errorf("search %d: %+v is not in %+v", i, a, got.Results)
			}
		}
	}
	// The reader has no calibration, so no answer is as sure as the last search wants one;
	// it does not know the letters of the search before that.
	if marked[0] == 0 || marked[1] != 0 || marked[3] == 0 || marked[5] != 0 || marked[6] != 0 {
		t.Errorf("answers by search: %v", marked)
	}

	var long reply.Response
	p.get(
		http.MethodPost,
		"/v1/search",
		`{"question":"who was in London","filter":{"tags_all":["long"]},"answer":true}`,
		http.StatusOK,
		&long,
	)
	if !strings.Contains(strings.Join(long.Notes, ""), "marker read only the beginning of 1 of 1 passages") {
		t.Errorf("of a long passage it says %q", long.Notes)
	}

	tooMany := `{"searches":[` + strings.TrimSuffix(strings.Repeat(bodies[0]+",", 9), ",") + `]}`
	status, told, err := p.send(http.MethodPost, "/v1/search/batch", tooMany)
	if err != nil || status != http.StatusRequestEntityTooLarge || !strings.Contains(string(told), "at most 8") {
		t.Errorf("nine searches: %d %s %v", status, told, err)
	}
	p.get(http.MethodPost, "/v1/search/batch", strings.Replace(tooMany, bodies[0]+",", "", 1), http.StatusOK, &batch)
	if len(batch.Answers) != 8 {
		t.Fatalf("%d answers to eight searches", len(batch.Answers))
	}
	for i, answer := range batch.Answers {
		var got reply.Response
		if err := json.Unmarshal(answer, &got); err != nil || len(got.Answers) != marked[0] {
			t.Errorf("search %d of eight equal ones: %v %s", i, err, answer)
		}
	}
	p.stop()
}
