package search

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"example.org/conclave/internal/completion"
	"example.org/conclave/internal/identity"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
)

const (
	longestTyped = 300 // bytes of what was typed
	mostCallers  = 16  // with different restrictions, for whom suggestions are kept
	// mostShare is how much longer than it took to collect them suggestions are used after a change: so a collection
	// that changes all the time spends a hundredth of it on them.
	mostShare = 100
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
	generation uint64
	collected  time.Time
	took       time.Duration
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
// mostShare times as long as it took to collect it. It fails if collect does.
func (c *callerSuggestions) get(
	generation uint64,
	now func() time.Time,
	collect func() (*completion.Index, error),
) (*completion.Index, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := now()
	if c.index != nil && (c.generation == generation || began.Sub(c.collected) < mostShare*c.took) {
		return c.index, nil
	}
	index, err := collect()
	if err != nil {
		return nil, err
	}
	c.index, c.generation = index, generation
	c.collected = now()
	c.took = c.collected.Sub(began)
	return index, nil
}

// Suggest returns completions of what somebody begins to type (completion.Index.Complete), out of the titles and
// headings of the passages that the caller may see. It returns a *fault.Error: of kind Invalid for a text without or
// with more than longestTyped bytes or an impossible limit, of kind Unavailable if titles cannot be read or the engine
// is closed.
func (e *Engine) Suggest(ctx context.Context, by Caller, q lookup.SuggestRequest) ([]lookup.Suggestion, error) {
	var wrong fault.Problems
	if len(q.Text) > longestTyped {
		wrong.Add("out_of_range", "/q", "the text has %d bytes: at most %d are allowed", len(q.Text), longestTyped)
	}
	limit := wrong.Count("/limit", q.Limit, lookup.UsualSuggestions, lookup.MostSuggestions)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	r, done, err := e.newReader(by)
	if err != nil {
		return nil, err
	}
	defer done()
	restriction, err := json.Marshal(identity.Of(ctx).Restriction)
	if err != nil {
		return nil, err
	}
	index, err := e.suggestions.of(string(restriction)).get(
		r.View.Generation(), time.Now, func() (*completion.Index, error) { return r.Suggestions(ctx) },
	)
	if err != nil {
		return nil, err
	}
	out := []lookup.Suggestion{}
	for _, c := range index.Complete(q.Text, limit) {
		out = append(out, lookup.Suggestion{Text: c.Text, Kind: c.Kind, Passages: c.Passages, Corrected: c.Corrected})
	}
	return out, nil
}
