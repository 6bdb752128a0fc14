package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/server"
	"example.org/conclave/internal/sites"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRead returns the command `conclave read`, which shows the passages that files are cut into, without indexing them.
func newRead(term cli.Terminal) *cobra.Command {
	var asJSON bool
	var reference string
	command := &cobra.Command{
		Use:   "read FILE|FOLDER...",
		Short: "Show the passages that documents are cut into",
		Long: `Reads documents as 'conclave index' does (` + documents.FormatNames() + `), and prints the
passages that they are cut into: with --json in the form that index takes.

With --reference, the text of one file is compared with another text of it, such as that of another program: which share
of the reference's words was kept, which share of its pairs of neighbouring words, and how many words are not in it.`,
		Example: "  conclave read handbook.pdf\n  conclave read --json wiki/ > passages.jsonl\n" +
			"  conclave read --json --reference handbook.txt handbook.pdf",
		Args: cobra.MinimumNArgs(1),
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			unread := &unreadFiles{}
			readers, err := openReaders(config, false)
			if err != nil {
				return err
			}
			defer func() { _ = readers.Close() }()
			source, err := openDocuments(cmd.Context(), config, args(cmd), nil, unread, readers)
			if err != nil {
				return err
			}
			print := func() error { return printPassages(term.Out, source, asJSON) }
			if reference != "" {
				print = func() error { return printComparison(term.Out, source, reference, asJSON) }
			}
			err = errors.Join(print(), source.Close())
			unread.printAll(
				false,
				func(format string, args ...any) { (&cli.ErrWriter{Out: term.Err}).Printf(format+"\n", args...) },
			)
			return err
		}),
	}
	configs.AddFlags(command.Flags(), "documents.words", "documents.encoding")
	nameEncodingShort(command.Flags())
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	command.Flags().StringVar(&reference, "reference", "", "compare with the text in this `file`, in UTF-8")
	return command
}

// nameEncodingShort lets users write --encoding for the flag --documents-encoding of flags.
func nameEncodingShort(flags *pflag.FlagSet) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "encoding" {
			name = "documents-encoding"
		}
		return pflag.NormalizedName(name)
	})
}

// args returns the positional arguments of a command.
func args(cmd *cobra.Command) []string { return cmd.Flags().Args() }

// printPassages writes all passages of a stream, as text or each as a line of JSON. It stops at the first error of
// reading or writing, and does not close the stream.
func printPassages(out io.Writer, source *documents.Stream, asJSON bool) error {
	for {
		p, err := source.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := cli.Show(out, asJSON, p, func(w *cli.ErrWriter) {
			w.Printf("%s  %s\n%s\n\n", p.ID, p.Title,
				p.Text)
		}); err != nil {
			return err
		}
	}
}

// newReadFiles returns the hidden command `conclave read-files` of a worker process. It reads files for the conclave
// that started it, which kills it if a file takes too long.
func newReadFiles(term cli.Terminal) *cobra.Command {
	var o documents.ServeOptions
	command := &cobra.Command{
		Use:    "read-files CACHE",
		Short:  "Read files for another conclave, which starts this by itself",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Cache = args[0]
			return documents.Serve(cmd.Context(), term.In, term.Out, o)
		},
	}
	command.Flags().Int64Var(&o.Memory, "memory", 512<<20, "bytes of memory that reading a file may take")
	command.Flags().BoolVar(&o.Yields, "yield", false, "let other processes be served first")
	return command
}

// openReaders returns a pool of worker processes that read files; each starts when there is a file for it. With
// serving, they use half of the processors and yield to requests, unless the configuration says how many there are. It
// fails if the program's path, the cache or the limits cannot be determined. The caller closes the pool, which ends the
// processes.
func openReaders(config configs.Config, serving bool) (*documents.Pool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, err
	}
	readers, err := capacity.Readers(config)
	if err != nil {
		return nil, err
	}
	arguments := []string{"read-files", "--memory", strconv.FormatInt(readers.Memory, 10), pdfCache(cache)}
	if serving {
		arguments = append(arguments, "--yield")
	} else if config.Documents.Workers == 0 {
		readers.Workers = runtime.GOMAXPROCS(0)
	}
	return documents.NewPool(documents.PoolOptions{
		Workers:    readers.Workers,
		Start:      documents.WorkerOf(program, arguments...),
		OCR:        newRecogniser(config.Documents.OCR, program),
		Converters: newConverters(config.Documents, program),
	}), nil
}

// Bytes of address space of the programs that read what this one does not: tesseract for one picture, and
// LibreOffice, which takes two thirds of that for an empty file.
const (
	recogniserMemory = 1 << 30
	converterMemory  = 4 << 30
)

// newRecogniser returns what recognises text in pictures by tesseract; nil if tesseract is not installed or no language
// is configured. launcher is the program that confines it (run-confined).
func newRecogniser(o configs.OCR, launcher string) *documents.Recogniser {
	program, err := exec.LookPath("tesseract")
	if err != nil || o.Languages == "" {
		return nil
	}
	return &documents.Recogniser{
		Program: program, Languages: o.Languages, Time: o.Time,
		Confine: documents.ConfinerOf(launcher, recogniserMemory, "run-confined"),
	}
}

// newConverters returns the programs that convert files of other formats, by ending: LibreOffice's endings if it is
// installed, and those of the configuration, which come first.
func newConverters(d configs.Documents, launcher string) *documents.Converters {
	out := &documents.Converters{
		ByEnding: map[string]documents.Converter{}, Time: d.Time,
		Confine: documents.ConfinerOf(launcher, converterMemory, "run-confined"),
	}
	if office, err := exec.LookPath("soffice"); err == nil {
		out.ByEnding = documents.OfficeConverters(office)
	}
	for _, c := range d.Converters {
		out.ByEnding[strings.ToLower(c.Ending)] = documents.Converter{Command: strings.Fields(c.Command)}
	}
	return out
}

// newRunConfined returns the hidden command `conclave run-confined`, which limits the memory and the rights of its
// process and then becomes another program, such as tesseract. The command returns only if it could not become that
// program.
func newRunConfined() *cobra.Command {
	var memory int64
	command := &cobra.Command{
		Use:    "run-confined PROGRAM [ARGUMENT ...]",
		Short:  "Run a program that reads a file for another conclave, which starts this by itself",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return documents.BecomeProgram(memory, args[0], args[1:]...)
		},
	}
	command.Flags().
		Int64Var(&memory, "memory", recogniserMemory, "bytes of address space that the program may have")
	return command
}

// pdfCache returns the folder of the compiled reader of PDF.
func pdfCache(cache provision.Cache) string { return filepath.Join(cache.Root, "pdf") }

// openDocuments returns a stream of the passages of the documents at paths, and then of pages. Files that cannot be
// read are recorded in unread and do not end it. It reads none yet, and fails if a path cannot be opened. The caller
// closes the stream, before the pool readers.
func openDocuments(
	ctx context.Context,
	config configs.Config,
	paths []string,
	pages []documents.FoundFile,
	unread *unreadFiles,
	readers *documents.Pool,
) (*documents.Stream, error) {
	o := server.DocumentOptions(config.Documents, readers)
	o.Failed, o.Warned = unread.addFile, unread.warn
	o.Found = pages
	return documents.Open(ctx, paths, o)
}

// unreadFiles are the files that were not read, or not whole.
type unreadFiles struct {
	Files []unreadFile `json:"unread,omitempty"`
}

// unreadFile is a file that was not read, was left out, or has a warning. Reason is a documents.Reason, "skipped" or
// "warning".
type unreadFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// addFile records a file that could not be read or was left out, and why.
func (x *unreadFiles) addFile(path string, err error) {
	f := unreadFile{path, string(documents.ReasonOf(err)), err.Error()}
	var skipped *documents.SkippedError
	if errors.As(err, &skipped) {
		f.Reason = "skipped"
		f.Detail = skipped.Why
	}
	x.Files = append(x.Files, f)
}

// warn records a warning about a file.
func (x *unreadFiles) warn(path, warning string) {
	x.Files = append(x.Files, unreadFile{path, "warning", warning})
}

// failedPaths returns the paths of the files that could not be read.
func (x *unreadFiles) failedPaths() (out []string) {
	for _, f := range x.Files {
		if f.isFailure() {
			out = append(out, f.Path)
		}
	}
	return out
}

// countFailed counts the files that could not be read.
func (x *unreadFiles) countFailed() (n int) {
	for _, f := range x.Files {
		if f.isFailure() {
			n++
		}
	}
	return n
}

// isFailure reports whether the file was not read at all; it is false for one that was left out on purpose, and for a
// warning.
func (f unreadFile) isFailure() bool { return f.Reason != "skipped" && f.Reason != "warning" }

// mostWarnings is how many warnings of one kind are shown each by itself.
const mostWarnings = 5

// varying matches what differs between warnings of one kind: numbers, and what is quoted from the file.
var varying = regexp.MustCompile(`: ".*|"[^"]*"|[0-9]+`)

// printAll calls say with the files that were not read, those that were left out, and those that were read with a
// warning, each group under its number, with the reasons. With short, more than mostWarnings similar warnings become
// one line, with the first file and the number of the others.
func (x *unreadFiles) printAll(short bool, say func(format string, args ...any)) {
	alike := map[string]int{}
	var failed, skipped, warned []unreadFile
	paths := map[string]bool{}
	for _, f := range x.Files {
		switch {
		case f.isFailure():
			failed = append(failed, f)
		case f.Reason == "skipped":
			skipped = append(skipped, f)
		default:
			warned = append(warned, f)
			paths[f.Path] = true
			alike[varying.ReplaceAllString(f.Detail, "")]++
		}
	}
	print := func(what string, n int, files []unreadFile) {
		if n == 0 {
			return
		}
		say("%s: %s", what, cli.Plural(int64(n), "file"))
		for _, f := range files {
			say("  %s: %s", cli.Printable(f.Path), cli.Printable(f.Detail))
		}
	}
	print("not read", len(failed), failed)
	print("left out", len(skipped), skipped)
	shortened := false
	var shown []unreadFile
	for _, f := range warned {
		kind := varying.ReplaceAllString(f.Detail, "")
		n := alike[kind]
		switch {
		case n == 0: // counted in a line before
			continue
		case short && n > mostWarnings:
			alike[kind] = 0
			shortened = true
			f.Path += fmt.Sprintf(" and %d more warnings like this", n-1)
		}
		shown = append(shown, f)
	}
	print("read, with a warning", len(paths), shown)
	if shortened {
		say("  --json, and conclave read, name the file of each warning")
	}
}

// openInputs returns the inputs to index. All inputs that hold documents become one input, a stream of their passages,
// in the place of the first of them; x.roots is set to their paths. It returns a usage error for documents with an
// --id-prefix. It fails if an input cannot be opened. indexing.Index closes the stream.
func (x *indexCommand) openInputs(
	ctx context.Context,
	config configs.Config,
	unread *unreadFiles,
	readers *documents.Pool,
	bar *cli.Progress,
) ([]corpus.Input, error) {
	var paths []string
	var pages []documents.FoundFile
	x.sites = map[string]*server.SiteFiles{}
	var inputs []corpus.Input
	at := -1
	for _, in := range x.inputs.Files {
		holds := sites.IsAddress(in.Path)
		if !holds && in.Path != "-" && (x.format == "auto" || x.format == documentsFormat) {
			var err error
			holds, err = documents.Holds(in.Path)
			if err != nil {
				return nil, err
			}
			holds = holds || x.format == documentsFormat
		}
		if !holds {
			inputs = append(inputs, in)
			continue
		}
		if in.IDPrefix != "" {
			return nil, cli.Usagef(
				"--id-prefix %q: the ids of documents are their paths; name the folder above %s", in.IDPrefix, in.Path,
			)
		}
		if at < 0 {
			at = len(inputs)
			inputs = append(inputs, corpus.Input{Path: in.Path})
		}
		if !sites.IsAddress(in.Path) {
			paths = append(paths, in.Path)
			continue
		}
		files, err := x.readSite(ctx, config, in.Path, unread, readers, bar)
		if err != nil {
			return nil, err
		}
		x.sites[files.Start] = files
		pages = append(pages, files.Pages...)
	}
	x.roots = paths
	if at >= 0 {
		source, err := openDocuments(ctx, config, paths, pages, unread, readers)
		if err != nil {
			return nil, err
		}
		inputs[at].Source = source
	}
	return inputs, nil
}

// documentsFormat is the name of documents among the formats of inputs.
const documentsFormat = "documents"
