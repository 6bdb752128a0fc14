// Package snapshot holds the view of a collection that the goroutines of one search share.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/storage"
)

// PinnedView is a view of a collection that several goroutines share. It is released when its last user releases it.
type PinnedView struct {
	storage.View
	Narrowed storage.Indexes  // the indexes to search: the view's own, or those of the passages that match the filter
	Types    conditions.Types // the declared types of metadata fields
	Where    conditions.Node  // the condition on tags and metadata of the filter and of the caller
	// Selected returns how many passages match the filter; nil: there is no filter.
	Selected  func(context.Context) (int, error)
	narrowing sync.Mutex // held by Narrow
	users     atomic.Int64
}

// Pin returns a view with one user. types are the declared types of its metadata fields. Call Release at the end.
func Pin(view storage.View, types conditions.Types) *PinnedView {
	p := &PinnedView{View: view, Types: types}
	p.Narrowed = p.View
	p.users.Store(1)
	return p
}

// Separate returns a PinnedView of the same view that shares no fetched data with p, for one of several independent
// questions. It returns p itself if the store fetches nothing. p must be held for as long as the result is used; the
// result needs no Release.
func (p *PinnedView) Separate() *PinnedView {
	indexes, ok := p.Narrowed.(storage.Separable)
	if !ok {
		return p
	}
	out := &PinnedView{View: p.View, Narrowed: indexes.Separate(), Types: p.Types, Where: p.Where, Selected: p.Selected}
	out.users.Store(1) // that p's users have: it is never released
	return out
}

// Hold adds a user, who has to call Release.
func (p *PinnedView) Hold() { p.users.Add(1) }

// Release removes a user, and releases the view if that was the last one.
func (p *PinnedView) Release() {
	if p.users.Add(-1) == 0 {
		p.View.Release()
	}
}

// Narrow restricts p.Narrowed to the passages that match a filter and that the caller in the context may see. Call it
// before the sources are asked; only the first call that restricts has an effect. It fails if the filter does not fit
// the fields of the collection (*conditions.MisfitError) or cannot be evaluated.
func (p *PinnedView) Narrow(ctx context.Context, f storage.Filter) error {
	if f.Empty() && !identity.IsRestricted(ctx) {
		return nil
	}
	p.narrowing.Lock()
	defer p.narrowing.Unlock()
	if p.Selected != nil {
		return nil
	}
	where, wrong := f.Condition.Compile(p.Types)
	if wrong != nil {
		return &conditions.MisfitError{Problems: wrong}
	}
	if only := p.restriction(ctx); !only.LetsAll() {
		where = conditions.Node{Op: conditions.And, Nodes: []conditions.Node{where, only}}
	}
	f.Where = where
	p.Where = where
	return run.Guard(func() error {
		indexes, n, err := p.View.Among(ctx, f)
		if err != nil {
			p.showValues(ctx, err)
			return fmt.Errorf("selecting passages by the filter: %w", err)
		}
		p.Narrowed, p.Selected = indexes, n
		return nil
	})
}

// CollectionOf returns the name of the collection that a passage is of; "" if only one is searched.
func (p *PinnedView) CollectionOf(passage rank.Ordinal) string {
	if several, ok := p.View.(storage.MultiCollection); ok {
		return several.CollectionOf(passage)
	}
	return ""
}

// Lookup finds passages of a collection by their ids, in the order of ids. collection is the passages' CollectionOf: ""
// unless several are searched. One that does not exist has Found.There false. It fails if the store does.
func (p *PinnedView) Lookup(ctx context.Context, collection string, ids []string) ([]storage.Found, error) {
	if several, ok := p.View.(storage.MultiCollection); ok {
		return several.LookupIn(ctx, collection, ids)
	}
	return p.Passages().Lookup(ctx, ids)
}

// Vocabulary returns the words of the collection for spelling correction; nil if the store does not list them.
func (p *PinnedView) Vocabulary() storage.Vocabulary {
	if v, ok := p.View.(interface{ Vocabulary() storage.Vocabulary }); ok {
		return v.Vocabulary()
	}
	return nil
}

// restriction returns the condition on passages that the caller in the context may see. It matches all passages if the
// caller is not restricted, and none if the restriction does not fit the types of the fields.
func (p *PinnedView) restriction(ctx context.Context) conditions.Node {
	to := identity.Of(ctx).Restriction
	if to == nil {
		return conditions.Node{}
	}
	node, wrong := to.Compile(p.Types)
	if wrong != nil {
		return conditions.Node{Op: conditions.Or}
	}
	return node.Unsaid()
}

// Visible reports whether the caller in the context may see a passage, by the passage's tags and metadata.
func (p *PinnedView) Visible(ctx context.Context, passage *corpus.Passage) bool {
	n := p.restriction(ctx)
	return n.Matches(passage.Tags, passage.Metadata)
}

// showValues adds the most frequent values of a field to each problem of a *conditions.MisfitError, among the passages
// that the caller may see. It does nothing for other errors, or if values cannot be counted.
func (p *PinnedView) showValues(ctx context.Context, err error) {
	var misfit *conditions.MisfitError
	if !errors.As(err, &misfit) {
		return
	}
	for i := range misfit.Problems {
		problem := &misfit.Problems[i]
		if problem.Field == "" {
			continue
		}
		seen, _, err := p.View.Among(ctx, storage.Filter{Where: p.restriction(ctx)})
		if err != nil {
			return
		}
		values, err := ValuesIn(ctx, seen, problem.Field, shownValues)
		if err != nil || len(values) == 0 {
			return
		}
		var shown []string
		for _, v := range values {
			shown = append(shown, wording.Shorten(v.Value.String()))
		}
		problem.Detail += "; its most frequent values are " + strings.Join(shown, ", ")
	}
}

// shownValues is the number of values of a field that showValues adds.
const shownValues = 3

// ValuesIn returns the most frequent values of a field among the passages of indexes, at most so many. It returns an
// empty list if the store does not count values. It fails if counting does.
func ValuesIn(ctx context.Context, indexes storage.Indexes, field string, most int) ([]storage.FacetValue, error) {
	counter, ok := indexes.(storage.FacetCounter)
	if !ok {
		return []storage.FacetValue{}, nil
	}
	facet, err := counter.Facet(ctx, field, most)
	return facet.Selected, err
}
