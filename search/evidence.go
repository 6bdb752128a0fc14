package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// Evidence is what the sources found for one question, before fusion, for calibration. It has no reference to the
// collection.
type Evidence struct {
	// Sources are the experts that were asked, in the engine's order, then BM25 over words, then over phrases, nearness
	// and late interaction if the collection has them. Column i of Table is Sources[i].
	Sources []SourceEvidence
	// Table has the hits of all sources, and the exact scores of each for the hits of the others.
	Table   *fusion.Candidates
	Wording fusion.Wording
	// Language is the code of the question's language; "": the collection has no passages in it, or it is not known.
	Language string
	// Copies has, for passages in Table, the others that were found with the same title and text; nil: there are none.
	Copies map[rank.Ordinal][]rank.Ordinal
}

// SourceEvidence is what one source found.
type SourceEvidence struct {
	Name string
	// Observed is what a gate reads of the source, without a confidence: the temperature for it is not known yet.
	fusion.ObservedSource
	Hits []rank.Hit
	// MemberScores are the scores of the ensemble's members for the first hits, at most as many as the depth: Members ×
	// hits numbers, member by member. It is empty without an ensemble or with fewer than two hits.
	MemberScores []float32
	Members      int
}

// Gather asks every source of the request and returns what they found, with the scores of the ensembles' members for
// the first depth hits. Unlike Search it fails if one source fails: what is fitted on the others would not fit what is
// served. Of the request, it uses Question, Experts, BM25, Candidates, Exact, Filter and TimeoutMS.
func (e *Engine) Gather(ctx context.Context, r Request, depth int) (Evidence, error) {
	return e.gather(ctx, r, depth, nil)
}

// GatherAmong asks every source of the request, as Gather does, but has them score the same passages: those that choose
// returns when it gets BM25's first hits, at least depth of them if there are so many. There are no scores of
// ensembles' members. It fails if one source or choose fails.
func (e *Engine) GatherAmong(
	ctx context.Context,
	r Request,
	depth int,
	choose func(words []rank.Hit) ([]rank.Ordinal, error),
) (Evidence, error) {
	return e.gather(ctx, r, depth, choose)
}

// gather returns what every source of the request found: each source's own hits if choose is nil, else the scores of
// the passages that choose returns when it gets BM25's first hits, at least depth of them if there are so many. It
// fails if one source or choose fails.
func (e *Engine) gather(
	ctx context.Context,
	r Request,
	depth int,
	choose func([]rank.Hit) ([]rank.Ordinal, error),
) (Evidence, error) {
	l, err := e.useLineUp()
	if err != nil {
		return Evidence{}, err
	}
	defer l.panel.Users.Leave()
	r.Fusion = Methods{Names: []string{fusion.MethodSum}}
	r.Specialists = 0
	p, err := l.plan(&r)
	if err != nil {
		return Evidence{}, err
	}
	q := p.Inquiry
	q.AnyLanguage = true // calibration weighs all sources
	q.Candidates = max(p.Inquiry.Candidates, depth)
	q.Wanted = slices.Clone(p.Experts)
	for at := len(l.panel.Experts); at < len(l.panel.Sources); at++ {
		if l.panel.Sources[at].Kind() != reply.KindLexical || r.wantsWords() {
			q.Wanted = append(q.Wanted, at)
		}
	}
	q.Wanted = l.panel.WithoutOtherLate(q.Wanted)
	o, _, release, err := l.ask(ctx, q, time.Now(), time.Time{})
	if err != nil {
		return Evidence{}, err
	}
	defer release()
	if choose != nil {
		if err := o.found.RestrictTo(ctx, choose); err != nil {
			return Evidence{}, err
		}
	}
	return l.collectEvidence(ctx, o.found, p, depth)
}

// collectEvidence returns what the sources found for a plan, with exact scores. It fails if one source failed. It
// shortens the Hits in p to the plan's candidates.
func (l *lineUp) collectEvidence(ctx context.Context, p *sources.Findings, by *plan.Plan, depth int) (Evidence, error) {
	found := Evidence{Table: new(fusion.Candidates)}
	found.Wording, _ = p.Wording(p.Inquiry.Question)
	if p.OwnLanguage() {
		found.Language = p.Language()
	}
	for i := range p.All {
		f := &p.All[i]
		if f.Status != reply.StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.Source.Name(), f.Reason, f.Cause)
		}
		s := SourceEvidence{Name: f.Source.Name()}
		if f.Members != nil && len(f.Hits) > 1 {
			var err error
			s.MemberScores, s.Members, err = f.Members(ctx, f.Hits[:min(len(f.Hits), depth)])
			if err != nil {
				return Evidence{}, fmt.Errorf("source %s: %w", s.Name, err)
			}
		}
		f.Hits = f.Hits[:min(len(f.Hits), by.Inquiry.Candidates)]
		s.Hits = f.Hits
		found.Sources = append(found.Sources, s)
	}
	a := answering.Ranking{Candidates: &answering.Candidates{
		Found: p, Rules: &l.rules, Plan: by, Findings: p.All, Table: found.Table, Known: p.Encoded(),
	}}
	err := run.Guard(func() error {
		if err := a.Complete(ctx); err != nil {
			return err
		}
		for _, o := range a.ObserveWith(ctx, p.Panel.Familiarities(a.Known), true) {
			found.Sources[o.Column].ObservedSource = o
		}
		found.Wording.Keys = copyKeySets(a.Keys(ctx), a.Table.Ordinals())
		return nil
	})
	if err != nil {
		return Evidence{}, fmt.Errorf("the sources' true scores: %w", err)
	}
	for _, f := range p.All { // one that follows may have failed by now
		if f.Status != reply.StatusOK {
			return Evidence{}, fmt.Errorf("source %s: %s: %w", f.Source.Name(), f.Reason, f.Cause)
		}
	}
	for _, o := range found.Table.Ordinals() {
		if others := p.CopiesOf(o); len(others) > 0 {
			if found.Copies == nil {
				found.Copies = map[rank.Ordinal][]rank.Ordinal{}
			}
			found.Copies[o] = others
		}
	}
	if len(a.Degraded) > 0 {
		return Evidence{}, fmt.Errorf("source %s: %s", a.Degraded[0].Source, a.Degraded[0].Reason)
	}
	return found, keepOrder(found.Table, p.View.Passages())
}

// copyKeySets returns k with a SetOf that no longer needs the collection: it looks up now which keys each of the
// passages has.
func copyKeySets(k fusion.Keys, passages []rank.Ordinal) fusion.Keys {
	if k.SetOf == nil {
		return k
	}
	sets := make(map[rank.Ordinal]uint64, len(passages))
	for _, o := range passages {
		sets[o] = k.SetOf(o)
	}
	k.SetOf = func(o rank.Ordinal) uint64 { return sets[o] }
	return k
}

// keepOrder makes a table order equal scores by the passages' ids without the collection: it looks up their order now.
// It fails if the ids cannot be read.
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
