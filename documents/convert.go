package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Converter is a program that converts a file of an unsupported format to a supported one.
type Converter struct {
	// Command is the program and its arguments. In the arguments {in} stands for the path of the file, and {dir} for an
	// empty folder in which the program writes the converted file, whose ending tells the new format.
	Command []string
}

// Converters are the programs that convert files.
type Converters struct {
	ByEnding map[string]Converter // by ending in lower case, such as ".doc"
	Time     time.Duration        // most time for one file
	Confine  Confiner             // nil: programs run unconfined
}

// find returns the converter for the ending of a file's name, in any case; ok is false if there is none or c is nil.
func (c *Converters) find(name string) (Converter, bool) {
	if c == nil {
		return Converter{}, false
	}
	found, ok := c.ByEnding[endingOf(name, "")]
	return found, ok
}

// mostOutput is how many bytes of a converter's output are kept for error messages.
const mostOutput = 1 << 10

// convert runs the program `by` on a file and returns the converted file, named like the original but with the new
// ending. It blocks for at most c.Time. The error is an *UnreadableError if the program fails, writes no file or
// takes longer, and ctx's error if ctx ends first. Temporary files are removed in any case.
func (c *Converters) convert(ctx context.Context, by Converter, in Input, limits Limits) (Input, error) {
	dir, err := os.MkdirTemp("", "conclave-convert-")
	if err != nil {
		return Input{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ending := endingOf(in.Name, "")
	source, made := filepath.Join(dir, "in", "file"+ending), filepath.Join(dir, "out")
	err = errors.Join(
		os.Mkdir(filepath.Dir(source), 0o700), os.Mkdir(made, 0o700), os.WriteFile(source, in.Data, 0o600),
	)
	if err != nil {
		return Input{}, err
	}
	limited, cancel := context.WithTimeout(ctx, c.Time)
	defer cancel()
	args := slices.Clone(by.Command)
	for i := range args {
		args[i] = strings.NewReplacer("{in}", source, "{dir}", made).Replace(args[i])
	}
	confine := c.Confine
	if confine == nil {
		confine = exec.CommandContext
	}
	cmd := confine(limited, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir)
	output := &firstBytes{most: mostOutput}
	cmd.Stdout, cmd.Stderr = output, output
	runtime.LockOSThread() // the program is killed with the thread that started it
	err = cmd.Run()
	runtime.UnlockOSThread()
	switch {
	case ctx.Err() != nil:
		return Input{}, ctx.Err()
	case limited.Err() != nil:
		return Input{}, unreadable(TooSlow, nil, "%s took longer than %v to convert it", by.name(), c.Time)
	case err != nil:
		return Input{}, unreadable(Damaged, nil, "%s could not convert it: %s", by.name(), lastLine(output.b))
	}
	out, err := onlyFile(made, limits)
	if err != nil {
		return Input{}, err
	}
	if out.Data == nil {
		return Input{}, unreadable(Damaged, nil, "%s wrote nothing when it converted it: %s", by.name(), lastLine(output.b))
	}
	out.Name = strings.TrimSuffix(in.Name, path.Ext(in.Name)) + path.Ext(out.Name)
	return out, nil
}

// AddressEnding is the ending for which a converter is a renderer: it gets a file with the address of a page, and
// writes the page as a browser shows it.
const AddressEnding = ".url"

// Render lets the converter for AddressEnding, if there is one, fetch the page at an address and run its scripts, and
// returns the page. ok is false if there is none. The program has the network, and no bound of memory: browsers reserve
// more than they use. The error is an *UnreadableError if it fails, and ctx's error if ctx ends first.
func (r *Extractor) Render(ctx context.Context, address string) (page []byte, ok bool, err error) {
	by, ok := r.converter("page" + AddressEnding)
	if !ok {
		return nil, false, nil
	}
	if err := r.pool.enter(ctx, r.group); err != nil {
		return nil, true, err
	}
	defer r.pool.leave()
	free := *r.pool.options.Converters
	free.Confine = commandApart
	out, err := free.convert(ctx, by, Input{Name: "page" + AddressEnding, Data: []byte(address + "\n")}, r.limits)
	return out.Data, true, err
}

// name returns the program's name without its folder.
func (c Converter) name() string { return filepath.Base(c.Command[0]) }

// onlyFile reads the first regular file of a folder, in the order of names. Without such a file its Data is nil and
// the error too. A file of more than Limits.FileBytes is an *UnreadableError.
func onlyFile(folder string, limits Limits) (Input, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return Input{}, err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(folder, entry.Name()))
		if err != nil {
			return Input{}, err
		}
		data, err := readBounded(f, limits)
		return Input{Name: entry.Name(), Data: data}, errors.Join(err, f.Close())
	}
	return Input{}, nil
}

// convertible reports whether a file of this media type is given to the converter for its ending, if there is one. It
// is false for pictures and for Formats, but true for archives: some formats of other programs are archives inside.
func convertible(mediaType string) bool {
	own := formatOfType(mediaType)
	return (own.Name == "" || own.archive && own.MediaType != Mailbox) && !strings.HasPrefix(mediaType, "image/")
}

// readConverted converts a file with the program `by` and reads the result: the document and the members found in
// it. It waits for a place in the pool. The document keeps the media type of the original, and a warning names the
// converter. The error is an *UnreadableError if the conversion fails, or makes a file of a type that is not read
// or the same bytes again.
func (r *Extractor) readConverted(
	ctx context.Context,
	by Converter,
	in Input,
	mediaType string,
) (*Document, []Member, error) {
	if err := r.pool.enter(ctx, r.group); err != nil {
		return nil, nil, err
	}
	converted, err := r.pool.options.Converters.convert(ctx, by, in, r.limits)
	r.pool.leave()
	if err != nil {
		return nil, nil, err
	}
	if made := Detect(converted.Data, converted.Name, ""); convertible(made) || bytes.Equal(converted.Data, in.Data) {
		return nil, nil, unreadable(Unsupported, nil, "%s made a file of type %s of it, which is not read", by.name(), made)
	}
	d, attached, err := r.readFile(ctx, converted, "")
	if d != nil {
		d.MediaType = mediaType
		warning := fmt.Sprintf("it was converted to %s by %s before it was read", path.Ext(converted.Name), by.name())
		d.Warnings = append(d.Warnings, warning)
	}
	return d, attached, err
}

// OfficeConverters returns the converters, by ending, of Office formats from before 2007 (.doc, .xls, .ppt and
// their templates). program is the path of LibreOffice; it is not looked at. It is told the expected format: left
// to itself, LibreOffice reads a damaged file as plain text.
func OfficeConverters(program string) map[string]Converter {
	out := map[string]Converter{}
	for ending, by := range map[string]struct{ filter, to string }{
		".doc": {"MS Word 97", "docx"}, ".dot": {"MS Word 97", "docx"},
		".xls": {"MS Excel 97", "xlsx"}, ".xlt": {"MS Excel 97", "xlsx"},
		".ppt": {"MS PowerPoint 97", "pptx"}, ".pps": {"MS PowerPoint 97", "pptx"},
	} {
		out[ending] = Converter{Command: []string{
			program, "--headless", "--norestore", "-env:UserInstallation=file://{dir}/../profile",
			"--infilter=" + by.filter, "--convert-to", by.to, "--outdir", "{dir}", "{in}",
		}}
	}
	return out
}
