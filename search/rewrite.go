package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/conclave/search/internal/run"
)

// Rewriter makes a question that stands alone of the last message of a conversation.
type Rewriter interface {
	// Rewrite returns the question, by those before it, the last one last.
	Rewrite(ctx context.Context, before []string, question string) (string, error)
}

// shareOfRewriting is which part of a generator's time it may take to rewrite.
const shareOfRewriting = 4

// rewrite lets the generator of a request make a question that stands alone of the last message of a
// conversation. The question takes the place of all the messages, of at most so many bytes. It returns how long that
// took. Where it fails, the messages are asked as without it, and the answer says so.
func (p *plan) rewrite(ctx context.Context, bytes int) time.Duration {
	if len(p.inquiry.Before) == 0 || p.writer == nil || p.writer.Rewriter == nil {
		return 0
	}
	defer wait(ctx)()
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, p.inquiry.Writing/shareOfRewriting)
	defer cancel()
	var question string
	err := run.Guard(func() (err error) {
		question, err = p.writer.Rewriter.Rewrite(within, p.inquiry.Before, p.inquiry.Question)
		return err
	})
	question = strings.Join(strings.Fields(question), " ")
	switch {
	case err == nil && question != "" && len(question) <= bytes:
		if question != p.inquiry.Question {
			p.inquiry.Message = p.inquiry.Question
		}
		p.inquiry.Question, p.inquiry.Before = question, nil
		return time.Since(began)
	case err == nil:
		err = fmt.Errorf("the question it made has %d bytes, of which 1 to %d are allowed", len(question), bytes)
	case within.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it had not made a question in %v", p.inquiry.Writing/shareOfRewriting)
	}
	reason := run.AdviceOf(err)
	if reason == "" {
		reason = err.Error()
	}
	p.unwritten = &Missing{Source: p.writer.Name, Reason: "the last message was asked as it is and behind those before it, " +
		"not as a question that stands alone: " + reason}
	return time.Since(began)
}
