package documents

import (
	"context"
	"fmt"
	"path/filepath"
)

// WalkRoots calls visit for the files of several roots, as Walk does for one. Where a root has a
// file with the path of one before it, as docs/README.md and README.md have, the later one goes by
// its folder's name and path (Qualified), so that both are found; the others keep their paths.
func WalkRoots(
	ctx context.Context,
	roots []string,
	limits Limits,
	visit func(root string, f File) error,
	skipped func(root, path, why string),
) error {
	taken := map[string]string{} // where a file lies, by its path
	for _, root := range roots {
		err := Walk(ctx, root, limits, func(f File) error {
			at := lies(root, f.Path)
			if before, twice := taken[f.Path]; twice {
				path, err := Qualified(root, f.Path)
				if err != nil {
					return err
				}
				if _, still := taken[path]; still || before == at {
					return fmt.Errorf("%s and %s would both be the document %q: name the folder above both, or one of them alone",
						before, at, f.Path)
				}
				f.Path = path
			}
			taken[f.Path] = at
			return visit(root, f)
		}, func(path, why string) {
			if skipped != nil {
				skipped(root, path, why)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Qualified returns a path below a root with the name of the folder: the root itself, or the one
// that a lone file is in.
func Qualified(root, path string) (string, error) {
	absolute, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if filepath.Base(absolute) == path { // a lone file
		absolute = filepath.Dir(absolute)
	}
	return filepath.Base(absolute) + "/" + path, nil
}

// lies returns where a file of a root is.
func lies(root, path string) string {
	if filepath.Base(root) == path {
		return filepath.Clean(root)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}
