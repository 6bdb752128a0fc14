package search

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
)

// dense is an expert that gives a text one vector. Its ensemble, where it has one,
// says how sure it is.
type dense struct {
	identity
	*Expert
	number  int // among the experts
	encoder int // equal for experts that share one
	base    bool
	// granular: cce ranks by it.
	granular bool
}

// An expert takes part in every method.
func (x *dense) takesPart(*lineUp, *Request, *fusion.Method) bool { return true }

func (x *dense) ask(ctx context.Context, p *pass, f *finding) error {
	encoded := p.encode(ctx, x)
	f.took.Encode, f.cut = encoded.took, encoded.cut
	if encoded.err != nil {
		return encoded.err
	}
	if encoded.readable == 0 {
		x.fillUnreadable(p, f)
		return nil
	}
	question := encoded.vector
	if x.Head != nil {
		err := p.Stage(ctx, x.name(), StageHead, &f.took.Head, func() (err error) {
			question, f.gate, err = x.applyHead(ctx, encoded.vector)
			return err
		})
		if err != nil {
			return err
		}
	}
	vectors, err := p.vectors(x.Expert, f, question)
	if err != nil {
		return err
	}
	if parts, ok := vectors.(storage.PartIndex); ok {
		f.highlight = func(o rank.Ordinal, _ corpus.Passage) ([]Highlight, error) {
			part, score, err := parts.Best(question, o)
			return []Highlight{{Field: "text", Start: int(part.Begin), End: int(part.End), Score: printed(float64(score))}}, err
		}
	}
	f.close = len(x.Representatives) == 0
	if x.Ensemble != nil {
		f.members = func(ctx context.Context, hits []rank.Hit) ([]float32, int, error) {
			scores, err := memberScores(ctx, x.Ensemble, vectors, question, hits)
			return scores, x.Ensemble.EnsembleMembers(), err
		}
	}
	// The mutual information looks at the depth that was calibrated, so that
	// it does not change with the number of candidates.
	k := p.candidates
	asked := p.confidence && x.calibrated()
	if asked {
		k = max(k, x.Info.Calibration.Depth)
	}
	err = runSearch(ctx, p.Runner, f, func(ctx context.Context) (err error) {
		f.hits, err = p.searchDistinct(
			ctx,
			k,
			func(k int) ([]rank.Hit, error) { return vectors.Search(ctx, question, k, p.exact) },
		)
		err = f.keepPartial(err)
		if err != nil {
			return fmt.Errorf("searching the vectors: %w", err)
		}
		return checkHits(f.hits, p.view.Passages().Ordinals())
	})
	if err == nil && asked {
		err = p.Stage(ctx, x.name(), StageConfidence, &f.took.Confidence, func() (err error) {
			f.sure, err = x.measureConfidence(ctx, f)
			return err
		})
	}
	f.hits = f.hits[:min(len(f.hits), p.candidates)]
	return err
}

// fillUnreadable fills in the finding of a question of which the encoder reads nothing: no
// passage is nearer to it than another.
func (x *dense) fillUnreadable(p *pass, f *finding) {
	f.close = len(x.Representatives) == 0
	f.score = scoreZero
	if p.confidence && x.calibrated() {
		f.sure = &certainty{}
	}
}

// scoreZero fills in the scores of passages for a question of which nothing was read.
func scoreZero(_ context.Context, _ []rank.Ordinal, out []float32) error {
	clear(out)
	return nil
}

func (x *dense) observe(f *finding, q *familiarities) fusion.Observed {
	o := fusion.Observed{Kind: fusion.Generalist, Rival: q.rival(x.number), Granular: x.granular}
	if x.base {
		o.Kind = fusion.Base
	}
	if len(x.Representatives) > 0 && q.known {
		o.Kind, o.Familiarity = fusion.Specialist, q.observed[x.number].Familiarity
		f.familiarity = ptr(o.Familiarity)
	}
	return o
}

// calibrated reports whether the expert can say how sure it is.
func (x *Expert) calibrated() bool {
	return x.hasEnsemble() && x.Info.Calibration != nil
}

// hasEnsemble reports whether the expert has members that can disagree.
func (x *Expert) hasEnsemble() bool { return x.Ensemble != nil && x.Ensemble.EnsembleMembers() >= 2 }

// measureConfidence returns MUF's confidence of an expert: how far the members of its
// ensemble agree on its first hits. It is nil for a single hit, on which they
// cannot disagree, and 0 without hits.
func (x *dense) measureConfidence(ctx context.Context, f *finding) (*certainty, error) {
	hits := f.hits[:min(len(f.hits), x.Info.Calibration.Depth)]
	if len(hits) < 2 {
		if len(hits) == 0 {
			return &certainty{}, nil
		}
		return nil, nil
	}
	scores, members, err := f.members(ctx, hits)
	if err != nil {
		return nil, err
	}
	information, err := fusion.MutualInformation(scores, members, x.Info.Calibration.Temperature)
	if err != nil {
		return nil, fmt.Errorf("the ensemble's scores: %w", err)
	}
	return &certainty{confidence: fusion.Confidence(information, members), mutualInformation: max(information, 0)}, nil
}

// memberScores returns the inner products of the members' vectors of a question
// with the stored vectors of its hits: Members × hits, member by member.
func memberScores(
	ctx context.Context,
	ensemble Ensemble,
	vectors storage.VectorIndex,
	question []float32,
	hits []rank.Hit,
) ([]float32, error) {
	members := ensemble.EnsembleMembers()
	d := len(question)
	of, err := ensemble.Members(ctx, question)
	if err != nil {
		return nil, fmt.Errorf("asking the ensemble: %w", err)
	}
	if len(of) != members*d {
		return nil, fmt.Errorf("the ensemble gave %d numbers, not %d members of %d", len(of), members, d)
	}
	passages := make([]rank.Ordinal, len(hits))
	for i, h := range hits {
		passages[i] = h.Ordinal
	}
	scores := make([]float32, members*len(hits))
	for m := range members {
		if err := vectors.Scores(ctx, of[m*d:(m+1)*d], passages, scores[m*len(hits):(m+1)*len(hits)]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}
