package search

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"conclave/fusion"
	"conclave/rank"
)

// askExperts encodes the question once for experts that share an encoder, and
// lets each of them search.
func (e *lineUp) askExperts(ctx context.Context, p *plan, view *pinned, group []int, answers chan<- finding) {
	e.searchAll(ctx, p, view, group, e.encode(ctx, p, &e.experts[p.experts[group[0]]]), answers)
}

// encode is a finding that has got as far as the question's vector.
func (e *lineUp) encode(ctx context.Context, p *plan, x *Expert) finding {
	var encoded finding
	encoded.attempt(func() error {
		return e.stage(ctx, x.Name, StageEncode, &encoded.took.Encode, func() (err error) {
			if encoded.vector, err = x.Encoder.EncodeQuestion(ctx, p.question); err != nil {
				return fmt.Errorf("encoding the question: %w", err)
			}
			encoded.cut = cutsQuestion(x.Encoder, p.question)
			if x == e.late {
				return checkTokens(encoded.vector, x.Info.Dimension)
			}
			return checkVector(encoded.vector, x.Info.Dimension)
		})
	})
	return encoded
}

// searchAll lets every expert of a group search for the question that one of
// them encoded.
func (e *lineUp) searchAll(ctx context.Context, p *plan, view *pinned, group []int, encoded finding, answers chan<- finding) {
	for n, position := range group {
		x, f := &e.experts[p.experts[position]], encoded
		f.source, f.name = position, x.Name
		if f.cause != nil {
			answers <- f
			continue
		}
		search := func() {
			f.attempt(func() error { return e.askIndex(ctx, p, view, x, &f) })
			answers <- f
		}
		if n < len(group)-1 {
			e.start(view, search)
		} else {
			search() // here: a lone expert needs no goroutine more
		}
	}
}

// askIndex searches an expert's vectors and asks its ensemble how sure it is.
func (e *lineUp) askIndex(ctx context.Context, p *plan, view *pinned, x *Expert, f *finding) error {
	vectors, ok := view.Vectors(x.Name)
	if !ok {
		f.reason = "this collection has no vectors of the expert; add them with `conclave index --add-expert " + x.Name + "`"
		return fmt.Errorf("generation %d has no vectors of expert %q", view.Generation(), x.Name)
	}
	f.vectors = vectors
	// The mutual information looks at the depth that was calibrated, so that
	// it does not change with the number of candidates.
	k, asked := p.candidates, p.confidence && x.calibrated()
	if asked {
		k = max(k, x.Info.Calibration.Depth)
	}
	err := e.search(ctx, f, func() (err error) {
		if f.hits, err = vectors.Search(ctx, f.vector, k, p.exact); err != nil {
			return fmt.Errorf("searching the vectors: %w", err)
		}
		return checkHits(f.hits, view.Passages().Ordinals())
	})
	if err == nil && asked {
		err = e.stage(ctx, x.Name, StageConfidence, &f.took.Confidence, func() (err error) {
			f.sure, err = certain(ctx, x, vectors, f.vector, f.hits)
			return err
		})
	}
	f.hits = f.hits[:min(len(f.hits), p.candidates)]
	return err
}

// certain is MUF's confidence of an expert: how far the members of its
// ensemble agree on its first hits. It is nil for a single hit, on which they
// cannot disagree, and 0 without hits.
func certain(ctx context.Context, x *Expert, vectors VectorIndex, question []float32, hits []rank.Hit) (*certainty, error) {
	hits = hits[:min(len(hits), x.Info.Calibration.Depth)]
	if len(hits) < 2 {
		if len(hits) == 0 {
			return &certainty{}, nil
		}
		return nil, nil
	}
	members := x.Ensemble.EnsembleMembers()
	scores, err := memberScores(ctx, x.Ensemble, vectors, question, hits)
	if err != nil {
		return nil, err
	}
	information, err := fusion.MutualInformation(scores, members, x.Info.Calibration.Temperature)
	if err != nil {
		return nil, fmt.Errorf("the ensemble's scores: %w", err)
	}
	return &certainty{confidence: fusion.Confidence(information, members), mutualInformation: max(information, 0)}, nil
}

// askWords searches BM25.
func (e *lineUp) askWords(ctx context.Context, p *plan, view *pinned) finding {
	f := finding{source: p.wordsAt(), name: WordSource}
	f.attempt(func() error {
		f.words = view.Words()
		if f.words == nil {
			f.reason = "this collection has no word index"
			return fmt.Errorf("generation %d has no word index", view.Generation())
		}
		return e.search(ctx, &f, func() (err error) {
			if f.hits, err = f.words.Search(ctx, p.question, p.candidates); err != nil {
				return fmt.Errorf("searching the words: %w", err)
			}
			f.hits = f.hits[:min(len(f.hits), p.candidates)]
			if f.ceiling, err = f.words.Ceiling(p.question); err != nil {
				return fmt.Errorf("the words' weights: %w", err)
			}
			return checkHits(f.hits, view.Passages().Ordinals())
		})
	})
	return f
}

// askPhrases searches BM25 over phrases, which this generation has.
func (e *lineUp) askPhrases(ctx context.Context, p *plan, view *pinned) finding {
	f := finding{source: p.phrasesAt(), name: PhraseSource}
	f.attempt(func() error {
		f.words = view.Phrases()
		return e.search(ctx, &f, func() (err error) {
			if f.hits, err = f.words.Search(ctx, p.question, p.candidates); err != nil {
				return fmt.Errorf("searching the phrases: %w", err)
			}
			f.hits = f.hits[:min(len(f.hits), p.candidates)]
			return checkHits(f.hits, view.Passages().Ordinals())
		})
	})
	return f
}

// attempt does a part of a source's work and keeps its error.
func (f *finding) attempt(work func() error) { f.cause = guard(work) }

// stage runs a step of a source, notes how many milliseconds it took, and
// tells the observer. A step that nobody waits for any more is not begun.
func (e *Engine) stage(ctx context.Context, source, stage string, took *float64, step func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	started := time.Now()
	defer func() {
		d := time.Since(started)
		*took = milliseconds(d)
		e.observer.Stage(ctx, source, stage, d)
	}()
	return step()
}

// search is stage for a source's search, which computes.
func (e *Engine) search(ctx context.Context, f *finding, step func() error) error {
	return e.compute(ctx, func() error { return e.stage(ctx, f.name, StageSearch, &f.took.Search, step) })
}

// guard runs step and makes an error of a panic: an expert may be a remote
// engine, a foreign model or a third party's index, and one that breaks is to
// be left out, not to take the server along. So is one whose mapped file was cut,
// or lies on a disk that fails: the system says so by a fault (SIGBUS) wherever it
// is read.
func guard(step func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a runtime.Error of a fault
			err = fmt.Errorf("a file that is mapped into memory cannot be read: it was cut, or its disk fails; `conclave verify` names it: fault at %#x\n%s", r.Addr(), debug.Stack())
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return step()
}

// checkHits refuses what no fusion could use: a score that is not finite, a
// passage that does not exist. Hits out of order are put in order.
func checkHits(hits []rank.Hit, passages int) error {
	for _, h := range hits {
		if int64(h.Ordinal) >= int64(passages) {
			return fmt.Errorf("the source returned passage %d of %d", h.Ordinal, passages)
		}
	}
	if !slices.IsSortedFunc(hits, func(a, b rank.Hit) int { return cmp.Compare(b.Score, a.Score) }) {
		rank.Sort(hits)
	}
	return fusion.CheckHits(hits)
}

func checkVector(vector []float32, dimension int) error {
	if dimension > 0 && len(vector) != dimension {
		return fmt.Errorf("the encoder gave %d numbers, not %d", len(vector), dimension)
	}
	for i, x := range vector {
		if x-x != 0 { // NaN or infinite
			return fmt.Errorf("the encoder gave %v at %d", x, i)
		}
	}
	return nil
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
