package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
)

// TestCost counts by hand: a place for each hundred results.
func TestCost(t *testing.T) {
	d := search.Defaults{K: 10}
	three := search.Methods{Names: []string{"rrf", "sum", "muf"}, Listed: true}
	for _, c := range []struct {
		requests []search.Request
		atOnce   int
		want     int
	}{
		{[]search.Request{{}}, 1, 1},
		{[]search.Request{{K: 100}}, 1, 1},
		{[]search.Request{{K: 101}}, 1, 2},
		{[]search.Request{{K: 1000, Fusion: three}}, 1, 30},
		{[]search.Request{{}, {K: 1000}, {K: 500}, {}}, 2, 15},
		{[]search.Request{{}, {}, {}}, 8, 3},
	} {
		if got := costOf(c.requests, c.atOnce, d); got != c.want {
			t.Errorf("%+v: %d, want %d", c, got, c.want)
		}
	}
}

// TestAdmission: a search that asks for much needs more places than one that
// asks for little, and gives all of them back.
func TestAdmission(t *testing.T) {
	entered, release := make(chan struct{}, 64), make(chan struct{})
	s := start(t, Options{Admission: admit(t, 5), Engine: testEngine(t, engineOptions{before: gate(entered, release)})})
	first := make(chan int, 1)
	go func() { first <- s.post("/v1/search", `{"question":"bees","k":200,"experts":["wiki"]}`).StatusCode }()
	<-entered
	large := `{"question":"bees","k":400,"experts":["wiki"]}`
	for _, body := range []string{large, `{"searches":[` + strings.TrimSuffix(strings.Repeat(large+",", 3), ",") + `]}`} {
		path := "/v1/search"
		if strings.HasPrefix(body, `{"searches"`) {
			path += "/batch"
		}
		if r := s.post(path, body); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "1" {
			t.Errorf("%s beside another: %d %s", path, r.StatusCode, r.body)
		}
	}
	close(release)
	if status := <-first; status != http.StatusOK {
		t.Error(status)
	}
	for range 3 { // what costs more than there is takes everything
		if r := s.post("/v1/search", `{"question":"bees","k":1000}`); r.StatusCode != http.StatusOK {
			t.Errorf("alone: %d", r.StatusCode)
		}
	}
}

// TestAnswerTooLarge: one answer, and the answers of a batch together.
func TestAnswerTooLarge(t *testing.T) {
	s := start(t, Options{Engine: testEngine(t, engineOptions{limits: search.Limits{AnswerBytes: 20 << 10}})})
	// The text called long has 7 kB.
	if p := s.post("/v1/search", `{"question":"long passage worth compressing","k":44,"fields":["text","contributions"]}`).problem(t); p.Code != "answer_too_large" ||
		p.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%+v", p)
	}
	one := `{"question":"long passage worth compressing","k":1}`
	r := s.post(
		"/v1/search/batch",
		`{"searches":[`+one+`,`+one+`,`+one+`,{"question":""},{"question":"bees","k":1,"fields":[]}]}`,
	)
	var out struct{ Answers []schema.Problem }
	if err := json.Unmarshal(r.body, &out); err != nil || len(out.Answers) != 5 {
		t.Fatalf("%v %s", err, r.body)
	}
	var codes []string
	for _, p := range out.Answers {
		codes = append(codes, p.Code)
	}
	if got := fmt.Sprint(codes); got != "[  answer_too_large empty_question ]" {
		t.Error(got)
	}
}
