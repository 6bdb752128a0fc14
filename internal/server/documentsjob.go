package server

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
)

// uploadListBytes bounds the list of files of an upload, in bytes: some hundred thousand.
const uploadListBytes = 16 << 20

// mostFailures is how many files that were not read a job names.
const mostFailures = 1000

// addDocuments returns the work of putting the files of an upload, a zip among the inputs of
// jobs. An attempt after a restart puts all of them again, which changes nothing of those that
// were put, but for a file that the server has not survived.
func (s *collection) addDocuments(inputs jobs.Inputs) func(context.Context, jobs.Task) (jobs.Result, error) {
	return func(ctx context.Context, t jobs.Task) (result jobs.Result, err error) {
		upload, size, closes, err := inputs.Open(ctx, t.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return result, errors.New("its files are gone: send them again")
		}
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, closes()) }()
		archive, err := documents.OpenZip(upload, size, uploadListBytes)
		if err != nil {
			return result, fmt.Errorf("the archive cannot be read: %w", err)
		}
		return s.addArchive(ctx, t, archive)
	}
}

// addArchive puts the files of an archive.
func (s *collection) addArchive(ctx context.Context, t jobs.Task, archive *zip.Reader) (result jobs.Result, err error) {
	done := &jobs.DocumentsResult{}
	many := keeping.Many{
		To: target{s.keeper, s.assembly.Engine}, Reader: s.keeper.Reader(),
		About: documents.About{Tags: t.Tags},
		Failed: func(id string, err error) {
			if len(done.Failures) < mostFailures {
				done.Failures = append(done.Failures, jobs.DocumentFailure{
					ID: id, Reason: string(documents.ReasonOf(err)), Detail: handlers.WithoutPaths(err.Error()),
				})
			}
		},
	}
	mark := openReadingMark(t.Scratch)
	defer func() { err = errors.Join(err, mark.end()) }()
	files := membersOf(archive)
	for i, f := range files {
		t.Report(jobs.Progress{Stage: "reading documents", Done: int64(i), Total: int64(len(files)), Unit: "files"})
		reads, err := mark.begin(i)
		if err != nil {
			return result, err
		}
		if !reads {
			many.Refuse(t.Prefix+memberName(f.Name), interruptedError())
			continue
		}
		if err := putMember(ctx, &many, t.Prefix, f); err != nil {
			return result, err
		}
	}
	if err := s.writer.Visible(ctx, nil); err != nil {
		return result, err
	}
	done.Added, done.Replaced = many.Done.Added, many.Done.Replaced
	done.Unchanged, done.Failed = many.Done.Unchanged, many.Done.Failed
	result.Documents = done
	generation, passages := s.assembly.Engine.Generation()
	result.Generation, result.Passages = generation, passages
	return result, nil
}

// membersOf returns the files of an archive that are read.
func membersOf(archive *zip.Reader) (files []*zip.File) {
	for _, f := range archive.File {
		if !f.FileInfo().IsDir() && !documents.Hidden(f.Name) {
			files = append(files, f)
		}
	}
	return files
}

// memberName returns the path of a file of an archive, without what would lead out of it.
func memberName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")), "/")
}

// interruptedError says that a file is not read because the server did not survive reading it.
func interruptedError() error {
	return &documents.UnreadableError{
		Reason: documents.Damaged,
		Detail: fmt.Sprintf("the server ended %d times while it read this file, which is left out", mostInterruptions),
	}
}

// zipBegins is the first year that an archive can name; files that it says no time of are older.
const zipBegins = 1980

// putMember puts one file of an archive.
func putMember(ctx context.Context, many *keeping.Many, prefix string, f *zip.File) error {
	id := prefix + memberName(f.Name)
	in, err := f.Open()
	if err != nil {
		many.Refuse(id, err)
		return ctx.Err()
	}
	data, err := io.ReadAll(io.LimitReader(in, many.Reader.Limits().FileBytes+1))
	_ = in.Close()
	if err != nil {
		many.Refuse(id, fmt.Errorf("it cannot be unpacked: %w", err))
		return ctx.Err()
	}
	many.About.Modified = f.Modified
	if f.Modified.Year() < zipBegins {
		many.About.Modified = time.Time{}
	}
	return many.Put(ctx, id, data)
}
