package main

import (
	"context"
	"fmt"
	"sync"

	"conclave/collection"
	"conclave/questions"
	"conclave/rank"
	"conclave/search"
	"conclave/serving"

	"golang.org/x/sync/errgroup"
)

// asked is a question with what the sources found for it.
type asked struct {
	id, domain string
	evidence   search.Evidence
	relevant   map[rank.Ordinal]float64
}

// gatherers is how many questions are asked at once: encoders form batches of
// them.
const gatherers = 16

// gather asks every question that has a passage of the collection, and those that
// are said to have none anywhere: the latter it returns apart. Questions whose
// passages are all elsewhere are left out: they may be answered by others.
func gather(ctx context.Context, l *serving.Assembly, domains []questions.Domain, r search.Request, depth int, progress func(done, total int)) (answerable, unanswerable []asked, err error) {
	g := l.Collection.Acquire()
	defer g.Release()
	var all []asked
	var texts []string
	for _, d := range domains {
		for i := range d.Questions {
			q := &d.Questions[i]
			relevant, err := relevantIn(g, q)
			if err != nil {
				return nil, nil, err
			}
			if len(relevant) > 0 || q.Unanswerable {
				all = append(all, asked{id: d.Name + "/" + q.ID, domain: d.Name, relevant: relevant})
				texts = append(texts, q.Text)
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(gatherers)
	var mu sync.Mutex
	done := 0
	for i := range all {
		group.Go(func() error {
			request := r
			request.Question = texts[i]
			var err error
			if all[i].evidence, err = l.Engine.Gather(ctx, request, depth); err != nil {
				return fmt.Errorf("question %q (%s): %w", texts[i], all[i].id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(all))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for _, a := range all {
		if len(a.relevant) > 0 {
			answerable = append(answerable, a)
		} else {
			unanswerable = append(unanswerable, a)
		}
	}
	if len(answerable) == 0 {
		return nil, nil, fmt.Errorf("none of the questions has a passage that answers in the collection")
	}
	return answerable, unanswerable, nil
}

// relevantIn are a question's judged passages that are in the collection.
func relevantIn(g *collection.Generation, q *questions.Question) (map[rank.Ordinal]float64, error) {
	relevant := map[rank.Ordinal]float64{}
	for id, grade := range q.Judgements() {
		if grade <= 0 {
			continue
		}
		if o, ok, err := g.Ordinal(id); err != nil {
			return nil, err
		} else if ok {
			relevant[o] = grade
		}
	}
	return relevant, nil
}
