package sources

import (
	"context"
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Dense is the source of an expert that gives a text one vector, or weights of word pieces (sparse).
type Dense struct {
	label
	Model    *learned.Expert
	number   int  // index in Panel.Experts
	encoder  int  // index in Findings.encodings; experts that share an encoder have the same
	Base     bool // it is the base, by whose vectors familiarity is measured, or shares its encoder
	Granular bool // the method cce ranks by it
}

// TakesPart implements Source: every method may use an expert.
func (x *Dense) TakesPart(*Selection, *fusion.Method) bool { return true }

// ask implements Source. It encodes the question, applies the expert's head, searches the vectors, and measures the
// confidence if the inquiry asks for it and the expert is calibrated. If the encoder can read nothing of the question,
// it finds nothing, without an error.
func (x *Dense) ask(ctx context.Context, p *Findings, f *Finding) error {
	encoded := p.encodeQuestion(ctx, x)
	f.Took.Encode, f.Cut = encoded.took, encoded.cut
	if encoded.err != nil {
		return encoded.err
	}
	if encoded.readable == 0 {
		x.fillUnreadable(p, f)
		return nil
	}
	question := encoded.vector
	if x.Model.Head != nil {
		err := p.Panel.Run.Stage(ctx, x.Name(), run.StageHead, &f.Took.Head, func() (err error) {
			question, f.gate, err = x.Model.ApplyHead(ctx, encoded.vector)
			return err
		})
		if err != nil {
			return err
		}
	}
	vectors, err := p.openVectors(x.Model, f, question)
	if err != nil {
		return err
	}
	if parts, ok := vectors.(storage.PartIndex); ok {
		f.Highlight = func(o rank.Ordinal, _ corpus.Passage) ([]reply.Highlight, error) {
			part, score, err := parts.Best(question, o)
			return []reply.Highlight{
				{Field: "text", Start: int(part.Begin), End: int(part.End), Score: run.Printed(float64(score))},
			}, err
		}
	}
	f.WantsRandomScores = len(x.Model.Representatives) == 0
	if x.Model.Ensemble != nil {
		f.Members = func(ctx context.Context, hits []rank.Hit) ([]float32, int, error) {
			scores, err := memberScores(ctx, x.Model.Ensemble, vectors, question, hits)
			return scores, x.Model.Ensemble.EnsembleMembers(), err
		}
	}
	// The mutual information looks at the depth that was calibrated, so that
	// it does not change with the number of candidates.
	k := p.Inquiry.Candidates
	asked := p.Inquiry.Confidence && x.Model.IsCalibrated()
	if asked {
		k = max(k, x.Model.Info.Calibration.Depth)
	}
	err = runSearch(ctx, p.Panel.Run, f, func(ctx context.Context) (err error) {
		f.Hits, err = p.searchDistinct(
			ctx, k, func(k int) ([]rank.Hit, error) { return vectors.Search(ctx, question, k, p.Inquiry.Exact) },
		)
		err = f.keepPartial(err)
		if err != nil {
			return fmt.Errorf("searching the vectors: %w", err)
		}
		return checkHits(f.Hits, p.View.Passages().Ordinals())
	})
	if err == nil && asked {
		err = p.Panel.Run.Stage(ctx, x.Name(), run.StageConfidence, &f.Took.Confidence, func() (err error) {
			f.Sure, err = x.measureConfidence(ctx, f)
			return err
		})
	}
	f.Hits = f.Hits[:min(len(f.Hits), p.Inquiry.Candidates)]
	return err
}

// fillUnreadable fills in the finding of a question of which the encoder can read nothing: no hits, a score of 0 for
// every passage, and a confidence of 0.
func (x *Dense) fillUnreadable(p *Findings, f *Finding) {
	f.WantsRandomScores = len(x.Model.Representatives) == 0
	f.Score = scoreZero
	if p.Inquiry.Confidence && x.Model.IsCalibrated() {
		f.Sure = &certainty{}
	}
}

// scoreZero sets all scores to 0. It is the Score of a source that could read nothing of the question. It never fails.
func scoreZero(_ context.Context, _ []rank.Ordinal, out []float32) error {
	clear(out)
	return nil
}

// Observe implements Source: it returns the kind (base, specialist or generalist), the familiarity of a specialist with
// the question, and the highest one of the other experts. It also sets f.Familiarity of a specialist, if familiarities
// are known.
func (x *Dense) Observe(f *Finding, q *Familiarities) fusion.ObservedSource {
	o := fusion.ObservedSource{
		Kind: fusion.Generalist, Rival: q.highestRival(x.number), Granular: x.Granular, Foreign: x.Model.Foreign,
	}
	if x.Base {
		o.Kind = fusion.Base
	}
	if len(x.Model.Representatives) > 0 && q.known {
		o.Kind, o.Familiarity = fusion.Specialist, q.observed[x.number].Familiarity
		f.Familiarity = run.Ptr(o.Familiarity)
	}
	return o
}

// measureConfidence returns the confidence of an expert by the method MUF: how far the members of its ensemble agree on
// its first hits. It returns nil for a single hit, on which they cannot disagree, and 0 without hits. It fails if the
// ensemble or the vectors do.
func (x *Dense) measureConfidence(ctx context.Context, f *Finding) (*certainty, error) {
	hits := f.Hits[:min(len(f.Hits), x.Model.Info.Calibration.Depth)]
	if len(hits) < 2 {
		if len(hits) == 0 {
			return &certainty{}, nil
		}
		return nil, nil
	}
	scores, members, err := f.Members(ctx, hits)
	if err != nil {
		return nil, err
	}
	information, err := fusion.MutualInformation(scores, members, x.Model.Info.Calibration.Temperature)
	if err != nil {
		return nil, fmt.Errorf("the ensemble's scores: %w", err)
	}
	return &certainty{Confidence: fusion.Confidence(information, members), MutualInformation: max(information, 0)}, nil
}

// memberScores returns the inner products of the question's vectors by each ensemble member with the stored vectors of
// its hits: members × hits numbers, member by member. It fails if the ensemble or the vectors do, or if the ensemble
// gives another number of vectors.
func memberScores(
	ctx context.Context,
	ensemble learned.Ensemble,
	vectors storage.VectorIndex,
	question []float32,
	hits []rank.Hit,
) ([]float32, error) {
	members := ensemble.EnsembleMembers()
	d := len(question)
	memberVectors, err := ensemble.Members(ctx, question)
	if err != nil {
		return nil, fmt.Errorf("asking the ensemble: %w", err)
	}
	if len(memberVectors) != members*d {
		return nil, fmt.Errorf("the ensemble gave %d numbers, not %d members of %d", len(memberVectors), members, d)
	}
	passages := make([]rank.Ordinal, len(hits))
	for i, h := range hits {
		passages[i] = h.Ordinal
	}
	scores := make([]float32, members*len(hits))
	for m := range members {
		if err := vectors.Scores(ctx, memberVectors[m*d:(m+1)*d], passages, scores[m*len(hits):(m+1)*len(hits)]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}
