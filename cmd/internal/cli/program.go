// Package cli has what the programs of this project share: a terminal, exit codes, flags,
// settings, and printing. Hints on errors name the commands of conclave.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes, the same for every command.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Main runs the command line of this process as a program, and ends with its exit code. It does not return. An
// interruption cancels the command's context, and a second one ends the process at once.
func Main(newRoot func(Terminal) *cobra.Command) {
	// A write beyond the limit on the size of files is an error, and does not end the
	// process.
	signal.Ignore(syscall.SIGXFSZ)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	term := Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Ending: NewEnding()}
	unwatch := term.Ending.Watch(ctx, term, func() { os.Exit(ExitFailed) })
	code := Run(ctx, newRoot(term), os.Args[1:], term)
	unwatch()
	stop()
	os.Exit(code)
}

// Terminal has the streams and the environment of a command. Answers go to Out; progress, logs and complaints go to
// Err.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	Ending   *ending // nil in tests: commands take the time they need
}

// UsageError reports a mistake in how a command was called.
type UsageError struct{ Err error }

// Error returns the text of the error that it wraps.
func (e UsageError) Error() string { return e.Err.Error() }

// Usagef returns a UsageError with a formatted text.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Run runs one command line of a program, writes its error with hints to the terminal's Err, and returns the exit code:
// ExitOK, ExitUsage for a mistake in the command line, or ExitFailed.
func Run(ctx context.Context, root *cobra.Command, args []string, term Terminal) int {
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var usage UsageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		_, _ = fmt.Fprintf(term.Err, "%s: %v\nRun '%s --help' for how it is used.\n", root.Name(), err, command.CommandPath())
		return ExitUsage
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		_, _ = fmt.Fprintf(term.Err, "%s: interrupted\n", root.Name())
		return ExitFailed
	}
	if !errors.Is(err, ErrSilent) {
		_, _ = fmt.Fprintf(term.Err, "%s: %s\n", root.Name(), Printable(err.Error())) // a server may have said it
		for _, hint := range Hints(err) {
			_, _ = fmt.Fprintf(term.Err, "  -> %s\n", hint)
		}
	}
	return ExitFailed
}

// ErrSilent is the error of a command that has already printed what went wrong. Run prints nothing for it.
var ErrSilent = errors.New("failed")

// Silence returns ErrSilent in place of an error that the command has printed itself, so that Run fails without
// printing it again. For nil it returns nil.
func Silence(err error) error {
	if err != nil {
		return ErrSilent
	}
	return nil
}

// isCobraUsage reports whether an error is one of cobra's own about the command line. Errors of flags are UsageErrors
// already (NewRoot); these two have no type.
func isCobraUsage(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "required flag(s)")
}

// NewRoot adds the subcommands to root, the root command of a program, completes it and returns it. The root gets the
// flags --config and --log-level, and shows its help without arguments. Mistakes in flags and arguments become
// UsageErrors, and the terminal's streams are used.
func NewRoot(term Terminal, root *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.Args = noCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetIn(term.In)
	root.SetOut(term.Out)
	root.SetErr(term.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{Err: err} })
	root.PersistentFlags().
		String("config", "", "configuration `file` (default: conclave.yaml in the current folder, if it exists)")
	root.PersistentFlags().String("log-level", "", "debug, info, warn or error")
	root.AddCommand(commands...)
	for _, command := range root.Commands() {
		wrapArgs(command)
	}
	return root
}

// Group returns a command that only has the given subcommands. It shows its help without arguments. With other
// arguments it returns an error.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	g.AddCommand(commands...)
	return g
}

// noCommand checks the arguments of a command that only has subcommands: it returns an error that the first argument is
// not one of them, with the names of similar ones. Without arguments it returns nil.
func noCommand(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	command.SuggestionsMinimumDistance = 2 // letters that may differ
	err := fmt.Errorf("unknown command %q for %q", args[0], command.CommandPath())
	if similar := command.SuggestionsFor(args[0]); len(similar) > 0 {
		err = fmt.Errorf("%w: did you mean %s?", err, strings.Join(similar, " or "))
	}
	return err
}

// wrapArgs makes errors about positional arguments of a command, and of all below it, UsageErrors.
func wrapArgs(command *cobra.Command) {
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return UsageError{Err: err}
			}
			return nil
		}
	}
	for _, child := range command.Commands() {
		wrapArgs(child)
	}
}
