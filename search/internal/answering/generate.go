package answering

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// generationResult is the result of asking a generator.
type generationResult struct {
	Answer   *reply.Generated // nil: it was not asked, or it failed
	Notes    []string
	Degraded []reply.Missing
}

// GenerationEvents has the functions that are called while an answer is written. None may be nil.
type GenerationEvents struct {
	Written  func(text string)             // gets the whole text so far, each time it has grown
	Sentence func(s reply.WrittenSentence) // gets each complete sentence, after it was compared with what it cites
	// Idle is called when a model on another machine begins to write; goOn is called when it has ended.
	Idle func() (goOn func())
}

// Generate lets the plan's generator write an answer from the pinned passages and those in a.ToRead. It asks none if
// the plan has none, there are no passages, or the verdict is VerdictNotFound and nothing is pinned; then out.Answer is
// nil, and out.Notes has the reason if it was the verdict. If the generator fails or runs out of time, out.Degraded has
// a note. It fails if passages cannot be read, or if the caller is gone.
func (a *Answer) Generate(
	ctx context.Context, verdict reply.Verdict, follow GenerationEvents,
) (out generationResult, err error) {
	writer := a.Plan.Writer
	if writer == nil {
		return out, nil
	}
	toRead := a.withPins(0, a.ToRead)
	if len(toRead) == 0 {
		return out, nil
	}
	if verdict == reply.VerdictNotFound && !a.HasPins() {
		out.Notes = append(out.Notes, fmt.Sprintf(
			"%s was not asked for an answer: the passages do not answer the question (verdict %s)", writer.Name, reply.VerdictNotFound))
		return out, nil
	}
	items, passages, err := a.Texts(ctx, toRead[:min(a.Plan.Answer.Passages, len(toRead))])
	if err != nil || len(passages) == 0 {
		return out, err
	}
	within, cancel := leaveTimeToFetch(ctx)
	defer cancel()
	w := learned.WriteRequest{Question: a.Asked, Passages: passages, MaxTokens: a.Plan.Answer.MaxTokens,
		Form: a.Plan.Answer.Form, Each: follow.Written, Sentence: follow.Sentence}
	if a.Plan.Inquiry.WritingTime > 0 { // a model that reads a conversation as one
		w.Question, w.Before = a.Found.Inquiry.Question, a.Found.Inquiry.Before
		defer follow.Idle()()
	}
	var wrote learned.Generation
	err = run.Guard(func() (err error) {
		wrote, err = writer.Generator.Generate(within, w)
		if err == nil && wrote.Shares != nil && len(wrote.Shares) != len(passages) {
			err = fmt.Errorf("the generator attended to %d passages of %d", len(wrote.Shares), len(passages))
		}
		return err
	})
	if err != nil {
		if run.CheckCaller(ctx) != nil {
			return out, err
		}
		before := len(a.Degraded)
		a.noteMissingModel(ctx, writer.Name, err, "written an answer", "there is none")
		out.Degraded = append(out.Degraded, a.Degraded[before:]...)
		return out, nil
	}
	if err := run.CheckCaller(ctx); err != nil {
		return out, err
	}
	if wrote.Cut != "" {
		out.Degraded = append(out.Degraded, reply.Missing{Source: writer.Name, Reason: wrote.Cut})
	}
	collections := make([]string, len(items))
	for i, item := range items {
		collections[i] = a.Found.View.CollectionOf(item.Ordinal)
	}
	out.Answer = newGenerated(writer.Name, passages, collections, wrote)
	return out, nil
}

// newGenerated returns a generator's text as the API gives it, with the passages that it attended to most (at most
// mostSupport) and those that it cites. collections are those of the passages, in the same order. g.Sentences cite
// passages by their number, counted from 1; a number that no passage has makes it panic.
func newGenerated(name string, passages []corpus.Passage, collections []string, g learned.Generation) *reply.Generated {
	out := &reply.Generated{
		Text:      g.Text,
		Generated: true,
		Reader:    name,
		Complete:  g.Complete,
		Tokens:    g.Tokens,
		Support:   []reply.Support{},
		Refused:   g.Refused,
		Sentences: g.Sentences,
		Dropped:   g.Dropped,
	}
	if g.LogProbability != nil {
		out.Score = run.Printed(math.Exp(*g.LogProbability))
	}
	order := make([]int, len(g.Shares))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Shares[b], g.Shares[a]) })
	for _, i := range order[:min(mostSupport, len(order))] {
		p := &passages[i]
		out.Support = append(out.Support, reply.Support{
			Passage: p.ID, Collection: collections[i], Share: run.Printed(g.Shares[i]), Place: reply.PlaceOf(p),
		})
	}
	var cited []int
	for _, s := range g.Sentences {
		cited = append(cited, s.Citations...)
	}
	slices.Sort(cited)
	for _, n := range slices.Compact(cited) {
		p := &passages[n-1]
		c := reply.Citation{Number: n, Passage: p.ID, Collection: collections[n-1], Title: p.Title, Place: reply.PlaceOf(p)}
		out.Citations = append(out.Citations, c)
	}
	return out
}

// mostSupport is the greatest number of passages that are named as a generated answer's support.
const mostSupport = 3
