package documents

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"example.org/conclave/internal/corpus"
)

// FoundFile is a file that was found in a folder, or that is itself a root.
type FoundFile struct {
	Path    string // the id of its document; from walk: its path below the root with slashes, or its name
	Below   string // its path below the root with slashes; "." if it is the root itself
	At      string // where it is on disk, or its address
	Mark    string // the mark of its documents (MarkOf)
	Type    string // the declared media type; "": none is, as of files on disk
	Source  string // the address of a page of a site; "" for files on disk
	Renamed string // why Path is not the path below the root; "" if it is
	Size    int64
	ModTime time.Time
	Data    func() ([]byte, error) // reads the file; *UnreadableError where it is too large
}

// Skip says why a file or folder was not read.
type Skip struct {
	Path string // below the root
	Why  string
	// Ignored is true if the file is left out on purpose, as hidden files are: its old documents may be deleted. It is
	// false if the file could not be read this time.
	Ignored bool
}

// Walking holds the options for finding files. Limits must be set.
type Walking struct {
	Limits Limits
	// GitIgnore leaves out what .gitignore files in the folders name, as git does.
	GitIgnore bool
	// Owner reports which document ids the collection has already; nil: none.
	Owner Owner
	// Skipped is called for each file or folder that is not read: hidden files, node_modules, links, special files and
	// what cannot be read. It may be nil.
	Skipped func(root string, s Skip)
	// Mounted is called for each folder below a root that is on another file system than the folder it lies in, with its
	// mark (MarkOf). It may be nil.
	Mounted func(mark string)
}

// walk calls visit for each regular file at root: root itself, or the files in that folder and its folders in the order
// of their names. The Path of a file is its path below root. Files and folders that are left out or cannot be read go
// to Skipped. The error is that of visit, which ends the walk, of ctx, or of a root that cannot be read.
func (w Walking) walk(ctx context.Context, root string, visit func(FoundFile) error) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	mark, err := RootOf(root)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		lone := fileAt(root, filepath.Base(root), info, w.Limits)
		lone.Below = "."
		lone.Mark = mark
		return visit(lone)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is neither a folder nor a regular file", root)
	}
	skip := func(path, why string, ignored bool) {
		if w.Skipped != nil {
			w.Skipped(root, Skip{path, why, ignored})
		}
	}
	// A folder that is named is read though it is a link, as a file is; links below it are not.
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	ignored := ignoreRules{}
	mounts := mountPoints{}
	return filepath.WalkDir(real, func(at string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		below, relErr := filepath.Rel(real, at)
		if relErr != nil {
			return relErr
		}
		below = filepath.ToSlash(below)
		if err != nil {
			if at == real {
				return err
			}
			skip(below, err.Error(), false)
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		why := ""
		if at != real {
			why = reasonToIgnore(entry)
		}
		if why == "" && w.GitIgnore && ignored.match(below, entry.IsDir()) {
			why = "a .gitignore names it"
		}
		switch {
		case why != "":
			skip(below, why, true)
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			if info, err := entry.Info(); err == nil && mounts.enter(below, info) && w.Mounted != nil {
				w.Mounted(MarkOf(mark, below))
			}
			if w.GitIgnore {
				if err := ignored.read(at, below); err != nil {
					skip(path.Join(below, ".gitignore"), err.Error(), false)
				}
			}
			return nil
		case entry.Type()&fs.ModeSymlink != 0:
			skip(below, "it is a link", false)
			return nil
		case !entry.Type().IsRegular():
			skip(below, "it is no regular file", false)
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			skip(below, err.Error(), false)
			return nil
		}
		f := fileAt(at, below, info, w.Limits)
		f.Mark = MarkOf(mark, mounts.of(below))
		return visit(f)
	})
}

// reasonToIgnore returns why a file or folder is left out by its name; "" if it is not.
func reasonToIgnore(entry fs.DirEntry) string {
	switch {
	case strings.HasPrefix(entry.Name(), "."):
		return "its name begins with a dot"
	case entry.IsDir() && entry.Name() == "node_modules":
		return "it has packages that npm installed: name the folder itself to read it"
	}
	return ""
}

// Original returns the value of corpus.DocumentOriginalKey for the documents of the file: a reference to it by its
// path below the root. It is "" if that path is not UTF-8, which metadata has to be, and of a page of a site.
func (f *FoundFile) Original() string {
	if f.Below == "" || !utf8.ValidString(f.Below) {
		return ""
	}
	return corpus.OriginalFile + f.Below
}

// fileAt returns the FoundFile on disk at `at`, with `below` as its Path and Below. Its Data opens and reads the
// file anew each time; more than Limits.FileBytes is an *UnreadableError.
func fileAt(at, below string, info fs.FileInfo, limits Limits) FoundFile {
	f := FoundFile{Path: below, Below: below, At: at, Size: info.Size(), ModTime: info.ModTime()}
	f.Data = func() ([]byte, error) {
		if info.Size() > limits.FileBytes {
			return nil, tooLargeFile(info.Size(), limits)
		}
		f, err := os.Open(at)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		return readBounded(f, limits)
	}
	return f
}

// tooLargeFile returns the *UnreadableError for a file of so many bytes, more than Limits.FileBytes.
func tooLargeFile(size int64, limits Limits) error {
	return unreadable(
		TooLarge, nil, "it has %d MiB, more than the %d MiB that are read of one file (documents.file_bytes)", size>>20,
		limits.FileBytes>>20,
	)
}

// readBounded reads all of r. More than Limits.FileBytes is an *UnreadableError.
func readBounded(r io.Reader, limits Limits) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limits.FileBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limits.FileBytes {
		return nil, tooLargeFile(int64(len(data)), limits)
	}
	return data, nil
}

// Expand calls visit for each file inside an archive or a mailbox, and inside archives in it; for any other file it
// calls visit with the file itself. It returns visit's first error, or an *UnreadableError for an archive that is
// damaged, encrypted or beyond the limits: Limits.FileBytes unpacked, Limits.Members files, Limits.Depth levels. Files
// visited before an error stay visited.
func Expand(name string, data []byte, limits Limits, visit func(Member) error) error {
	left := limits.FileBytes
	members := limits.Members
	return expand(name, data, limits, limits.Depth, &left, &members, visit)
}

// expand calls visit for the file data, or for each file inside if it is an archive or a mailbox, with name and the
// path within it joined by slashes. left and members are how many bytes and files may still be unpacked; it counts both
// down. depth is how many archives may still be nested. It returns visit's first error, or an *UnreadableError if an
// archive is damaged or beyond a limit.
func expand(
	name string,
	data []byte,
	limits Limits,
	depth int,
	left *int64,
	members *int,
	visit func(Member) error,
) error {
	inner := func(member string, r io.Reader) error {
		if *members--; *members < 0 {
			return unreadable(TooLarge, nil, "it holds more than %d files", limits.Members)
		}
		if depth == 0 {
			return unreadable(TooLarge, nil, "archives are nested more than %d deep in it", limits.Depth)
		}
		text, err := io.ReadAll(io.LimitReader(r, *left+1))
		if int64(len(text)) > *left {
			return unreadable(TooLarge, nil, "it unpacks to more than %d MiB", limits.FileBytes>>20)
		}
		if err != nil {
			return unreadable(Damaged, err, "its member %.80q cannot be unpacked", member)
		}
		*left -= int64(len(text))
		return expand(name+"/"+member, text, limits, depth-1, left, members, visit)
	}
	switch Detect(data, name, "") {
	case Zip:
		return expandZip(data, inner)
	case Gzip:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return unreadable(Damaged, err, "it cannot be unpacked")
		}
		if lower := strings.ToLower(name); strings.HasSuffix(lower, ".tgz") || strings.HasSuffix(lower, ".tar.gz") {
			return expandTar(r, inner)
		}
		return inner(strings.TrimSuffix(path.Base(name), ".gz"), r)
	case Tar:
		return expandTar(bytes.NewReader(data), inner)
	case Mailbox:
		for i, mail := range splitMailbox(data) {
			if err := inner(fmt.Sprintf("%d.eml", i+1), bytes.NewReader(mail)); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(Member{Name: name, Data: data})
}

// expandZip calls inner for each file of a zip archive that is not hidden, and returns its first error. An archive that
// is damaged or encrypted is an *UnreadableError.
func expandZip(data []byte, inner func(string, io.Reader) error) error {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return unreadable(Damaged, err, "it cannot be unpacked")
	}
	for _, f := range r.File {
		if f.FileInfo().IsDir() || Hidden(f.Name) {
			continue
		}
		if f.Flags&1 != 0 {
			return unreadable(Encrypted, nil, "it is encrypted")
		}
		in, err := f.Open()
		if err != nil {
			return unreadable(Damaged, err, "its member %.80q cannot be unpacked", f.Name)
		}
		err = inner(memberName(f.Name), in)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// expandTar calls inner for each regular file of a tar archive that is not hidden, and returns its first error. A
// damaged archive is an *UnreadableError.
func expandTar(in io.Reader, inner func(string, io.Reader) error) error {
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return unreadable(Damaged, err, "it cannot be unpacked")
		}
		if h.Typeflag != tar.TypeReg || Hidden(h.Name) {
			continue
		}
		if err := inner(memberName(h.Name), r); err != nil {
			return err
		}
	}
}

// memberName returns the path of a file in an archive, cleaned so that it has no "..", backslash or leading slash.
// Bytes that are not UTF-8 become _; the root becomes "".
func memberName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")), "/")
}

// Hidden reports whether a file of an archive is left out: its name or one of its folders begins with a dot, or it is
// in the folder __MACOSX.
func Hidden(name string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." || part == "__MACOSX" {
			return true
		}
	}
	return false
}
