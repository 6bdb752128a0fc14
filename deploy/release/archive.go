package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Content holds the files of an archive or a wheel by their paths in it.
type Content map[string]ArchiveFile

// ArchiveFile holds one of them: a file on disk or, where there is no path, the text.
type ArchiveFile struct {
	Path    string
	Text    []byte
	Program bool
}

// open returns a reader of a file, which the caller closes, and its size in bytes. It fails if the file does not
// exist.
func (f ArchiveFile) open() (io.ReadCloser, int64, error) {
	if f.Path == "" {
		return io.NopCloser(strings.NewReader(string(f.Text))), int64(len(f.Text)), nil
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, in.Close())
	}
	return in, info.Size(), nil
}

// mode returns the file's permissions: 0755 for a program, else 0644.
func (f ArchiveFile) mode() int64 {
	if f.Program {
		return 0o755
	}
	return 0o644
}

// sortedNames returns the paths in ascending order.
func (c Content) sortedNames() []string {
	var names []string
	for name := range c {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// AddFolder adds all files in a folder and its subfolders to c, under the path below. Files for whose path in the
// folder skip returns true are left out; skip may be nil. It reads only names. It fails if a folder cannot be read.
func (c Content) AddFolder(below, folder string, skip func(string) bool) error {
	files := os.DirFS(folder)
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || skip != nil && skip(name) {
			return err
		}
		c[path.Join(below, name)] = ArchiveFile{Path: filepath.Join(folder, filepath.FromSlash(name))}
		return nil
	})
}

// WriteArchive writes a gzipped tar of content, every file below the path folder and with the time at, in the order
// of their names. level is that of compress/flate. The same arguments give the same bytes. It fails at the first file
// that cannot be read; out then has a part.
func WriteArchive(out io.Writer, folder string, content Content, at time.Time, level int) error {
	packed, err := gzip.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, name := range content.sortedNames() {
		if err := addToArchive(archive, path.Join(folder, name), content[name], at); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

// addToArchive adds a file to archive under a name, with at as its modification time. It fails if the file cannot be
// read.
func addToArchive(archive *tar.Writer, name string, file ArchiveFile, at time.Time) error {
	in, size, err := file.open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: file.mode(), ModTime: at}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}

// Archive writes the archive of a platform, such as linux-amd64, into r.Out: the program, its bill of materials and
// the licences in the folder parts, the files of the folder installed, which is laid out as a cache, documentation
// and shell completions. It fails if one of these files is missing.
func (r *Release) Archive(parts, platform, installed string) error {
	content := Content{
		"bin/conclave":                         {Path: filepath.Join(parts, "conclave"), Program: true},
		"share/doc/conclave/conclave.cdx.json": {Path: filepath.Join(parts, "conclave.cdx.json")},
		"share/doc/conclave/conclave.yaml":     {Path: filepath.Join(r.Source, "configs", "conclave.yaml")},
	}
	if strings.HasPrefix(platform, "linux-") {
		unit := filepath.Join(r.Source, "deploy", "systemd", "conclave.service")
		content["lib/systemd/system/conclave.service"] = ArchiveFile{Path: unit}
	}
	for _, name := range []string{"README.md", "LICENSE", "NOTICE", "CHANGELOG.md"} {
		content["share/doc/conclave/"+name] = ArchiveFile{Path: filepath.Join(r.Source, name)}
	}
	err := errors.Join(
		content.AddFolder("share/conclave", installed, nil),
		content.AddFolder("share/doc/conclave/licences", filepath.Join(parts, "licences"), nil),
		content.AddFolder("share/doc/conclave/docs", filepath.Join(r.Source, "docs"), func(name string) bool {
			return strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "evidence/benchmarks/")
		}),
		r.addCompletions(content),
	)
	if err != nil {
		return err
	}
	return r.write(r.name(platform)+".tar.gz", func(out io.Writer) error {
		return WriteArchive(out, r.name(platform), content, r.Time, r.Level)
	})
}

// addCompletions adds the completions of bash, zsh and fish in r.Parts to content, at the paths where the shells look
// for them below a prefix. It fails if one is missing.
func (r *Release) addCompletions(content Content) error {
	for shell, place := range map[string]string{
		"bash": "share/bash-completion/completions/conclave",
		"zsh":  "share/zsh/site-functions/_conclave",
		"fish": "share/fish/vendor_completions.d/conclave.fish",
	} {
		at := filepath.Join(r.Parts, "completions", shell)
		if _, err := os.Stat(at); err != nil {
			return err
		}
		content[place] = ArchiveFile{Path: at}
	}
	return nil
}

// write writes the file name of the release with fill. It is there whole or, after an error, not at all.
func (r *Release) write(name string, fill func(io.Writer) error) error {
	partial, err := os.CreateTemp(r.Out, ".partial-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(partial.Name()) }()
	if err := errors.Join(fill(partial), partial.Chmod(0o644), partial.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(partial.Name(), filepath.Join(r.Out, name))
}

// writeSums writes the file SHA256SUMS of the files in folder, in the form that sha256sum checks, and returns its
// text. It leaves out folders and hidden files. It fails if a file cannot be read or the sums not be written.
func writeSums(folder string) (string, error) {
	const name = "SHA256SUMS"
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var sums strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == name || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		sum, err := sumFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum), e.Name())
	}
	return sums.String(), os.WriteFile(filepath.Join(folder, name), []byte(sums.String()), 0o644)
}

// sumFile returns the SHA-256 of a file. It fails if the file cannot be read.
func sumFile(path string) ([]byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return sum.Sum(nil), err
}
