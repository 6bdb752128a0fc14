package search

import (
	"context"
	"fmt"
)

// Late interaction (Khattab & Zaharia 2020, ColBERT, section 3) compares each
// token of the question with each token of a passage. It is too dear for all
// passages and cheap for some hundred, so it searches nothing: it scores what the
// other sources found, and it is part of the gate alone.

// askLate encodes the question, a vector for each token, and finds where the
// passages' are. What they score is known when the others have answered.
func (e *lineUp) askLate(ctx context.Context, p *plan, view *pinned) finding {
	f := e.encode(ctx, p, e.late)
	f.source, f.name = p.lateAt(), e.late.Name
	if f.cause != nil {
		return f
	}
	f.attempt(func() error {
		vectors, ok := view.Vectors(e.late.Name)
		if !ok {
			f.reason = "this collection has no vectors of the expert; add them with `conclave index --add-expert " + e.late.Name + "`"
			return fmt.Errorf("generation %d has no vectors of expert %q", view.Generation(), e.late.Name)
		}
		f.vectors = vectors
		return nil
	})
	return f
}

// scoreLate lets late interaction score all candidates of the table. When it
// fails, the source is left out like one that did not answer.
func (a *answer) scoreLate(ctx context.Context) {
	at := a.plan.lateAt()
	if at < 0 || a.findings[at].status != StatusOK {
		return
	}
	f := &a.findings[at]
	f.attempt(func() error {
		return a.engine.stage(ctx, f.name, StageSearch, &f.took.Search, func() error {
			candidates := a.table.Missing(at, nil)
			scores := make([]float32, len(candidates))
			if err := f.score(ctx, "", candidates, scores); err != nil {
				return err
			}
			return a.table.Follow(at, scores)
		})
	})
	if f.cause != nil {
		f.status, f.reason = StatusFailed, "it failed; the server's log says why"
		a.engine.observer.Source(ctx, f.name, f.status, f.cause)
	}
}

// checkTokens is checkVector for late interaction: a list of vectors.
func checkTokens(vector []float32, dimension int) error {
	if len(vector) == 0 || dimension > 0 && len(vector)%dimension != 0 {
		return fmt.Errorf("the encoder gave %d numbers, which are no vectors of %d", len(vector), dimension)
	}
	return checkVector(vector, 0)
}
