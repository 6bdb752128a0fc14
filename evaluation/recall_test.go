package evaluation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// missing is an engine whose exact searches find 0 to 99, and whose graphs miss what left says.
type missing struct {
	Engine
	left    map[string]map[int]bool // by expert
	refuses bool
}

func (m missing) Search(_ context.Context, _ search.Caller, r search.Request) (out reply.Response, err error) {
	if r.Exact && m.refuses {
		return out, &fault.Error{Kind: fault.Invalid, Code: "out_of_range", Detail: "too many passages"}
	}
	if len(*r.Experts) != 1 || *r.BM25 || r.TimeoutMS != 2000 {
		return out, fmt.Errorf("asked %+v", r)
	}
	for i := 0; len(out.Results) < min(r.K, r.Candidates); i++ {
		if r.Exact || !m.left[(*r.Experts)[0]][i] {
			out.Results = append(out.Results, reply.Result{ID: fmt.Sprint(i)})
		}
	}
	return out, nil
}

// TestRecallIsMeasured: where nobody measured it, as of a store; of a passage that a graph
// misses another one takes the place.
func TestRecallIsMeasured(t *testing.T) {
	experts := []learned.ExpertInfo{{Name: "a"}, {Name: "known", Recall: map[string]float64{"recall@10": .5}}, {Name: "b"}}
	engine := missing{left: map[string]map[int]bool{"a": {}, "b": {3: true, 70: true, 71: true}}}
	note, err := measureRecall(t.Context(), engine, experts, scriptedDomains(), 2*time.Second)
	if err != nil || !strings.HasSuffix(note, "find: a 1.0000 and 1.0000, b 0.9000 and 0.9700 (5 questions)") {
		t.Errorf("%q, %v", note, err)
	}
	for i, want := range []string{"map[recall@10:1 recall@100:1]", "map[recall@10:0.5]", "map[recall@10:0.9 recall@100:0.97]"} {
		if got := fmt.Sprint(experts[i].Recall); got != want {
			t.Errorf("%s: %s, want %s", experts[i].Name, got, want)
		}
	}
	engine.refuses, experts[0].Recall = true, nil
	note, err = measureRecall(t.Context(), engine, experts, scriptedDomains(), 2*time.Second)
	if err != nil || !strings.HasSuffix(note, "is not measured: too many passages") || experts[0].Recall != nil {
		t.Errorf("%q, %v, %v", note, err, experts[0].Recall)
	}
}
