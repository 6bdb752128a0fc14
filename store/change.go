package store

import (
	"fmt"
	"strings"

	"example.org/conclave/internal/corpus"
)

// Change is a passage to put or an id to delete, perhaps under a condition.
type Change struct {
	Put    *corpus.Passage // nil: delete
	Delete string          // the id, when Put is nil
	// IfMatch, when not empty, is the version that the stored passage must have;
	// "*" is any, so that the passage must be there.
	IfMatch string
	// IfAbsent asks that there be no passage with the id.
	IfAbsent bool
}

// ID returns the id of the passage that the change concerns.
func (c *Change) ID() string {
	if c.Put != nil {
		return c.Put.ID
	}
	return c.Delete
}

// On returns what the change would do to a stored passage of version have ("": there is none); put is the version of
// the passage that c puts, and unused if c deletes. On changes nothing itself. It returns a *VersionError if IfMatch
// or IfAbsent does not hold.
func (c *Change) On(have, put string) (Outcome, error) {
	switch {
	case c.IfAbsent && have != "":
		return "", &VersionError{ID: c.ID(), Want: "absent", Have: have}
	case c.IfMatch == "*" && have == "", c.IfMatch != "" && c.IfMatch != "*" && c.IfMatch != have:
		return "", &VersionError{ID: c.ID(), Want: c.IfMatch, Have: have}
	case c.Put == nil && have == "":
		return Absent, nil
	case c.Put == nil:
		return Deleted, nil
	case have == "":
		return Created, nil
	case have == put:
		return Unchanged, nil
	}
	return Replaced, nil
}

// Outcome says what became of a change.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Replaced  Outcome = "replaced"
	Unchanged Outcome = "unchanged" // the same passage was there
	Deleted   Outcome = "deleted"
	Absent    Outcome = "absent" // there was nothing to delete
)

// ChangeResult is the answer to a change. With an error the change was not made.
type ChangeResult struct {
	ID      string
	Outcome Outcome
	Version string // of the passage that was put
	// Seq numbers the change, for whoever waits until searches see it.
	Seq uint64
	Err error
}

// VersionError is the error of a change whose condition does not hold.
type VersionError struct {
	ID   string
	Want string // as Change said it; "absent" for IfAbsent
	Have string // the version that is stored; empty when there is no passage
}

// ErrorForDocument returns the text of Error with "document" in the place of each "passage", also inside the id, for
// errors about a document.
func (e *VersionError) ErrorForDocument() string {
	return strings.ReplaceAll(e.Error(), "passage", "document")
}

// Error names the passage, and its version with the one that was expected, or says that there is no such passage.
func (e *VersionError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("there is no passage %q, and its version %s was to be changed", e.ID, e.Want)
	}
	return fmt.Sprintf(
		"passage %q has version %s, not %s: it was changed in between; fetch it and try again", e.ID, e.Have, e.Want,
	)
}
