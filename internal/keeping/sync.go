package keeping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Target is a collection whose documents are to be those of folders.
type Target interface {
	// Put puts a document, as Keeper.Put does.
	Put(ctx context.Context, f File) (Result, error)
	// Delete deletes a document, as Keeper.Delete does.
	Delete(ctx context.Context, id string) (Result, error)
	// Documents lists documents after an id, as search.Engine.Documents does.
	Documents(ctx context.Context, after string, limit int) (found []corpus.Document, next string, err error)
}

// SyncOptions say what a collection is made to follow.
type SyncOptions struct {
	Roots  []string             // files, archives and folders
	Reader *documents.Extractor // finds files by its limits, and unpacks archives
	// Wait reports whether a file is left for another time, as one that is being written;
	// nil: none is. What was read of it before stays.
	Wait func(documents.File) bool
	// Same reports whether a file is known to be as it was when its documents were
	// compared last, and needs no reading; nil: no file is known.
	Same func(documents.File) bool
	// Compared is told of each file whose documents are now those of the file. Nil: nobody.
	Compared func(documents.File)
	// Failed is told of each file that was not taken, and why. Nil: nobody.
	Failed func(path string, err error)
	// Warned is told what was left out of a file. Nil: nobody.
	Warned func(path, warning string)
	// Progress is told how many bytes of files were looked at, of how many. Nil: nobody.
	Progress func(done, total int64)
}

// Synced says what became of documents.
type Synced struct {
	Added     int    `json:"added"`
	Replaced  int    `json:"replaced"`
	Removed   int    `json:"removed"`
	Unchanged int    `json:"unchanged"`
	Failed    int    `json:"failed"`
	Waiting   int    `json:"waiting,omitempty"` // files that are being written
	Seq       uint64 `json:"-"`
}

// Changed reports whether anything was.
func (s *Synced) Changed() bool { return s.Added+s.Replaced+s.Removed > 0 }

// had is what a collection has of a document.
type had struct {
	sum  [sha256.Size]byte
	root string
	seen bool
}

// syncing is one pass over the files.
type syncing struct {
	SyncOptions
	to     Target
	had    map[string]*had
	keep   map[string]bool // ids that stay, with all below them, whatever was seen of them
	done   int64
	total  int64
	synced Synced
}

// Sync makes the documents of a collection those of the files at the roots: it takes what
// is new or changed, and removes what came from the same roots and is gone. Other documents
// stay. Each document is changed whole, and what an interruption leaves to do is done by
// the next Sync. A file that cannot be read keeps what was read of it before.
func Sync(ctx context.Context, to Target, o SyncOptions) (Synced, error) {
	s := &syncing{SyncOptions: o, to: to, had: map[string]*had{}, keep: map[string]bool{}}
	marks := map[string]string{} // by root
	roots := map[string]bool{}
	for _, root := range o.Roots {
		mark, err := RootOf(root)
		if err != nil {
			return s.synced, err
		}
		marks[root] = mark
		roots[mark] = true
	}
	found, err := s.walk(ctx)
	if err != nil {
		return s.synced, err // before anything is changed
	}
	if err := s.list(ctx); err != nil {
		return s.synced, err
	}
	for _, f := range found {
		if err := s.file(ctx, f.root, marks[f.root], f.File); err != nil {
			return s.synced, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.had)) {
		if h := s.had[id]; h.seen || !roots[h.root] || s.stays(id) {
			continue
		}
		r, err := to.Delete(ctx, id)
		if err != nil {
			return s.synced, fmt.Errorf("removing %s: %w", id, err)
		}
		s.synced.Seq = max(s.synced.Seq, r.Seq)
		s.synced.Removed++
	}
	return s.synced, nil
}

// RootOf returns the mark of documents that come from a file or folder: it is told apart
// from others by its absolute path, which the mark does not tell.
func RootOf(path string) (string, error) { return documents.RootOf(path) }

// foundFile is a file of a root.
type foundFile struct {
	documents.File
	root string
}

// walk finds the files of all roots.
func (s *syncing) walk(ctx context.Context) (files []foundFile, err error) {
	err = documents.WalkRoots(ctx, s.Roots, s.Reader.Limits(), func(root string, f documents.File) error {
		files = append(files, foundFile{f, root})
		s.total += f.Size
		return nil
	}, func(root, path, why string) {
		s.keep[path] = true
		if named, err := documents.Qualified(root, path); err == nil {
			s.keep[named] = true
		}
		if s.Failed != nil {
			s.Failed(path, &documents.SkippedError{Why: why})
		}
	})
	return files, err
}

// listedAtOnce is how many documents are listed by one call.
const listedAtOnce = 500

// list reads what the collection has.
func (s *syncing) list(ctx context.Context) error {
	for after := ""; ; {
		found, next, err := s.to.Documents(ctx, after, listedAtOnce)
		if err != nil {
			return err
		}
		for _, d := range found {
			h := &had{root: d.Root}
			if sum, err := hex.DecodeString(d.SHA256); err == nil && len(sum) == len(h.sum) {
				copy(h.sum[:], sum)
			}
			s.had[d.ID] = h
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// stays reports whether a document is kept although its file was not read.
func (s *syncing) stays(id string) bool {
	for !s.keep[id] {
		slash := strings.LastIndexByte(id, '/')
		if slash < 0 {
			return false
		}
		id = id[:slash]
	}
	return true
}

// file takes one file. Only an error that concerns more than the file is returned.
func (s *syncing) file(ctx context.Context, root, mark string, f documents.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer func() {
		s.done += f.Size
		if s.Progress != nil {
			s.Progress(s.done, s.total)
		}
	}()
	if s.Wait != nil && s.Wait(f) {
		s.synced.Waiting++
		s.keep[f.Path] = true
		return nil
	}
	if s.Same != nil && s.Same(f) {
		s.keep[f.Path] = true
		s.synced.Unchanged++
		return nil
	}
	failed := s.synced.Failed
	data, err := f.Data()
	if err == nil {
		err = s.Reader.Expand(ctx, f.Path, data, func(m documents.Member) error {
			return s.member(ctx, root, mark, f, m, s.Reader.Limits().Depth)
		})
	}
	if err != nil {
		if err := s.failed(ctx, f.Path, err); err != nil {
			return err
		}
	}
	if failed == s.synced.Failed && s.Compared != nil {
		s.Compared(f)
	}
	return nil
}

// failed notes that a file was not taken; an error that concerns more than the file is
// returned.
func (s *syncing) failed(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !ofOneFile(err) {
		return err
	}
	s.synced.Failed++
	s.keep[path] = true
	if s.Failed != nil {
		s.Failed(path, err)
	}
	return nil
}

// member takes one file of an archive, or the file itself, and what is attached to it.
func (s *syncing) member(
	ctx context.Context,
	root, mark string,
	f documents.File,
	m documents.Member,
	depth int,
) error {
	if h := s.had[m.Name]; h != nil {
		h.seen = true
		if h.sum == sha256.Sum256(m.Data) && h.root == mark {
			s.synced.Unchanged++
			s.keep[m.Name] = true // with what is attached to it
			return nil
		}
	}
	r, err := s.to.Put(ctx, File{
		About: documents.About{ID: m.Name, Root: mark, Modified: f.ModTime},
		Data:  m.Data,
		Attached: func(a documents.Member) error {
			name := m.Name + "/" + a.Name
			if depth == 0 {
				return s.failed(ctx, name, documents.TooDeep(s.Reader.Limits()))
			}
			err := s.Reader.Expand(ctx, name, a.Data, func(inner documents.Member) error {
				return s.member(ctx, root, mark, f, inner, depth-1)
			})
			if err != nil {
				return s.failed(ctx, name, err)
			}
			return nil
		},
	})
	if err != nil {
		return s.failed(ctx, m.Name, err)
	}
	if s.Warned != nil {
		for _, warning := range r.Warnings {
			s.Warned(m.Name, warning)
		}
	}
	s.synced.Seq = max(s.synced.Seq, r.Seq)
	switch r.Outcome {
	case store.Created:
		s.synced.Added++
	case store.Unchanged:
		s.synced.Unchanged++
	default:
		s.synced.Replaced++
	}
	return nil
}

// fileError is the error of a file that a server refuses.
type fileError struct{ err error }

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// OfFile says that an error concerns one file alone, so that a Sync goes on.
func OfFile(err error) error { return &fileError{err} }
