package documents

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// RootOf returns a mark for the documents of a root, a file, folder or site: a hash of its absolute path or of its
// address. Different roots
// have different marks, and the path cannot be read from it. It fails if the absolute path cannot be found.
func RootOf(path string) (string, error) {
	if IsAddress(path) {
		return shortHash(path), nil
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return shortHash(absolute), nil
}

// MarkOf returns a mark for the documents of files that lie below a root: the root's own mark (RootOf), and for files
// on another file system also a mark of their mount point, a path with slashes below the root; "": they are on the
// root's file system.
func MarkOf(root, mountPoint string) string {
	if mountPoint == "" {
		return root
	}
	return root + "/" + shortHash(mountPoint)
}

// SplitMark returns the two parts of a mark that MarkOf returned: that of the root, and that of the mount point below
// it; "" if the files were on the root's file system.
func SplitMark(mark string) (root, mountPoint string) {
	root, mountPoint, _ = strings.Cut(mark, "/")
	return root, mountPoint
}

// MountPointAbove returns the path with slashes, below its root, of the mount point that is above the file of a
// document. mountPoint is its mark, as SplitMark returns it. The result is "" if the document's id has no such
// path, as that of a very long path.
func MountPointAbove(id, mountPoint string) string {
	// The id may begin with the names of folders above the root.
	for rest, more := id, true; more; _, rest, more = strings.Cut(rest, "/") {
		for below := path.Dir(rest); below != "." && below != "/"; below = path.Dir(below) {
			if shortHash(below) == mountPoint {
				return below
			}
		}
	}
	return ""
}

// shortHash returns 16 hexadecimal digits of the SHA-256 of a text.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// mountPoints finds mount points while a walk enters one folder after the other, each after the folder it lies in.
type mountPoints struct {
	above []mountPoint // around the current place, the outermost first; the first is the root
}

// mountPoint is a folder that is on another file system than the folder it lies in, or the root.
type mountPoint struct {
	below  string // path with slashes below the root; "" for the root itself
	device uint64
}

// enter notes that the walk enters a folder, by its path with slashes below the root, "." for the root. It reports
// whether the folder is a mount point below the root; false if the operating system does not tell its file system.
func (m *mountPoints) enter(below string, info fs.FileInfo) bool {
	for len(m.above) > 1 && !strings.HasPrefix(below, m.above[len(m.above)-1].below+"/") {
		m.above = m.above[:len(m.above)-1]
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return false
	}
	device := uint64(stat.Dev)
	if len(m.above) == 0 {
		m.above = append(m.above, mountPoint{"", device})
		return false
	}
	if m.above[len(m.above)-1].device == device {
		return false
	}
	m.above = append(m.above, mountPoint{below, device})
	return true
}

// of returns the nearest mount point above a file, by its path below the root, in the folder that was entered last or
// in one above it; "": the file is on the root's file system.
func (m *mountPoints) of(below string) string {
	for i := len(m.above) - 1; i > 0; i-- {
		if strings.HasPrefix(below, m.above[i].below+"/") {
			return m.above[i].below
		}
	}
	return ""
}
