// Command conclave finds the passages that answer a question, with many
// specialists instead of one generalist, and says how sure each of them is.
//
// Each subcommand is one small file here: flags to configuration, wiring, run.
package main

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

// version is set at build time (Makefile: -X main.version=…).
var version = "unknown"

// Exit codes, the same for every command.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// A write beyond the limit on the size of files is an error, and does not end the
	// process.
	signal.Ignore(syscall.SIGXFSZ)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	term := terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), ending: newEnding()}
	unwatch := term.ending.watch(ctx, term, func() { os.Exit(exitFailed) })
	code := run(ctx, os.Args[1:], term)
	unwatch()
	stop()
	os.Exit(code)
}

// terminal is what a command reads and writes: answers go to Out; progress,
// logs and complaints to Err.
type terminal struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string
	ending   *ending // nil in tests: commands take the time they need
}

// usageError is a mistake in how a command was called.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, term terminal) int {
	root := newRoot(term)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var usage usageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		_, _ = fmt.Fprintf(term.Err, "conclave: %v\nRun '%s --help' for how it is used.\n", err, command.CommandPath())
		return exitUsage
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		_, _ = fmt.Fprintln(term.Err, "conclave: interrupted")
		return exitFailed
	}
	if !errors.Is(err, errSilent) {
		_, _ = fmt.Fprintf(term.Err, "conclave: %s\n", printable(err.Error())) // a server may have said it
		for _, hint := range hintsOf(err) {
			_, _ = fmt.Fprintf(term.Err, "  -> %s\n", hint)
		}
	}
	return exitFailed
}

// errSilent fails a command that has said everything already.
var errSilent = errors.New("failed")

// told is the error of a command whose output says already what failed.
func told(err error) error {
	if err != nil {
		return errSilent
	}
	return nil
}

// isCobraUsage recognises the errors that cobra makes itself. Flag errors are
// wrapped by newRoot; these two have no type of their own.
func isCobraUsage(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "required flag(s)")
}

func newRoot(term terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "conclave",
		Short: "Find the passages that answer a question, and say how certain each expert is",
		Long: `conclave finds the passages that answer a question. Each expert encodes the
question and searches its own index; BM25 searches the words. The rankings are
fused by how certain each source is of this question.

Start with 'conclave demo'.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(term.In)
	root.SetOut(term.Out)
	root.SetErr(term.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().String("config", "", "configuration `file` (default: conclave.yaml in the current folder, if it exists)")
	root.PersistentFlags().String("log-level", "", "debug, info, warn or error")
	root.AddCommand(
		newSetup(term), newDemo(term), newDoctor(term),
		newRead(term), newReadPDF(term), newIndex(term), newSearch(term), newMCP(term), newServe(term),
		newEvaluate(term), newCalibrate(term), newAblate(term),
		newSnapshot(term),
		newExport(term), newImport(term),
		newVerify(term),
		newModels(term),
		newHealthcheck(term),
		newBench(term),
		newVersion(term),
	)
	for _, command := range root.Commands() {
		wrapArgs(command)
	}
	return root
}

// group returns a command that only has others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	g.AddCommand(commands...)
	return g
}

// wrapArgs turns complaints about positional arguments into usage errors.
func wrapArgs(command *cobra.Command) {
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, child := range command.Commands() {
		wrapArgs(child)
	}
}
