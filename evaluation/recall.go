package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
)

// recallQuestions is the number of questions by which a recall is measured.
const recallQuestions = 50

// measureRecall sets Recall of the experts that have none, as those of a store: the share of an exact search's passages
// that the expert's index finds. It returns a note on what was found, or on why it cannot be measured; "" if every
// expert had its Recall. It fails if a search does, for another reason than that the engine refuses it.
func measureRecall(
	ctx context.Context,
	engine Engine,
	experts []learned.ExpertInfo,
	domains []questions.Domain,
	timeout time.Duration,
) (note string, err error) {
	asked := questions.InTurns(domains, recallQuestions)
	var found []string
	for i := range experts {
		x := &experts[i]
		if x.Recall != nil {
			continue
		}
		depths, same := [2]int{10, 100}, [2]int{}
		total := same
		for _, text := range asked {
			graph, err := firstBy(ctx, engine, x.Name, text, false, timeout)
			if err != nil {
				return "", err
			}
			right, err := firstBy(ctx, engine, x.Name, text, true, timeout)
			if refused := (*fault.Error)(nil); errors.As(err, &refused) && refused.Kind == fault.Invalid {
				return "the experts' recall is not measured: " + refused.Detail, nil
			} else if err != nil {
				return "", err
			}
			for n, depth := range depths {
				first := graph[:min(depth, len(graph))]
				for _, id := range right[:min(depth, len(right))] {
					total[n]++
					if slices.Contains(first, id) {
						same[n]++
					}
				}
			}
		}
		x.Recall = map[string]float64{}
		for n, depth := range depths {
			x.Recall[fmt.Sprint("recall@", depth)] = float64(same[n]) / float64(max(total[n], 1))
		}
		found = append(found, fmt.Sprintf("%s %.4f and %.4f", x.Name, x.Recall["recall@10"], x.Recall["recall@100"]))
	}
	if len(found) == 0 {
		return "", nil
	}
	return fmt.Sprintf(
		"of the first 10 and 100 passages of an exact search the indexes find: %s (%d questions)",
		strings.Join(found, ", "), len(asked),
	), nil
}

// firstBy returns the ids of the first 100 passages by one expert alone, with exact by comparing every vector. It fails
// if the search does.
func firstBy(
	ctx context.Context,
	engine Engine,
	expert, question string,
	exact bool,
	timeout time.Duration,
) (ids []string, err error) {
	no := false
	r, err := engine.Search(
		ctx, search.Caller{},
		search.Request{
			Question:   question,
			Experts:    &[]string{expert},
			BM25:       &no,
			Fusion:     search.Methods{Names: []string{fusion.MethodSum}},
			K:          100,
			Candidates: 100,
			Exact:      exact,
			Fields:     []string{},
			TimeoutMS:  int(timeout.Milliseconds()),
		},
	)
	if err != nil {
		return nil, fmt.Errorf("measuring the recall of %s: question %q: %w", expert, question, err)
	}
	for _, result := range r.Results {
		ids = append(ids, result.ID)
	}
	return ids, nil
}
