package documents

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
)

// Owner reports whether a collection has documents with an id, or below it (members of an archive): own for documents
// of the root with this mark (RootOf), other for documents from elsewhere.
type Owner func(mark, id string) (own, other bool)

// Files calls visit for each regular file at the roots, which are files, archives and folders, in the order of the
// roots and of the names in each. FoundFile.Path is the id of its document, and no two files have the same. It is
//
//  1. the id with which the collection has the file already (Owner),
//  2. else its path below the root (DocumentID), unless another file or a document from elsewhere has that id,
//  3. else its path with the names of folders above the root before it, as many as needed.
//
// It is an error if a file is found twice since one root lies in another, if no id is left for a file, if a root
// cannot be read, or if ctx ends. An error of visit ends the walk and is returned.
func (w Walking) Files(ctx context.Context, roots []string, visit func(root string, f FoundFile) error) error {
	taken := map[string]string{} // where a file is, by its id
	seen := map[string]bool{}    // files, by where they are
	for _, root := range roots {
		mark, err := RootOf(root)
		if err != nil {
			return err
		}
		err = w.walk(ctx, root, func(f FoundFile) error {
			at, err := filepath.Abs(f.At)
			if err != nil {
				return err
			}
			if seen[at] {
				return fmt.Errorf("%s is found twice, since one of the folders to read lies in another: name one of them alone", f.At)
			}
			seen[at] = true
			path := f.Path
			first := DocumentID(path)
			f.Path = w.chooseID(mark, PossibleIDs(root, path), taken)
			if f.Path == "" {
				return fmt.Errorf("%s has no id left: %s is the document %q already, and others have the longer ones",
					f.At, taken[first], first)
			}
			switch {
			case f.Path != first:
				f.Renamed = fmt.Sprintf("it has this id, since another document is called %q", first)
			case f.Path != path:
				f.Renamed = "it has this id, since its path cannot be one: " + strconv.Quote(path)
			}
			taken[f.Path] = at
			return visit(root, f)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chooseID returns the first of the possible ids that the collection has for this root already, else the first that is
// free; "" if all belong to others. taken has the ids of files found before.
func (w Walking) chooseID(mark string, ids iter.Seq[string], taken map[string]string) string {
	free := ""
	for id := range ids {
		if _, used := taken[id]; used {
			continue
		}
		own, other := false, false
		if w.Owner != nil {
			own, other = w.Owner(mark, id)
		}
		if own {
			return id
		}
		if free == "" && !other {
			free = id
		}
		if free != "" && w.Owner == nil {
			break
		}
	}
	return free
}

// List calls visit for each regular file at the roots, as Files does, without choosing ids: FoundFile.Path is the path
// below the root, and files may be found twice. For many files it takes a fraction of the time. The error is that of
// visit, which ends it, of ctx, or of a root that cannot be read.
func (w Walking) List(ctx context.Context, roots []string, visit func(f FoundFile) error) error {
	for _, root := range roots {
		if err := w.walk(ctx, root, visit); err != nil {
			return err
		}
	}
	return nil
}

// PossibleIDs yields the ids that the document of a file may have, the first choice first: for its path below the
// root, then with the name of the root's folder before it, and so on up. path is below the root, or the root's own
// name if that is a file. If the root's absolute path cannot be found, there is only the first.
func PossibleIDs(root, path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(DocumentID(path)) {
			return
		}
		absolute, err := filepath.Abs(root)
		if err != nil {
			return
		}
		if filepath.Base(absolute) == path { // a lone file
			absolute = filepath.Dir(absolute)
		}
		above := strings.Split(strings.Trim(filepath.ToSlash(absolute), "/"), "/")
		for i := len(above) - 1; i >= 0 && above[i] != ""; i-- {
			path = above[i] + "/" + path
			if !yield(DocumentID(path)) {
				return
			}
		}
	}
}
