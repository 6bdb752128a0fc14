package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"conclave/fusion"
	"conclave/rank"
)

// Evidence is what the sources found for one question, before any fusion: what
// calibration is fitted on. It holds no reference to the collection.
type Evidence struct {
	Generation uint64
	// Sources are the experts asked, in the engine's order, then BM25, then
	// phrases where the collection has them, then late interaction; column i of
	// Table is Sources[i].
	Sources []SourceEvidence
	// Table holds the hits of all sources, completed by their true scores.
	Table *fusion.Candidates
	// Known is the share of the question's words that the encoders know.
	Known float64
}

// SourceEvidence is what one source found.
type SourceEvidence struct {
	Name    string
	Lexical bool // BM25
	Phrases bool // BM25 over phrases
	Late    bool // late interaction: it has scores and no hits
	Hits    []rank.Hit
	// Vector is the question as the expert encodes it.
	Vector []float32
	// MemberScores are the inner products of the ensemble's members with the
	// first hits, at most the depth asked for: Members × hits. Empty without an
	// ensemble or with fewer than two hits.
	MemberScores []float32
	Members      int
	// Ceiling is what no score of BM25 for the question reaches.
	Ceiling float64
	// Random is what the source scores random passages, in the order of ordinals:
	// a dense source that is no specialist, and late interaction.
	Random []rank.Hit
	// Base says that the expert is the encoder that specialists came from.
	Base bool
	// Familiarity is there for a Specialist: how near the question is to those
	// that the expert knows.
	Specialist  bool
	Familiarity float64
}

// Gather asks every source of the request and returns what they found, with
// the scores of the ensembles' members over the first depth hits. Unlike
// Search it fails when a source fails: what is fitted on the rest would not be
// what is served. Of the request, Question, Experts, BM25, Candidates, Exact,
// Filter and TimeoutMS count.
func (e *Engine) Gather(ctx context.Context, r Request, depth int) (Evidence, error) {
	l, err := e.begin()
	if err != nil {
		return Evidence{}, err
	}
	defer l.leave()
	return l.gather(ctx, r, depth)
}

func (e *lineUp) gather(ctx context.Context, r Request, depth int) (Evidence, error) {
	r.Fusion, r.Specialists = Methods{Names: []string{MethodSum}}, 0
	p, err := e.plan(&r)
	if err != nil {
		return Evidence{}, err
	}
	candidates := p.candidates
	p.candidates = max(candidates, depth)
	p.phrases, p.late = p.words, e.late != nil
	view := e.pin()
	defer view.letGo()
	_, asking, cancel := within(ctx, p, time.Now())
	defer cancel()
	findings := e.ask(asking, p, view)
	reference := e.referenceVector(p, findings)

	found := Evidence{Generation: view.Generation(), Table: new(fusion.Candidates)}
	found.Known, _ = e.knownWords(p.question)
	for i := range findings {
		f := &findings[i]
		if f.status != StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.name, f.reason, f.cause)
		}
		s := SourceEvidence{Name: f.name, Lexical: i == p.wordsAt(), Phrases: i == p.phrasesAt(), Late: i == p.lateAt(), Ceiling: f.ceiling, Vector: f.vector}
		if !s.Lexical && !s.Phrases && !s.Late {
			s.Base = e.isReference(p.experts[i])
			if err := s.askMembers(ctx, &e.experts[p.experts[i]], f, depth); err != nil {
				return Evidence{}, fmt.Errorf("source %s: %w", f.name, err)
			}
			if own := e.experts[p.experts[i]].Representatives; len(own) > 0 && reference != nil {
				s.Specialist, s.Familiarity = true, familiarity(reference, own)
			}
		}
		if !s.Lexical && !s.Phrases && !s.Specialist {
			s.Random = f.randomScores(view.Passages().Ordinals())
		}
		f.hits = f.hits[:min(len(f.hits), candidates)]
		s.Hits = f.hits
		found.Sources = append(found.Sources, s)
	}
	a := answer{engine: e, plan: p, view: view, findings: findings, table: found.Table}
	if err := guard(func() error { return a.complete(ctx) }); err != nil {
		return Evidence{}, fmt.Errorf("the sources' true scores: %w", err)
	}
	if at := p.lateAt(); at >= 0 {
		if f := &findings[at]; f.status != StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.name, f.reason, f.cause)
		}
	}
	if err := keepOrder(found.Table, view.Passages()); err != nil {
		return Evidence{}, err
	}
	if len(a.degraded) > 0 {
		return Evidence{}, fmt.Errorf("source %s: %s", a.degraded[0].Source, a.degraded[0].Reason)
	}
	return found, nil
}

// keepOrder lets a table rank equal scores by ids without the passages.
func keepOrder(table *fusion.Candidates, passages Passages) error {
	all := make([]rank.Ordinal, table.Len())
	for row := range all {
		all[row] = table.Ordinal(row)
	}
	if err := passages.SortByID(all); err != nil {
		return fmt.Errorf("the order of ids: %w", err)
	}
	if slices.IsSorted(all) {
		return nil // as the table ranks by itself
	}
	rows := make([]rank.Ordinal, len(all))
	for row := range rows {
		rows[row] = table.Ordinal(row)
	}
	places := make([]int32, len(all)) // of the rows
	place := func(p rank.Ordinal) *int32 {
		row, _ := slices.BinarySearch(rows, p)
		return &places[row]
	}
	for i, p := range all {
		*place(p) = int32(i)
	}
	table.OrderTies(func(list []rank.Ordinal) {
		slices.SortFunc(list, func(a, b rank.Ordinal) int { return cmp.Compare(*place(a), *place(b)) })
	})
	return nil
}

// askMembers scores the expert's first hits by every member of its ensemble.
func (s *SourceEvidence) askMembers(ctx context.Context, x *Expert, f *finding, depth int) error {
	if x.Ensemble == nil || len(f.hits) < 2 {
		return nil
	}
	hits := f.hits[:min(len(f.hits), depth)]
	scores, err := memberScores(ctx, x.Ensemble, f.vectors, f.vector, hits)
	s.MemberScores, s.Members = scores, x.Ensemble.EnsembleMembers()
	return err
}

// memberScores are the inner products of the members' vectors of a question
// with the stored vectors of its hits: Members × hits, member by member.
func memberScores(ctx context.Context, ensemble Ensemble, vectors VectorIndex, question []float32, hits []rank.Hit) ([]float32, error) {
	members, d := ensemble.EnsembleMembers(), len(question)
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
		vectors.Scores(of[m*d:(m+1)*d], passages, scores[m*len(hits):(m+1)*len(hits)])
	}
	return scores, nil
}
