package search

import (
	"context"
	"sync"
	"time"

	"example.org/conclave/internal/identity"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
) // askInConversation puts an inquiry to its sources, and at the same time the same question behind those before it
// where there are any; behind "" is none.
func (l *lineUp) askInConversation(
	ctx context.Context,
	q sources.Inquiry,
	behind string,
	view *snapshot.Pinned,
) *outcome {
	ask := func(q sources.Inquiry) *outcome {
		o := &outcome{}
		if q.Correct &&
			!identity.IsRestricted(ctx) { // what is said of it may be words of passages that are not seen
			speller := question.Speller{Run: l.panel.Run, Language: l.language}
			q.Question, o.corrections, o.doubt = speller.Correct(ctx, view, q.Question)
		}
		q.Words, o.synonyms = question.AddSynonyms(q.Question, l.defaults.Synonyms)
		o.found = l.panel.Ask(ctx, q, view)
		return o
	}
	var running sync.WaitGroup
	var earlier *outcome
	if behind != "" {
		other := q
		other.Question = behind
		running.Go(func() { earlier = ask(other) })
	}
	o := ask(q)
	running.Wait()
	if earlier != nil {
		o.earlier = earlier.found
	}
	return o
}

// rewriteMessages lets the generator of a request make a question that stands alone of the last message of a
// conversation. The question takes the place of all the messages, of at most so many bytes. It returns how long that
// took. If it fails, the messages are asked as without it, and the answer says so.
func rewriteMessages(ctx context.Context, by Caller, p *plan.Plan, bytes int) time.Duration {
	if len(p.Inquiry.Before) == 0 || p.Writer == nil || p.Writer.Rewriter == nil {
		return 0
	}
	defer by.wait()()
	began := time.Now()
	within := p.Inquiry.Writing / question.ShareOfRewriting
	question, err := question.Rewrite(ctx, p.Writer.Rewriter, p.Inquiry.Before, p.Inquiry.Question, bytes, within)
	if err == nil {
		if question != p.Inquiry.Question {
			p.Inquiry.Message = p.Inquiry.Question
		}
		p.Inquiry.Question, p.Inquiry.Before = question, nil
		return time.Since(began)
	}
	reason := run.AdviceOf(err)
	if reason == "" {
		reason = err.Error()
	}
	p.Unwritten = &reply.Missing{
		Source: p.Writer.Name,
		Reason: "the last message was asked as it is and behind those before it, " +
			"not as a question that stands alone: " + reason,
	}
	return time.Since(began)
}
