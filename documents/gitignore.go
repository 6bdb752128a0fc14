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

// ignoreRules holds the patterns of the .gitignore files that count in each folder, by its path below the
// root: its own behind those of the folders above it, as git reads them.
type ignoreRules map[string][]gitignore.Pattern

// mostIgnoreBytes bounds a .gitignore file. Longer ones are refused.
const mostIgnoreBytes = 1 << 20

// read adds the patterns of the .gitignore in a folder, if there is one, to those of the folder above. at is
// where the folder is on disk and below its path below the root, "." for the root itself. The folder above must
// have been read before. On an error only the patterns of the folders above count.
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

// match reports whether a file or folder, by its path below the root, is named by a .gitignore of a folder
// above it, by the last pattern that fits.
func (r ignoreRules) match(below string, isFolder bool) bool {
	if below == "." {
		return false
	}
	return gitignore.NewMatcher(r[path.Dir(below)]).Match(strings.Split(below, "/"), isFolder)
}
