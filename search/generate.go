package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// Generator writes an answer to a question from passages.
type Generator interface {
	// Generate writes at most maxTokens tokens. each is told the text so far whenever it
	// is longer. The error may have a method Advice() string, which says what a caller
	// can do about it.
	Generate(
		ctx context.Context,
		question string,
		passages []corpus.Passage,
		maxTokens int,
		each func(text string),
	) (Generation, error)
}

// Generation is what a generator wrote.
type Generation struct {
	Text     string
	Complete bool // the model ended it, not maxTokens
	Tokens   int
	// LogProbability is that of the tokens, given question and passages.
	LogProbability float64
	// Shares is how the attention of the answer is spread over the passages, in their
	// order; they add up to 1.
	Shares []float64
}

// Generated is an answer in a generator's words.
type Generated struct {
	Text string `json:"text"`
	// Generated is true: it says to whoever shows the answer that a model wrote it.
	Generated bool   `json:"generated"`
	Reader    string `json:"reader"`
	Complete  bool   `json:"complete"` // it ended by itself, and not at max_tokens
	Tokens    int    `json:"tokens"`
	// Score is the probability of these tokens by the model alone.
	Score float64 `json:"score"`
	// Support are the passages that have the most of the model's attention.
	Support []Support `json:"support"`
}

// Support is a passage that a generated answer attends to, and how much of its
// attention that has, 0 to 1, among the passages that were read.
type Support struct {
	Passage string  `json:"passage"` // its id
	Share   float64 `json:"share"`
	Place
}

// What a generator reads and writes where a request does not say.
const (
	UsuallyGenerated = 32 // tokens
	UsuallyFused     = 20 // passages
)

const (
	mostGenerated = 256
	mostSupport   = 3
)

// planGenerated checks what is asked of a generator and fills in the defaults.
func (p *plan) planGenerated(o AnswerOptions, wrong *problems) {
	p.writes = true
	p.answer.Passages = wrong.count("/answer/passages", o.Passages, UsuallyFused, MostRead)
	p.answer.MaxTokens = wrong.count("/answer/max_tokens", o.MaxTokens, UsuallyGenerated, mostGenerated)
	for option, given := range map[string]bool{"combine": o.Combine != "", "min_chance": o.MinChance != nil} {
		if given {
			wrong.add(
				"unused_option",
				"/answer/"+option,
				"%s is for readers that mark words, and %s writes its answer: leave it out",
				option,
				wording.Quote(p.reader.Name),
			)
		}
	}
}

type watchKey struct{}

// Watching is told of an answer while it is made.
type Watching struct {
	// Found is told the response before an answer is generated. Its error ends the
	// search.
	Found func(Response) error
	// Written is told the generated text so far, whenever it is longer.
	Written func(text string)
}

// Watched lets w follow the search of a context. It is called from Search's own
// goroutine.
func Watched(ctx context.Context, w Watching) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

func watchingOf(ctx context.Context) Watching {
	w, _ := ctx.Value(watchKey{}).(Watching)
	return w
}

// generate lets a generator answer from the passages that were found. If the generator
// fails or runs out of time, a note under Degraded says so.
func (a *answer) generate(ctx context.Context) error {
	watching := watchingOf(ctx)
	if watching.Found != nil {
		if err := watching.Found(a.response); err != nil {
			return err
		}
	}
	reader := a.plan.reader
	if !a.plan.writes || len(a.toRead) == 0 {
		return nil
	}
	_, passages, err := a.texts(ctx, a.toRead)
	if err != nil || len(passages) == 0 {
		return err
	}
	if watching.Written == nil {
		watching.Written = func(string) {}
	}
	within, cancel := leaveTimeToFetch(ctx)
	defer cancel()
	var wrote Generation
	err = guard(func() (err error) {
		wrote, err = reader.Generator.Generate(within, a.asked, passages, a.plan.answer.MaxTokens, watching.Written)
		if err == nil && len(wrote.Shares) != len(passages) {
			err = fmt.Errorf("the generator attended to %d passages of %d", len(wrote.Shares), len(passages))
		}
		return err
	})
	if err != nil {
		if checkCaller(ctx) != nil {
			return err
		}
		before := len(a.degraded)
		a.noteUnanswered(ctx, err)
		a.response.Degraded = append(a.response.Degraded, a.degraded[before:]...)
		return nil
	}
	a.response.Generated = generated(reader.Name, passages, wrote)
	return nil
}

func generated(name string, passages []corpus.Passage, g Generation) *Generated {
	out := &Generated{
		Text:      g.Text,
		Generated: true,
		Reader:    name,
		Complete:  g.Complete,
		Tokens:    g.Tokens,
		Score:     printed(math.Exp(g.LogProbability)),
		Support:   []Support{},
	}
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Shares[b], g.Shares[a]) })
	for _, i := range order[:min(mostSupport, len(order))] {
		p := &passages[i]
		out.Support = append(out.Support, Support{Passage: p.ID, Share: printed(g.Shares[i]), Place: PlaceOf(p)})
	}
	return out
}

// adviceOf returns an error's advice to the caller, "" if it has none.
func adviceOf(err error) string {
	var known interface{ Advice() string }
	if errors.As(err, &known) {
		return known.Advice()
	}
	return ""
}
