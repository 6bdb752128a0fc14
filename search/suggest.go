package search

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"example.org/conclave/internal/completion"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/turn"
)

const (
	longestTyped = 300 // bytes of what was typed
	mostCallers  = 16  // with different restrictions, for whom suggestions are kept
	// mostShare is how much longer than it took to collect them suggestions are used after a change: so a collection
	// that changes all the time spends a hundredth of it on them.
	mostShare = 100
	// mostWait is how long a request waits for titles that are being collected. Above it, it is answered by what there
	// is, and collecting goes on.
	mostWait = time.Second
	// mostCollecting is how long collecting titles may take.
	mostCollecting = 5 * time.Minute
)

// suggestions keeps what is suggested to callers, each with the passages that they may see. The zero value is empty.
// Several goroutines may use it.
type suggestions struct {
	mu   sync.Mutex
	kept map[string]*callerSuggestions // by the restriction, as JSON; at most mostCallers
}

// callerSuggestions is what is suggested to callers with one restriction.
type callerSuggestions struct {
	mu         sync.Mutex
	index      *completion.Index // nil: not collected yet
	generation uint64            // of index
	collected  time.Time         // when index was
	took       time.Duration     // to collect it
	collecting chan struct{}     // closed when the collection that runs has ended; nil: none runs
	failed     error             // why the last collection failed; nil: it did not
}

// of returns what is kept for callers with a restriction, as JSON. Above mostCallers it forgets what is kept for
// another one.
func (s *suggestions) of(restriction string) *callerSuggestions {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.kept[restriction]
	if c != nil {
		return c
	}
	if s.kept == nil {
		s.kept = map[string]*callerSuggestions{}
	}
	for other := range s.kept {
		if len(s.kept) < mostCallers {
			break
		}
		delete(s.kept, other)
	}
	c = &callerSuggestions{}
	s.kept[restriction] = c
	return c
}

// get returns the index for a generation, by collect if there is none. An index of another generation is used for
// mostShare times as long as it took to collect it. collect runs in a goroutine of its own, one at a time: get waits
// for it as long as ctx and mostWait let it, and then returns the index of an earlier generation, or nil if there is
// none yet. It fails if ctx has ended and gets no turn again, or if there is no index and the collection that it waited
// for failed.
func (c *callerSuggestions) get(
	ctx context.Context,
	generation uint64,
	now func() time.Time,
	collect func() (*completion.Index, error),
) (*completion.Index, error) {
	c.mu.Lock()
	began := now()
	if c.index != nil && (c.generation == generation || began.Sub(c.collected) < mostShare*c.took) {
		defer c.mu.Unlock()
		return c.index, nil
	}
	if c.collecting == nil {
		c.collecting = make(chan struct{})
		go c.collect(generation, began, now, collect)
	}
	ended := c.collecting
	c.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	err := turn.Elsewhere(ctx, func() error {
		select {
		case <-ended:
		case <-waiting.Done():
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index != nil {
		return c.index, nil
	}
	return nil, c.failed
}

// collect sets the index by what collect returns, or failed by its error or panic, and closes c.collecting.
func (c *callerSuggestions) collect(
	generation uint64,
	began time.Time,
	now func() time.Time,
	collect func() (*completion.Index, error),
) {
	var index *completion.Index
	err := run.Guard(func() (err error) {
		index, err = collect()
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.collecting)
	c.collecting, c.failed = nil, err
	if err == nil {
		c.index, c.generation = index, generation
		c.collected = now()
		c.took = c.collected.Sub(began)
	}
}

// Suggest returns completions of what somebody begins to type (completion.Index.Complete), out of the titles and
// headings of the passages that the caller may see. Titles are collected in the background at the first request after a
// change: collecting is true, and there are no completions, if they were not collected within mostWait. It returns a
// *fault.Error: of kind Invalid for a text without or with more than longestTyped bytes or an impossible limit, of kind
// Unavailable if titles cannot be read or the engine is closed.
func (e *Engine) Suggest(
	ctx context.Context, by Caller, q lookup.SuggestRequest,
) (found []lookup.Suggestion, collecting bool, err error) {
	var wrong fault.Problems
	if len(q.Text) > longestTyped {
		wrong.Add("out_of_range", "/q", "the text has %d bytes: at most %d are allowed", len(q.Text), longestTyped)
	}
	limit := wrong.Count("/limit", q.Limit, lookup.UsualSuggestions, lookup.MostSuggestions)
	if err := wrong.Err(); err != nil {
		return nil, false, err
	}
	restriction, err := json.Marshal(identity.Of(ctx).Restriction)
	if err != nil {
		return nil, false, err
	}
	view, done, err := e.newReader(by)
	if err != nil {
		return nil, false, err
	}
	generation := view.View.Generation()
	done()
	index, err := e.suggestions.of(string(restriction)).get(
		ctx, generation, time.Now, func() (*completion.Index, error) { return e.collectSuggestions(ctx) },
	)
	if err != nil {
		return nil, false, err
	}
	out := []lookup.Suggestion{}
	if index == nil {
		return out, true, nil
	}
	for _, c := range index.Complete(q.Text, limit) {
		out = append(out, lookup.Suggestion{Text: c.Text, Kind: c.Kind, Passages: c.Passages, Corrected: c.Corrected})
	}
	return out, false, nil
}

// collectSuggestions returns the index of the titles and headings that the caller in the context may see. It does not
// end with the request of ctx, but after mostCollecting. It fails if they cannot be read or the engine is closed.
func (e *Engine) collectSuggestions(ctx context.Context) (*completion.Index, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(turn.WithoutTurn(ctx)), mostCollecting)
	defer cancel()
	r, done, err := e.newReader(Caller{})
	if err != nil {
		return nil, err
	}
	defer done()
	return r.Suggestions(ctx)
}
