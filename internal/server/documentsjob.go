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

// uploadListBytes is the greatest size of the list of files in an upload's zip: enough for some hundred thousand.
const uploadListBytes = 16 << 20

// mostFailures is the number of failed files that a job's result names.
const mostFailures = 1000

// addDocuments returns the function of a job that puts the files of an upload, a zip among inputs, into the collection.
// After a restart the job puts all files again; those that are stored already do not change. Files that ended the
// server too often are left out (readingMark). The job fails if the zip is gone or damaged.
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

// addArchive puts the files of an archive into the collection and waits until searches see them. result counts
// documents and names the first mostFailures files that failed; those are no error. The error is one that ends the
// job, such as ctx's or the store's; files before it stay.
func (s *collection) addArchive(ctx context.Context, t jobs.Task, archive *zip.Reader) (result jobs.Result, err error) {
	done := &jobs.DocumentsResult{}
	many := keeping.Many{
		To: target{s.keeper, s.assembly.Engine}, Reader: s.keeper.Reader(),
		About: documents.About{Tags: t.Tags}, Encoding: t.Encoding,
		Failed: func(id string, err error) {
			if len(done.Failures) < mostFailures {
				done.Failures = append(done.Failures, jobs.DocumentFailure{
					ID: id, Reason: string(documents.ReasonOf(err)), Detail: handlers.WithoutPaths(err.Error()),
				})
			}
		},
	}
	mark := openReadingMark(t.Scratch)
	defer func() { err = errors.Join(err, mark.endFile()) }()
	files := membersOf(archive)
	for i, f := range files {
		t.Report(jobs.Progress{Stage: "reading documents", Done: int64(i), Total: int64(len(files)), Unit: "files"})
		reads, err := mark.beginFile(i)
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

// membersOf returns the files of an archive without folders and hidden files, in the archive's order.
func membersOf(archive *zip.Reader) (files []*zip.File) {
	for _, f := range archive.File {
		if !f.FileInfo().IsDir() && !documents.Hidden(f.Name) {
			files = append(files, f)
		}
	}
	return files
}

// memberName returns a file name of an archive as a clean relative path with slashes, valid in UTF-8. A .. cannot
// lead out of it.
func memberName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")), "/")
}

// interruptedError returns the error of a file that is left out because the server ended each time it read it.
func interruptedError() error {
	return &documents.UnreadableError{
		Reason: documents.Damaged,
		Detail: fmt.Sprintf("the server ended %d times while it read this file, which is left out", mostInterruptions),
	}
}

// zipBegins is the first year that a zip can store. An earlier modification time means that the zip has none.
const zipBegins = 1980

// putMember puts one file of an archive as the document with the id prefix + memberName. A file that cannot be
// unpacked or read is counted in many as failed, and is no error. It reads at most one byte more than the limit of a
// file's size.
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
