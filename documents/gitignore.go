package documents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// ignoreRules holds the .gitignore patterns that apply in each folder, by its path below the root: those of the folders
// above first, so that later patterns take precedence, as in git.
type ignoreRules map[string][]gitignore.Pattern

// mostIgnoreBytes bounds a .gitignore file. Longer ones are refused.
const mostIgnoreBytes = 1 << 20

// read sets the patterns of a folder: those of the folder above, which must have been read before, and those of its
// own .gitignore, if it has one. at is the folder on disk, and below its path below the root, "." for the root. A
// .gitignore that cannot be read, is no regular file or is too long is an error, after which only the patterns of
// the folders above apply.
func (r ignoreRules) read(at, below string) error {
	var domain []string
	patterns := r[path.Dir(below)]
	if below == "." {
		patterns = nil
	} else {
		domain = strings.Split(below, "/")
	}
	r[below] = patterns
	name := filepath.Join(at, ".gitignore")
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostIgnoreBytes {
		return errors.Join(err, fmt.Errorf("%s is no regular file of up to %d bytes", name, mostIgnoreBytes))
	}
	patterns = patterns[:len(patterns):len(patterns)] // not to write into those of the folder above
	lines := bufio.NewScanner(io.LimitReader(f, mostIgnoreBytes))
	lines.Buffer(nil, mostIgnoreBytes)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		patterns = append(patterns, gitignore.ParsePattern(line, domain))
	}
	if err := lines.Err(); err != nil {
		return err
	}
	r[below] = patterns
	return nil
}

// match reports whether the .gitignore files above a file or folder exclude it. below is its path below the root.
// The last pattern that matches decides; the root is never excluded.
func (r ignoreRules) match(below string, isFolder bool) bool {
	if below == "." {
		return false
	}
	return gitignore.NewMatcher(r[path.Dir(below)]).Match(strings.Split(below, "/"), isFolder)
}
