package report

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/evaluation"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// simulated is an engine whose experts know their own domains better than
// others, and say so. A question is named "DOMAIN NUMBER".
type simulated struct {
	experts []learned.ExpertInfo
	mu      sync.Mutex
}

func (s *simulated) Search(context.Context, search.Caller, search.Request) (reply.Response, error) {
	return reply.Response{}, nil
}

func (s *simulated) Compare(_ context.Context, requests []search.Request) ([]reply.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	domain, number, _ := strings.Cut(requests[0].Question, " ")
	var seed uint64
	if _, err := fmt.Sscan(number, &seed); err != nil {
		return nil, err
	}
	var out []reply.Response
	for _, r := range requests {
		name := fmt.Sprint(r.Fusion.Names, r.Missing, r.Normalisation, r.Weights)
		if r.Experts != nil {
			name = fmt.Sprint(*r.Experts)
		}
		random := rand.New(rand.NewPCG(seed, uint64(len(name)*131)+uint64(name[1])))
		skill := 0.42 + 0.2*float64(len(name)%5)/5
		if strings.Contains(name, domain) {
			skill += 0.25
		}
		first := r.K + 1 // beyond what is looked at
		if random.Float64() < skill {
			first = 1
		} else if random.Float64() < 0.8 {
			first = 2 + int(random.ExpFloat64()*12)
		}
		response := reply.Response{Fusion: r.Fusion.Names[0]}
		for k := 1; k <= r.K; k++ {
			id := fmt.Sprintf("n%d", k)
			if k == first {
				id = "P"
			}
			response.Results = append(response.Results, reply.Result{Rank: k, ID: id, Score: -float64(k)})
		}
		if r.Fusion.Names[0] == fusion.MethodMUF || r.Fusion.Names[0] == search.MethodAuto {
			sure := min(max(skill+0.3*random.NormFloat64(), 0), 1)
			if first == 1 {
				sure = min(sure+0.15, 1)
			}
			response.Confidence = &sure
		}
		for _, x := range s.experts {
			weight := 1 / float64(len(s.experts))
			sure := 0.45 + 0.1*random.Float64()
			if x.Name == domain {
				sure = 0.75 + 0.1*random.Float64()
				weight = weight * 1.6
			}
			response.Sources = append(response.Sources, reply.Source{Name: x.Name, Weight: &weight, Confidence: &sure})
		}
		weight := 0.05
		response.Sources = append(response.Sources, reply.Source{Name: reply.WordSource, Weight: &weight})
		out = append(out, response)
	}
	return out, nil
}

// simulatedReport evaluates the simulation, so many questions a domain.
func simulatedReport(t testing.TB, each int, domains ...string) *evaluation.Report {
	t.Helper()
	s := &simulated{}
	var asked []questions.Domain
	for d, name := range domains {
		s.experts = append(
			s.experts,
			learned.ExpertInfo{
				Name:            name,
				Dimension:       384,
				Index:           "hnsw",
				Precision:       "fp32",
				Passages:        43378,
				EnsembleMembers: 20,
				Recall: map[string]float64{
					"recall@10": 0.9991,
				},
				Calibration: &learned.CalibrationInfo{Temperature: 0.013, Depth: 100, Questions: name + ", dev"},
			},
		)
		domain := questions.Domain{Name: name, Path: "data/" + name + "/questions.dev.jsonl.gz"}
		for i := range each + 7*d {
			domain.Questions = append(
				domain.Questions,
				questions.Question{
					ID:          fmt.Sprint(i),
					Text:        fmt.Sprintf("%s %d", name, 1000*d+i),
					PositiveIDs: []string{"P"},
				},
			)
		}
		asked = append(asked, domain)
	}
	lineup := evaluation.Lineup(s.experts)
	also, err := evaluation.ParseMethod("words and first: hybrid experts=" + domains[0] + " alpha=0.05")
	if err != nil {
		t.Fatal(err)
	}
	report, err := evaluation.Evaluate(context.Background(), s, asked, evaluation.MeasureOptions{
		About: evaluation.About{
			Collection: "union",
			Generation: 3,
			Passages:   43378,
			Experts:    s.experts,
			Version:    "v0.1",
		},
		Methods: append(append(lineup.Alone(), lineup.Fusions()...), also), Reference: "auto", Timed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}
