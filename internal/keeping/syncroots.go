package keeping

import (
	"context"
	"fmt"

	"example.org/conclave/documents"
)

// markRoots fills s.marks, which has each root by its mark (documents.RootOf). If MovedFrom is set, its mark also
// stands for the one root, so that the documents read from there count as that root's. It returns an error if MovedFrom
// is set and there is not exactly one root, or if a path cannot be made absolute.
func (s *syncing) markRoots() error {
	for _, root := range s.Roots {
		mark, err := documents.RootOf(root)
		if err != nil {
			return err
		}
		s.marks[mark] = root
	}
	if s.MovedFrom == "" {
		return nil
	}
	if len(s.Roots) != 1 {
		return fmt.Errorf("%d folders are given, and only one can have moved from %s", len(s.Roots), s.MovedFrom)
	}
	mark, err := documents.RootOf(s.MovedFrom)
	if err != nil {
		return err
	}
	s.marks[mark] = s.Roots[0]
	return nil
}

// mountPoint is a folder below a root on which another file system is mounted.
type mountPoint struct{ root, mark string } // mark is the second result of documents.SplitMark

// rootOf returns the path of the root, one of Roots, whose documents carry this mark (documents.MarkOf); "" if there is
// none.
func (s *syncing) rootOf(mark string) string {
	root, _ := documents.SplitMark(mark)
	return s.marks[root]
}

// findFiles returns the files below all roots, adds their sizes to s.total, and fills s.mounted. Skipped files are
// reported to Failed; the documents of those that are not ignored on purpose are kept. It returns an error if a root or
// folder cannot be read.
func (s *syncing) findFiles(ctx context.Context) (files []documents.FoundFile, err error) {
	walking := documents.Walking{
		Limits: s.Reader.Limits(), GitIgnore: s.GitIgnore, Owner: s.owner,
		Skipped: func(root string, skip documents.Skip) {
			if !skip.Ignored {
				for id := range documents.PossibleIDs(root, skip.Path) {
					s.keep[id] = true
				}
			}
			if s.Failed != nil {
				s.Failed(skip.Path, &documents.SkippedError{Why: skip.Why})
			}
		},
		Mounted: func(mark string) {
			_, mount := documents.SplitMark(mark)
			s.mounted[mountPoint{s.rootOf(mark), mount}] = true
		},
	}
	err = walking.Files(ctx, s.Roots, func(_ string, f documents.FoundFile) error {
		files = append(files, f)
		s.total += f.Size
		return nil
	})
	return files, err
}

// owner implements documents.Owner: own says that the collection has a document at or below this id from the root with
// this mark, other that it has one from elsewhere. Documents from MovedFrom count as the root's own.
func (s *syncing) owner(mark, id string) (own, other bool) {
	for _, owner := range s.owned[id] {
		if root := s.rootOf(owner); root != "" && root == s.rootOf(mark) {
			own = true
		} else {
			other = true
		}
	}
	return own, other
}
