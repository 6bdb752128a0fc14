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
	defer l.panel.Users.Leave()
	r.Fusion = Methods{Names: []string{fusion.MethodSum}}
	r.Specialists = 0
	p, err := l.plan(&r)
	if err != nil {
		return Evidence{}, err
	}
	q := p.Inquiry
	q.Candidates = max(p.Inquiry.Candidates, depth)
	q.Wanted = slices.Clone(p.Experts)
	for at := len(l.panel.Experts); at < len(l.panel.Sources); at++ {
		if l.panel.Sources[at].Kind() != reply.KindLexical || r.words() {
			q.Wanted = append(q.Wanted, at)
		}
	}
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
	return l.evidence(ctx, o.found, p, depth)
}

// evidence returns what the sources of a pass found, completed for a plan.
func (l *lineUp) evidence(ctx context.Context, p *sources.Findings, by *plan.Plan, depth int) (Evidence, error) {
	found := Evidence{Table: new(fusion.Candidates)}
	found.Wording, _ = p.Panel.Wording(p.Inquiry.Question)
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
		for _, o := range a.Observed(ctx, p.Panel.Familiarities(a.Known), true) {
			found.Sources[o.Column].Observed = o
		}
		found.Wording.Keys = copyHeld(a.Keys(ctx), a.Table.Ordinals())
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
