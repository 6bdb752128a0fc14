package sources

import (
	"context"
	"runtime"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// ahead has scores of passages that a source was going to be asked for, computed while other sources were still
// busy. Nil has none.
type ahead map[rank.Ordinal]float32

// scorer writes the scores of passages to out, which is as long. Several goroutines may call it.
type scorer func(ctx context.Context, passages []rank.Ordinal, out []float32) error

// scoreAhead returns the scores of passages by score, which it computes when there is a turn. It returns nil if
// passages are not at hand (storage.AtHand), or if a score cannot be computed: whoever asks for it later is told why.
func (p *Findings) scoreAhead(ctx context.Context, passages []rank.Ordinal, score scorer) ahead {
	if _, quick := p.View.Passages().(storage.AtHand); !quick || len(passages) == 0 {
		return nil
	}
	scores := make([]float32, len(passages))
	err := p.Panel.Run.Compute(ctx, func(ctx context.Context) error {
		return run.Guard(func() error { return score(ctx, passages, scores) })
	})
	if err != nil {
		return nil
	}
	known := make(ahead, len(passages))
	for i, o := range passages {
		known[o] = scores[i]
	}
	return known
}

// complete writes the scores of passages to out: those that are known, and the others by score. It fails if score does.
func (a ahead) complete(ctx context.Context, passages []rank.Ordinal, out []float32, score scorer) error {
	if a == nil {
		return score(ctx, passages, out)
	}
	var others []rank.Ordinal
	for i, o := range passages {
		known, ok := a[o]
		if !ok {
			others = append(others, o)
		}
		out[i] = known
	}
	if len(others) == 0 {
		return nil
	}
	scores := make([]float32, len(others))
	if err := score(ctx, others, scores); err != nil {
		return err
	}
	for i, next := 0, 0; next < len(others); i++ {
		if passages[i] == others[next] {
			out[i] = scores[next]
			next++
		}
	}
	return nil
}

// besideEachOther returns a scorer that divides the passages among the processors and calls score for each part at the
// same time. If passages are not at hand (storage.AtHand), or there is one processor, it returns score itself.
func (p *Findings) besideEachOther(score scorer) scorer {
	most := runtime.GOMAXPROCS(0)
	if _, quick := p.View.Passages().(storage.AtHand); !quick || most < 2 {
		return score
	}
	return func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		parts := min(most, len(passages)/fewestBeside)
		if parts < 2 {
			return score(ctx, passages, out)
		}
		errs := make([]error, parts)
		steps := make([]func(context.Context), parts)
		for i := range steps {
			from, to := i*len(passages)/parts, (i+1)*len(passages)/parts
			steps[i] = func(ctx context.Context) {
				errs[i] = run.Guard(func() error { return score(ctx, passages[from:to], out[from:to]) })
			}
		}
		run.Together(ctx, parts, steps)
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// fewestBeside is the least number of passages that are worth a goroutine.
const fewestBeside = 16
