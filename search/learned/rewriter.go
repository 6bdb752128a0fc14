package learned

import (
	"context"
)

// Rewriter makes a question that stands alone of the last message of a conversation.
type Rewriter interface {
	// Rewrite returns the question, by those before it, the last one last.
	Rewrite(ctx context.Context, before []string, question string) (string, error)
}
