package question

import (
	"context"
	"fmt"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/reply"
)

// mostEndings is how many words a question's last word is completed to, and leastBegun the letters that it needs.
const (
	mostEndings = 8
	leastBegun  = 2
)

// Completer completes the last word of questions that are still typed.
type Completer struct{ Run run.Runner }

// Completed is a question whose last word was completed.
type Completed struct {
	Question string
	Others   []string           // other words of the collection that begin as the last one was typed
	Changes  []reply.Correction // the last word, if another one has taken its place
	Doubt    string             // why it was not completed, for users; "": it was, or there was nothing to complete
}

// Complete completes the last word of a question by the words of the collection that begin as it does, the most
// frequent first. If the collection does not have the word itself, the first of them takes its place. It changes
// nothing if the question does not end with a letter or digit, or if no word begins so.
func (c Completer) Complete(ctx context.Context, view *snapshot.PinnedView, question string) (out Completed) {
	out.Question = question
	vocabulary := view.Vocabulary()
	end, _ := utf8.DecodeLastRuneInString(question)
	words := content.WordsIn(question)
	if vocabulary == nil || len(words) == 0 || !unicode.IsLetter(end) && !unicode.IsDigit(end) {
		return out
	}
	last := words[len(words)-1]
	if utf8.RuneCountInString(last.Lower) < leastBegun {
		return out
	}
	var found []spelling.Candidate
	known := false
	err := c.Run.Compute(ctx, func(ctx context.Context) error {
		spelled, err := vocabulary.Look(ctx, []string{last.Lower})
		if err != nil {
			return err
		}
		known = spelled[0].Known
		found, err = vocabulary.Beginning(ctx, last.Lower, mostEndings)
		return err
	})
	if err != nil {
		c.Run.Report.Source(ctx, reply.WordSource, reply.StatusFailed, fmt.Errorf("completing the last word: %w", err))
		out.Doubt = "the last word was not completed, since that failed or took too long"
		return out
	}
	for _, x := range found {
		out.Others = append(out.Others, x.Word)
	}
	if known || len(found) == 0 {
		return out
	}
	out.Question = question[:last.Begin] + found[0].Word
	out.Changes = []reply.Correction{{From: question[last.Begin:], To: found[0].Word}}
	out.Others = out.Others[1:]
	return out
}
