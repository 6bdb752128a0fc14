package ask

import (
	"fmt"
	"strings"

	"example.org/conclave/internal/normalise"
)

// Override is what an administrator has decided for some questions: passages that are shown first, and passages that
// are not shown. It is applied when a question is asked, so that a changed list needs no indexing.
type Override struct {
	// Questions are the questions that it is for. Case, accents, punctuation and spaces do not count.
	Questions []string `json:"questions,omitempty" yaml:"questions,omitempty"`
	// Contains are words and phrases: it is also for each question that has one of them.
	Contains []string `json:"contains,omitempty" yaml:"contains,omitempty"`
	// Pin are the ids of passages and documents that are shown first, in this order: of a document the passage that ranks
	// highest. Hide are the ids of passages and documents that are not found. Ids that do not exist change nothing.
	Pin  []string `json:"pin,omitempty"  yaml:"pin,omitempty"`
	Hide []string `json:"hide,omitempty" yaml:"hide,omitempty"`
}

// The bounds of overrides: entries of a collection; questions and phrases of an entry, and bytes of one; ids of an
// entry to pin, and to hide, and bytes of one.
const (
	MostOverrides       = 1000
	mostOverridden      = 100
	mostOverriddenBytes = 1000
	MostPinned          = 50
	mostIDBytes         = 1 << 10
)

// Check returns the first thing that is wrong with the entry, as a sentence for users; "" if nothing is.
func (o *Override) Check() string {
	switch {
	case len(o.Questions)+len(o.Contains) == 0:
		return "an entry needs questions, or contains with words that its questions have"
	case len(o.Questions)+len(o.Contains) > mostOverridden:
		return fmt.Sprintf("an entry has %d questions and phrases: at most %d are possible",
			len(o.Questions)+len(o.Contains), mostOverridden)
	case len(o.Pin)+len(o.Hide) == 0:
		return "an entry needs ids to pin or to hide"
	case len(o.Pin) > MostPinned || len(o.Hide) > MostPinned:
		return fmt.Sprintf("an entry pins %d and hides %d ids: at most %d of each are possible", len(o.Pin), len(o.Hide),
			MostPinned)
	}
	for _, text := range append(append([]string{}, o.Questions...), o.Contains...) {
		if normalise.Fold(text) == "" || len(text) > mostOverriddenBytes {
			return fmt.Sprintf("an entry has a question or phrase without a letter or digit, or of more than %d bytes: %.40q",
				mostOverriddenBytes, text)
		}
	}
	for _, id := range append(append([]string{}, o.Pin...), o.Hide...) {
		if strings.TrimSpace(id) == "" || len(id) > mostIDBytes {
			return fmt.Sprintf("an entry has an empty id, or one of more than %d bytes: %.40q", mostIDBytes, id)
		}
	}
	return ""
}
