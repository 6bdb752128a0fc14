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

// NewPlainLogger returns the logger of commands other than serve. It writes warnings and errors as lines for people;
// with the level debug it writes everything as the server's logger does (NewLogger).
func NewPlainLogger(out io.Writer, config configs.Log) *slog.Logger {
	if config.Level == "debug" {
		return NewLogger(out, config)
	}
	return slog.New(&plainHandler{out: out})
}

// plainHandler is a slog.Handler that writes warnings and errors as lines for people.
type plainHandler struct {
	out   io.Writer
	attrs []slog.Attr
}

// Enabled implements slog.Handler: it reports whether the level is a warning or higher.
func (s *plainHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// Handle implements slog.Handler: it writes "conclave: MESSAGE (expert wiki): why". The attributes cause and why follow
// the colon, with hints on lines of their own; the others stand in the brackets. It fails if writing does.
func (s *plainHandler) Handle(_ context.Context, r slog.Record) error {
	var attributes []string
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
			attributes = append(attributes, a.Key+" "+text)
		}
		return true
	}
	for _, a := range s.attrs {
		tell(a)
	}
	r.Attrs(tell)
	about := ""
	if len(attributes) > 0 {
		about = " (" + strings.Join(attributes, ", ") + ")"
	}
	_, err := fmt.Fprintf(s.out, "conclave: %s%s%s\n", r.Message, about, why)
	return err
}

// WithAttrs implements slog.Handler: it returns a handler that adds attrs to each line.
func (s *plainHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &plainHandler{out: s.out, attrs: slices.Concat(s.attrs, attrs)}
}

// WithGroup implements slog.Handler: it returns s, since lines do not show groups.
func (s *plainHandler) WithGroup(string) slog.Handler { return s }
