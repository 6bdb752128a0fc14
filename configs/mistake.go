package configs

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Error is one mistake in the configuration.
type Error struct {
	Source string // "conclave.yaml:12", "environment CONCLAVE_LOG_LEVEL", "flag --log-level", "default"
	Key    string // "limits.k", "experts[1].name"
	Value  string // as it was written; "" when the key itself is the mistake
	Detail string // what is wrong and what is allowed
}

func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s: %s", e.Source, e.Key, e.Detail)
	}
	return fmt.Sprintf("%s: %s: %.80q: %s", e.Source, e.Key, e.Value, e.Detail)
}

// didYouMean asks for the name that was probably meant, or is "" when none is close.
// cobra decides, as it does for names of commands: two edits, or a beginning.
func didYouMean(name string, names []string) string {
	commands := cobra.Command{SuggestionsMinimumDistance: min(2, len(name)/2)}
	for _, known := range names {
		commands.AddCommand(&cobra.Command{Use: known, Run: func(*cobra.Command, []string) {}})
	}
	if near := commands.SuggestionsFor(name); len(near) > 0 && name != "" {
		return fmt.Sprintf(" Did you mean %q?", near[0])
	}
	return ""
}
