package learned

import (
	"context"
)

// Rewriter rewrites the last message of a conversation as a question that can be understood alone.
type Rewriter interface {
	// Rewrite returns the message question as a question that stands alone. before are the messages before it, oldest
	// first.
	Rewrite(ctx context.Context, before []string, question string) (string, error)
}
