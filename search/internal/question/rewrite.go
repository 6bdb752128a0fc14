package question

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
)

// ShareOfRewriting divides a generator's time: rewriting a message may take the fourth part.
const ShareOfRewriting = 4

// Rewrite lets a model rewrite the last message of a conversation as a question that stands alone, and returns the
// question with single spaces. before are the messages before it, oldest first. It fails if the model does, needs
// longer than within, or gives an empty question or one of more than `bytes` bytes. The question is "" with an error.
func Rewrite(
	ctx context.Context,
	model learned.Rewriter,
	before []string,
	message string,
	bytes int,
	within time.Duration,
) (question string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = run.Guard(func() (err error) {
		question, err = model.Rewrite(ctx, before, message)
		return err
	})
	question = strings.Join(strings.Fields(question), " ")
	switch {
	case err == nil && question != "" && len(question) <= bytes:
		return question, nil
	case err == nil:
		err = fmt.Errorf("the question it made has %d bytes, of which 1 to %d are allowed", len(question), bytes)
	case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("it had not made a question in %v", within)
	}
	return "", err
}
