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

// written is what asking a generator gave.
type written struct {
	Answer   *reply.Generated // nil: there is none
	Notes    []string
	Degraded []reply.Missing
}

// Following is told how an answer is written. All of its functions are set.
type Following struct {
	Written  func(text string)             // is told the text so far, whenever it is longer
	Sentence func(s reply.WrittenSentence) // is told each sentence once it is whole and compared with what it cites
	// Idle is called when a model on another machine begins to write, and what it returns when that has ended.
	Idle func() (goOn func())
}

// Generate lets a generator answer from the passages that were found, unless the verdict on them is that they do not
// answer. If the generator fails or runs out of time, a note under degraded says so.
func (a *Answer) Generate(ctx context.Context, verdict reply.Verdict, follow Following) (out written, err error) {
	writer := a.Plan.Writer
	if writer == nil || len(a.ToRead) == 0 {
		return out, nil
	}
	if verdict == reply.VerdictNotFound {
		out.Notes = append(out.Notes, fmt.Sprintf(
			"%s was not asked for an answer: the passages do not answer the question (verdict %s)", writer.Name, reply.VerdictNotFound))
		return out, nil
	}
	items, passages, err := a.Texts(ctx, a.ToRead[:min(a.Plan.Answer.Passages, len(a.ToRead))])
	if err != nil || len(passages) == 0 {
		return out, err
	}
	within, cancel := leaveTimeToFetch(ctx)
	defer cancel()
	w := learned.Writing{Question: a.Asked, Passages: passages, MaxTokens: a.Plan.Answer.MaxTokens,
		Form: a.Plan.Answer.Form, Each: follow.Written, Sentence: follow.Sentence}
	if a.Plan.Inquiry.Writing > 0 { // a model that reads a conversation as one
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
		a.noteLate(ctx, writer.Name, err, "written an answer", "there is none")
		out.Degraded = append(out.Degraded, a.Degraded[before:]...)
		return out, nil
	}
	if err := run.CheckCaller(ctx); err != nil {
		return out, err
	}
	if wrote.Cut != "" {
		out.Degraded = append(out.Degraded, reply.Missing{Source: writer.Name, Reason: wrote.Cut})
	}
	of := make([]string, len(items))
	for i, item := range items {
		of[i] = a.Found.View.CollectionOf(item.Ordinal)
	}
	out.Answer = generated(writer.Name, passages, of, wrote)
	return out, nil
}

// generated returns what was written from passages, which are of these collections.
func generated(name string, passages []corpus.Passage, of []string, g learned.Generation) *reply.Generated {
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
		s := reply.Support{Passage: p.ID, Collection: of[i], Share: run.Printed(g.Shares[i]), Place: reply.PlaceOf(p)}
		out.Support = append(out.Support, s)
	}
	var cited []int
	for _, s := range g.Sentences {
		cited = append(cited, s.Citations...)
	}
	slices.Sort(cited)
	for _, n := range slices.Compact(cited) {
		p := &passages[n-1]
		c := reply.Citation{Number: n, Passage: p.ID, Collection: of[n-1], Title: p.Title, Place: reply.PlaceOf(p)}
		out.Citations = append(out.Citations, c)
	}
	return out
}

const mostSupport = 3
