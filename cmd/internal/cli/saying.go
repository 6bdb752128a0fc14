package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"example.org/conclave/configs"
)

// NewSaying returns the logger of commands other than serve. It writes warnings and errors as lines for people; with
// the level debug it writes everything as the server's logger does (NewLogger).
func NewSaying(out io.Writer, config configs.Log) *slog.Logger {
	if config.Level == "debug" {
		return NewLogger(out, config)
	}
	return slog.New(&saying{out: out})
}

// saying is a slog.Handler that writes warnings and errors as lines for people.
type saying struct {
	out   io.Writer
	attrs []slog.Attr
}

// Enabled implements slog.Handler: it reports whether the level is a warning or higher.
func (s *saying) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler: it writes "conclave: MESSAGE (expert wiki): why". The attributes cause and why follow
// the colon, with hints on lines of their own; the others stand in the brackets.
func (s *saying) Handle(_ context.Context, r slog.Record) error {
	var of []string
	why := ""
	tell := func(a slog.Attr) bool {
		switch text := a.Value.Resolve().String(); a.Key {
		case "cause", "why":
			why = ": " + text
			if err, ok := a.Value.Any().(error); ok {
				for _, hint := range Hints(err) {
					why += "\n  -> " + hint
				}
			}
		default:
			of = append(of, a.Key+" "+text)
		}
		return true
	}
	for _, a := range s.attrs {
		tell(a)
	}
	r.Attrs(tell)
	about := ""
	if len(of) > 0 {
		about = " (" + strings.Join(of, ", ") + ")"
	}
	_, err := fmt.Fprintf(s.out, "conclave: %s%s%s\n", r.Message, about, why)
	return err
}

// WithAttrs implements slog.Handler: it returns a handler that adds attrs to each line.
func (s *saying) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &saying{out: s.out, attrs: slices.Concat(s.attrs, attrs)}
}

// WithGroup implements slog.Handler: it returns s, since lines do not show groups.
func (s *saying) WithGroup(string) slog.Handler { return s }
