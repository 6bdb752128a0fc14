package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// Evidence is what the sources found for one question, before any fusion: what
// calibration is fitted on. It holds no reference to the collection.
type Evidence struct {
	// Sources are the experts asked, in the engine's order, then BM25, then
	// phrases where the collection has them, then late interaction; column i of
	// Table is Sources[i].
	Sources []SourceEvidence
	// Table holds the hits of all sources, completed by their true scores.
	Table   *fusion.Candidates
	Wording fusion.Wording
	// Copies are the other passages that were found with the text of one in Table.
	Copies map[rank.Ordinal][]rank.Ordinal
}

// SourceEvidence is what one source found.
type SourceEvidence struct {
	Name string
	// Observed is what a gate wants to know of the source, but for its confidence:
	// the temperature is not known yet.
	fusion.Observed
	Hits []rank.Hit
	// MemberScores are the inner products of the ensemble's members with the
	// first hits, at most the depth asked for: Members × hits. Empty without an
	// ensemble or with fewer than two hits.
	MemberScores []float32
	Members      int
}

// Gather asks every source of the request and returns what they found, with
// the scores of the ensembles' members over the first depth hits. Unlike
// Search it fails when a source fails: what is fitted on the rest would not be
// what is served. Of the request, Question, Experts, BM25, Candidates, Exact,
// Filter and TimeoutMS count.
func (e *Engine) Gather(ctx context.Context, r Request, depth int) (Evidence, error) {
	return e.gather(ctx, r, depth, nil)
}

// GatherAmong gathers where every source ranks the same passages and
// nothing else: those that choose names when it is told BM25's first depth hits. There
// are no scores of ensembles' members.
func (e *Engine) GatherAmong(
	ctx context.Context,
	r Request,
	depth int,
	choose func(words []rank.Hit) ([]rank.Ordinal, error),
) (Evidence, error) {
	return e.gather(ctx, r, depth, choose)
}

func (e *Engine) gather(
	ctx context.Context,
	r Request,
	depth int,
	choose func([]rank.Hit) ([]rank.Ordinal, error),
) (Evidence, error) {
	l, err := e.begin()
	if err != nil {
		return Evidence{}, err
	}
	defer l.leave()
	r.Fusion = Methods{Names: []string{fusion.MethodSum}}
	r.Specialists = 0
	p, err := l.plan(&r)
	if err != nil {
		return Evidence{}, err
	}
	q := p.inquiry
	q.candidates = max(p.candidates, depth)
	q.wanted = slices.Clone(p.experts)
	for at := len(l.experts); at < len(l.sources); at++ {
		if l.sources[at].kind() != KindLexical || r.words() {
			q.wanted = append(q.wanted, at)
		}
	}
	var found Evidence
	err = l.pass(ctx, q, time.Now(), func(_ context.Context, asked *pass) (err error) {
		if choose != nil {
			err = asked.restrictTo(ctx, choose)
			if err != nil {
				return err
			}
		}
		found, err = asked.evidence(ctx, p, depth)
		return err
	})
	return found, err
}

// restrictTo gives every source that answered the chosen passages for hits.
func (p *pass) restrictTo(ctx context.Context, choose func([]rank.Hit) ([]rank.Ordinal, error)) error {
	var words []rank.Hit
	for i := range p.findings {
		if f := &p.findings[i]; f.source.name() == WordSource {
			words = f.hits
		}
	}
	chosen, err := choose(words)
	if err != nil {
		return err
	}
	scores := make([]float32, len(chosen))
	for i := range p.findings {
		f := &p.findings[i]
		if f.status != StatusOK {
			continue // for evidence to say
		}
		if err := run.Guard(func() error { return f.score(ctx, chosen, scores) }); err != nil {
			return fmt.Errorf("source %s: %w", f.source.name(), err)
		}
		f.hits = make([]rank.Hit, len(chosen))
		f.members = nil
		f.follows = false
		for n, o := range chosen {
			f.hits[n] = rank.Hit{Ordinal: o, Score: scores[n]}
		}
		slices.SortFunc(f.hits, func(a, b rank.Hit) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ordinal, b.Ordinal))
		})
	}
	return nil
}

// evidence returns what the sources of a pass found, completed for a plan.
func (p *pass) evidence(ctx context.Context, by *plan, depth int) (Evidence, error) {
	found := Evidence{Table: new(fusion.Candidates)}
	found.Wording, _ = p.wording(p.question)
	for i := range p.findings {
		f := &p.findings[i]
		if f.status != StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.source.name(), f.reason, f.cause)
		}
		s := SourceEvidence{Name: f.source.name()}
		if f.members != nil && len(f.hits) > 1 {
			var err error
			s.MemberScores, s.Members, err = f.members(ctx, f.hits[:min(len(f.hits), depth)])
			if err != nil {
				return Evidence{}, fmt.Errorf("source %s: %w", s.Name, err)
			}
		}
		f.hits = f.hits[:min(len(f.hits), by.candidates)]
		s.Hits = f.hits
		found.Sources = append(found.Sources, s)
	}
	a := answer{pass: p, plan: by, findings: p.findings, table: found.Table, known: p.encoded()}
	err := run.Guard(func() error {
		if err := a.complete(ctx); err != nil {
			return err
		}
		for _, o := range a.observed(ctx, p.familiarities(a.known), true) {
			found.Sources[o.Column].Observed = o
		}
		found.Wording.Keys = copyHeld(a.keys(ctx), a.table.Ordinals())
		return nil
	})
	if err != nil {
		return Evidence{}, fmt.Errorf("the sources' true scores: %w", err)
	}
	for _, f := range p.findings { // one that follows may have failed by now
		if f.status != StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.source.name(), f.reason, f.cause)
		}
	}
	for _, o := range found.Table.Ordinals() {
		if others := p.copiesOf(o); len(others) > 0 {
			if found.Copies == nil {
				found.Copies = map[rank.Ordinal][]rank.Ordinal{}
			}
			found.Copies[o] = others
		}
	}
	if len(a.degraded) > 0 {
		return Evidence{}, fmt.Errorf("source %s: %s", a.degraded[0].Source, a.degraded[0].Reason)
	}
	return found, keepOrder(found.Table, p.view.Passages())
}

// copyHeld looks up what the passages hold, so that nothing of the collection is needed later.
func copyHeld(k fusion.Keys, passages []rank.Ordinal) fusion.Keys {
	if k.Held == nil {
		return k
	}
	sets := make(map[rank.Ordinal]uint64, len(passages))
	for _, o := range passages {
		sets[o] = k.Held(o)
	}
	k.Held = func(o rank.Ordinal) uint64 { return sets[o] }
	return k
}

// keepOrder lets a table rank equal scores by ids without the passages.
func keepOrder(table *fusion.Candidates, passages storage.Passages) error {
	all := slices.Clone(table.Ordinals())
	if err := passages.SortByID(all); err != nil {
		return fmt.Errorf("the order of ids: %w", err)
	}
	if slices.IsSorted(all) {
		return nil // as the table ranks by itself
	}
	rows := table.Ordinals()
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
