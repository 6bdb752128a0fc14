package encoder

import "fmt"

// MemoryError says that an answer would take more memory than it may.
type MemoryError struct {
	Passages, Tokens int // that were to be read
	Needed, Limit    int64
}

// Error says how much memory the answer takes and to ask for fewer passages.
func (e *MemoryError) Error() string {
	return fmt.Sprintf(
		"answering from %d passages of together %d tokens takes %d MB of memory, and %d MB are allowed: ask for fewer passages",
		e.Passages, e.Tokens, megabytes(e.Needed), megabytes(e.Limit),
	)
}

// Advice returns the text of Error, which says what to do.
func (e *MemoryError) Advice() string { return e.Error() }

// megabytes returns a number of bytes in megabytes, rounded up, so that one above a limit is never shown as equal to
// it.
func megabytes(bytes int64) int64 { return (bytes + 999_999) / 1_000_000 }

// QuestionError says that a question leaves no room for a passage.
type QuestionError struct{ Tokens, Limit int }

// Error says how long the question may be.
func (e *QuestionError) Error() string {
	return fmt.Sprintf(
		"the question has %d tokens, and the generator reads %d of a question and a passage: ask a shorter one",
		e.Tokens, e.Limit,
	)
}

// Advice returns the text of Error, which says what to do.
func (e *QuestionError) Advice() string { return e.Error() }

// ScriptError says that the vocabulary lacks the characters of a question.
type ScriptError struct{ Unknown, Tokens int }

// Error says how many of the question's tokens are unknown.
func (e *ScriptError) Error() string {
	return fmt.Sprintf(
		"of the question's %d tokens the generator does not know %d: it was trained on other scripts", e.Tokens,
		e.Unknown,
	)
}

// Advice returns the text of Error; there is nothing to do.
func (e *ScriptError) Advice() string { return e.Error() }
