package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/internal/provision"

	"github.com/spf13/cobra"
)

// readSettings returns the configuration of a command and prints its warnings. Flags go before the environment, that
// before the file, and that before the defaults. The error is a UsageError if a flag is wrong. It fails if the file or
// a variable cannot be used.
func readSettings(cmd *cobra.Command, term Terminal) (configs.Config, error) {
	config, err := configs.Load(cmd.Flags(), term.Environ)
	var mistake *configs.Error
	if errors.As(err, &mistake) && strings.HasPrefix(mistake.Source, "flag ") {
		return config, UsageError{Err: err}
	}
	if err != nil {
		return config, err
	}
	for _, warning := range config.Warnings {
		_, _ = fmt.Fprintf(term.Err, "conclave: warning: %s\n", warning)
	}
	return config, nil
}

// WithSettings returns a command's RunE that reads the configuration and calls run with it. A mistake in a flag is a
// usage error.
func WithSettings(
	term Terminal,
	run func(cmd *cobra.Command, config configs.Config) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		config, err := readSettings(cmd, term)
		if err != nil {
			return err
		}
		return run(cmd, config)
	}
}

// ReadSettingsAndCache returns the configuration of a command and the cache folder that it names. The error is a
// UsageError if a flag is wrong.
func ReadSettingsAndCache(cmd *cobra.Command, term Terminal) (configs.Config, provision.Cache, error) {
	config, err := readSettings(cmd, term)
	if err != nil {
		return config, provision.Cache{}, err
	}
	cache, err := provision.CacheAt(config.Cache)
	return config, cache, err
}

// NewLogger returns a logger that writes to out in the configured format and from the configured level on. A level that
// is not known counts as info.
func NewLogger(out io.Writer, config configs.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(config.Level)); err != nil {
		level = slog.LevelInfo // checked by configs already
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: hintedCause}
	if config.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
