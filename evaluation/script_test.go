package evaluation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"

	"example.org/conclave/search"
)

// script is an engine that answers from a table: for each question, and each
// source or fusion, a ranking as words ("P" is relevant) and a confidence.
type script struct {
	answers map[string]map[string]string // "P n n|0.9": ranking and confidence

	mu       sync.Mutex
	compared map[string]int // by question
	searched []search.Request
	fail     string // question at which it fails
}

// scripted returns a new engine that answers five questions from a table, from which the sums of this package's tests
// were worked out.
func scripted() *script {
	return &script{compared: map[string]int{}, answers: map[string]map[string]string{
		"q1": {"x": "P n1 n2 n3|.9", "y": "n1 n2 n3 n4|.2", "bm25": "n1 P n2 n3", "rrf": "P n1 n2 n3"},
		"q2": {"x": "n1 P n2 n3|.8", "y": "n1 n2 P n3|.2", "bm25": "n1 n2 n3 n4", "rrf": "P n1 n2 n3"},
		"q3": {"x": "H n1 G n2|.9", "y": "n1 G n2 n3|.4", "bm25": "n1 n2 n3 n4", "rrf": "G H n1 n2"},
		"q4": {"x": "n1 n2 n3 n4|.5", "y": "P n1 n2 n3|.9", "bm25": "n1 n2 n3 P", "rrf": "n1 P n2 n3"},
		"q5": {"x": "n1 n2 P n3|.5", "y": "n1 P n2 n3|.9", "bm25": "P n1 n2 n3", "rrf": "n1 n2 n3 n4"},
	}}
}

func scriptedDomains() []questions.Domain {
	one := []string{"P"}
	return []questions.Domain{
		{Name: "x", Path: "x.jsonl", Questions: []questions.Question{
			{ID: "1", Text: "q1", PositiveIDs: one}, {ID: "2", Text: "q2", PositiveIDs: one},
			{ID: "3", Text: "q3", Grades: map[string]float64{"G": 2, "H": 1, "n1": 0}}}},
		{
			Name:      "y",
			Path:      "y.jsonl",
			Questions: []questions.Question{{ID: "1", Text: "q4", PositiveIDs: one}, {ID: "2", Text: "q5", PositiveIDs: one}},
		},
	}
}

func scriptedMethods() []Method {
	calibrated := &learned.CalibrationInfo{Temperature: 1, Depth: 20}
	l := Lineup([]learned.ExpertInfo{
		{Name: "x", EnsembleMembers: 5, Calibration: calibrated}, {Name: "y", EnsembleMembers: 5, Calibration: calibrated}})
	return append(
		l.Alone(),
		Method{Name: "rrf", Kind: KindFusion, Request: search.Request{Fusion: search.Methods{Names: []string{"rrf"}}}},
	)
}

func (s *script) Compare(_ context.Context, requests []search.Request) ([]reply.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	question := requests[0].Question
	if question == s.fail {
		return nil, errors.New("the engine fell over")
	}
	s.compared[question]++
	var out []reply.Response
	for _, r := range requests {
		who := r.Fusion.Names[0]
		if r.Experts != nil && len(*r.Experts) == 1 {
			who = (*r.Experts)[0]
		} else if r.Experts != nil {
			who = reply.WordSource
		}
		answer, ok := s.answers[question][who]
		if without, said := s.answers[question][who+" without"]; said && len(r.Without) > 0 {
			answer = without
		}
		if !ok {
			return nil, fmt.Errorf("the script has nothing of %s for %s", who, question)
		}
		ranking, sure, _ := strings.Cut(answer, "|")
		response := reply.Response{Question: question, Fusion: r.Fusion.Names[0]}
		if sure != "" {
			var confidence float64
			if _, err := fmt.Sscan(sure, &confidence); err != nil {
				return nil, err
			}
			response.Confidence = &confidence
			if who == "rrf" {
				response.Basis = reply.BasisCalibrated
			}
			response.Sources = append(response.Sources, reply.Source{Name: who, Confidence: &confidence})
		}
		if who == "rrf" {
			for i, name := range []string{"x", "y", "bm25"} {
				weight := float64(i)
				response.Sources = append(response.Sources, reply.Source{Name: name, Weight: &weight})
			}
		}
		for i, id := range strings.Fields(ranking)[:min(r.K, 4)] {
			response.Results = append(
				response.Results,
				reply.Result{Rank: i + 1, ID: id, Text: "text of " + id, Title: "title of " + id, Score: 2 - float64(i/2)},
			)
		}
		out = append(out, response)
	}
	return out, nil
}

func (s *script) Search(_ context.Context, _ search.Caller, r search.Request) (reply.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.searched = append(s.searched, r)
	return reply.Response{}, nil
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
