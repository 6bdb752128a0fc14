package provision

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/conclave/internal/disk"
)

// unpackMembers replaces dir by the given members of a wheel, verified, with one rename: an interruption leaves
// either what was there, all of it, or no dir. After an error of a member dir is as it was.
func unpackMembers(archive, dir string, members []Member) error {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	if err := disk.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	staging := dir + ".partial"
	if err := os.RemoveAll(staging); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(staging) }()
	for _, m := range members {
		if err := unpackMember(&reader.Reader, filepath.Join(staging, filepath.FromSlash(m.Name)), m); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(staging, dir)
}

// unpackMember writes a member of an archive to path, in a folder that it makes if need be, and syncs it. It fails
// if the SHA-256 is another one; the file stays then.
func unpackMember(archive *zip.Reader, path string, m Member) error {
	in, err := archive.Open(m.Path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	err = errors.Join(err, out.Sync(), out.Close())
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != m.SHA256 {
		return fmt.Errorf("%s has SHA-256 %s, pinned is %s", m.Path, got, m.SHA256)
	}
	return nil
}

// verifyMembers returns an error if a member is missing in dir or has another SHA-256.
func verifyMembers(dir string, members []Member) error {
	for _, m := range members {
		if err := fileHas(filepath.Join(dir, filepath.FromSlash(m.Name)), m.SHA256); err != nil {
			return err
		}
	}
	return nil
}

// fileHas returns an error if a file cannot be read or has another SHA-256 than want (hexadecimal).
func fileHas(path, want string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("%s was changed or truncated: its SHA-256 is %s, pinned is %s", path, got, want)
	}
	return nil
}
