package sources

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
)

// lateSource is the source of late interaction (Khattab & Zaharia 2020, ColBERT, section 3), which compares each token
// of the question with each token of a passage. That is too expensive for all passages and cheap for some hundred, so
// it has no hits of its own: it scores what the other sources found. Only the gate uses it. Of several in a panel one
// takes part in a question (otherLate).
type lateSource struct {
	label
	Model        *learned.Expert
	contentWords *content.Words
}

// TakesPart implements Source: it reports whether the method uses late interaction, the request wants it and searches
// experts, and the gate was fitted with it. A request that names no expert searches words alone.
func (x *lateSource) TakesPart(w *Selection, m *fusion.Method) bool {
	return m.Uses(fusion.Late) && w.Late && w.Experts && w.Gate != nil && len(w.Gate.Late) > 0
}

// ask implements Source. It encodes the question, one vector for each token, and sets the functions of f that score and
// highlight passages later, when the other sources have answered. It fails if encoding does, or the vectors cannot be
// opened.
func (x *lateSource) ask(ctx context.Context, p *Findings, f *Finding) error {
	f.Follows, f.WantsRandomScores = true, true
	if x.Model.Encoder.Readable(p.Inquiry.Question) == 0 {
		f.Score = scoreZero
		return nil
	}
	tokens, err := p.encodeBy(ctx, x.Model, learned.CheckTokens, &f.Took.Encode)
	if err != nil {
		return err
	}
	_, f.Cut = x.Model.Encoder.QuestionTokens(p.Inquiry.Question)
	index, err := p.openVectors(x.Model, f, tokens)
	if expecting, ok := index.(storage.ScorePrefetcher); ok && err == nil {
		expecting.Expect(tokens)
	}
	if fetched, ok := index.(storage.FetchedVectors); ok && err == nil {
		f.FetchVectors = fetched.FetchVectors
	}
	if err == nil {
		f.Highlight = x.highlighter(context.WithoutCancel(ctx), p.View, index, p.Inquiry.Question, tokens)
		p.scoreAheadOfOthers(ctx, f)
	}
	return err
}

// scoreAheadOfOthers computes the scores of the random passages, and of the words' hits if these are there already,
// while other sources search. It replaces f.Score by one that knows them.
func (p *Findings) scoreAheadOfOthers(ctx context.Context, f *Finding) {
	passages := slices.Clone(p.View.Passages().Sample(content.RandomPassages))
	if found := p.wordsFound.Load(); found != nil {
		passages = append(passages, *found...)
	}
	score := f.Score
	if known := p.scoreAhead(ctx, passages, score); known != nil {
		f.Score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
			return known.complete(ctx, passages, out, score)
		}
	}
}

// Observe implements Source: it returns only the kind, and whether the states are those of another encoder.
func (x *lateSource) Observe(*Finding, *Familiarities) fusion.ObservedSource {
	return fusion.ObservedSource{Kind: fusion.Late, Foreign: x.Model.Foreign}
}

// otherLate returns the sources of late interaction among wanted (indexes of Sources) that take no part since another
// one does, each with the reason for users; nil if there are fewer than two. That one belongs to the encoder by which
// answers are judged, the base or else the first generalist: both are Foreign, or neither is. Without such a source it
// is the first. Sources that left has a reason for do not count.
func (p *Panel) otherLate(wanted []int, left map[int]string) map[int]string {
	var late []int
	var judging *Dense
	for _, at := range wanted {
		if left[at] != "" {
			continue
		}
		switch x := p.Sources[at].(type) {
		case *lateSource:
			late = append(late, at)
		case *Dense:
			if x.Base && (judging == nil || !judging.Base) || judging == nil && len(x.Model.Representatives) == 0 {
				judging = x
			}
		}
	}
	if len(late) < 2 {
		return nil
	}
	belongs := func(at int) bool { return judging != nil && p.ExpertOf(at).Foreign == judging.Model.Foreign }
	chosen := late[max(0, slices.IndexFunc(late, belongs))]
	others := map[int]string{}
	for _, at := range late {
		if at != chosen {
			others[at] = fmt.Sprintf("late interaction is that of %s for this question", p.Sources[chosen].Name())
		}
	}
	return others
}

// WithoutOtherLate returns wanted (indexes of Sources) without sources of late interaction but the one that takes part
// in an inquiry of any language, in a new slice.
func (p *Panel) WithoutOtherLate(wanted []int) []int {
	others := p.otherLate(wanted, nil)
	return slices.DeleteFunc(slices.Clone(wanted), func(at int) bool { return others[at] != "" })
}

// LateNamed returns the expert of late interaction with a name; nil if there is none.
func (p *Panel) LateNamed(name string) *learned.Expert {
	for _, x := range p.Late {
		if x.Name() == name {
			return x.Model
		}
	}
	return nil
}

// openVectors returns the vector index of an expert, and sets f.Score to scoring passages by it and the question's
// vector. If the collection has no vectors of the expert, it returns an error and sets f.Reason.
func (p *Findings) openVectors(x *learned.Expert, f *Finding, question []float32) (storage.VectorIndex, error) {
	vectors, ok := p.View.Narrowed.Vectors(x.Name)
	if !ok {
		f.Reason = "this collection has no vectors of the expert"
		return nil, fmt.Errorf("generation %d has no vectors of expert %q", p.View.Generation(), x.Name)
	}
	f.Score = func(ctx context.Context, passages []rank.Ordinal, out []float32) error {
		return inParts(ctx, passages, out, func(passages []rank.Ordinal, out []float32) error {
			return vectors.Scores(ctx, question, passages, out)
		})
	}
	return vectors, nil
}
