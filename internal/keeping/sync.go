package keeping

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"

	"golang.org/x/sync/errgroup"
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
	// AtOnce is how many files are read and put at a time; 0: one.
	AtOnce int
	// GitIgnore leaves out what files called .gitignore in the folders name.
	GitIgnore bool
	// MovedFrom is where the only root was when its documents were read; "": where it is.
	MovedFrom string
	// DeleteAll removes documents whose files are gone, however many these are. Without it, those stay that
	// Synced.Held names.
	DeleteAll bool
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
	Held      []Held `json:"held,omitempty"`    // documents that stay although their files are gone
	Seq       uint64 `json:"-"`
}

// Changed reports whether anything was.
func (s *Synced) Changed() bool { return s.Added+s.Replaced+s.Removed > 0 }

// had is what a collection has of a document.
type had struct {
	sum      [sha256.Size]byte
	root     string
	modified time.Time // of its file, in seconds; zero where that is not known
	seen     bool
}

// syncing is one pass over the files.
type syncing struct {
	SyncOptions
	to    Target
	marks map[string]string   // of documents that follow the roots, and the root of each
	owned map[string][]string // by the id of a document or of what it lies in, marks of the documents there

	mu     sync.Mutex // guards what follows and the calls of the functions in SyncOptions
	had    map[string]*had
	keep   map[string]bool // ids that stay, with all below them, whatever was seen of them
	done   int64
	total  int64
	synced Synced
}

// Sync makes the documents of a collection those of the files at the roots: it takes what
// is new or changed, and removes what came from the same roots and is gone. Other documents
// stay, also those that have the path of a file as their id: the file gets another one
// (documents.Walking.Files), and a warning says so. Each document is changed whole, and what an
// interruption leaves to do is done by the next Sync. A file that cannot be read keeps what was
// read of it before, and one that was emptied keeps nothing. A root that is not there is an error
// before anything is changed. Where too much seems to be gone, the documents stay and
// Synced.Held says so, unless DeleteAll is set.
func Sync(ctx context.Context, to Target, o SyncOptions) (Synced, error) {
	s := &syncing{
		SyncOptions: o, to: to, marks: map[string]string{}, owned: map[string][]string{},
		had: map[string]*had{}, keep: map[string]bool{},
	}
	if err := s.markRoots(); err != nil {
		return s.synced, err
	}
	if err := s.list(ctx); err != nil {
		return s.synced, err
	}
	found, err := s.findFiles(ctx)
	if err != nil {
		return s.synced, err // before anything is changed
	}
	held, err := s.holdDeletions(found)
	if err != nil {
		return s.synced, err
	}
	if err := s.takeFiles(ctx, found); err != nil {
		return s.synced, err
	}
	for _, id := range slices.Sorted(maps.Keys(s.had)) {
		if h := s.had[id]; h.seen || held[id] || s.marks[h.root] == "" || s.stays(id) {
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

// markRoots fills marks. It fails where MovedFrom is set and there is more than one root.
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

// foundFile is a file of a root.
type foundFile struct {
	documents.File
	mark string // of the root
}

// findFiles finds the files of all roots.
func (s *syncing) findFiles(ctx context.Context) (files []foundFile, err error) {
	walking := documents.Walking{
		Limits: s.Reader.Limits(), GitIgnore: s.GitIgnore, Owner: s.owner,
		Skipped: func(root string, skip documents.Skip) {
			if !skip.Ignored {
				for _, id := range documents.PossibleIDs(root, skip.Path) {
					s.keep[id] = true
				}
			}
			if s.Failed != nil {
				s.Failed(skip.Path, &documents.SkippedError{Why: skip.Why})
			}
		},
	}
	err = walking.Files(ctx, s.Roots, func(root string, f documents.File) error {
		mark, err := documents.RootOf(root)
		files = append(files, foundFile{f, mark})
		s.total += f.Size
		return err
	})
	return files, err
}

// owner implements documents.Owner by what the collection has. Documents of the folder that a root moved from
// are the root's.
func (s *syncing) owner(mark, id string) (own, other bool) {
	for _, of := range s.owned[id] {
		if s.marks[of] != "" && s.marks[of] == s.marks[mark] {
			own = true
		} else {
			other = true
		}
	}
	return own, other
}

// takeFiles reads the files, AtOnce at a time, and puts what is new or changed. The first error that concerns
// more than one file ends it.
func (s *syncing) takeFiles(ctx context.Context, found []foundFile) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.AtOnce))
	for _, f := range found {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return s.file(running, f.mark, f.File) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
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
			h := &had{root: d.Root, modified: d.Modified}
			if sum, err := hex.DecodeString(d.SHA256); err == nil && len(sum) == len(h.sum) {
				copy(h.sum[:], sum)
			}
			s.had[d.ID] = h
			for id := range idsAbove(d.ID) {
				if !slices.Contains(s.owned[id], d.Root) {
					s.owned[id] = append(s.owned[id], d.Root)
				}
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

// stays reports whether a document is kept although its file was not read.
func (s *syncing) stays(id string) bool {
	for id := range idsAbove(id) {
		if s.keep[id] {
			return true
		}
	}
	return false
}

// idsAbove yields the id of a document and of each archive or folder that it lies in, the longest first.
func idsAbove(id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(id) {
			slash := strings.LastIndexByte(id, '/')
			if slash < 0 {
				return
			}
			id = id[:slash]
		}
	}
}

// file takes one file. Only an error that concerns more than the file is returned.
func (s *syncing) file(ctx context.Context, mark string, f documents.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer s.advance(f.Size)
	if s.leaveAlone(f) {
		return nil
	}
	data, err := f.Data()
	if err == nil && len(bytes.TrimSpace(data)) == 0 && s.forgetEmptied(f) {
		return nil
	}
	whole := true
	if err == nil {
		err = s.Reader.Expand(ctx, f.Path, data, func(m documents.Member) error {
			taken, err := s.member(ctx, mark, f, m, s.Reader.Limits().Depth)
			whole = whole && taken
			return err
		})
	}
	if err != nil {
		whole = false
		if err := s.failed(ctx, f.Path, err); err != nil {
			return err
		}
	}
	if whole {
		s.noteCompared(f)
	}
	return nil
}

// advance reports that the bytes of one more file were looked at.
func (s *syncing) advance(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += size
	if s.Progress != nil {
		s.Progress(s.done, s.total)
	}
}

// leaveAlone reports whether a file is not read now, since it is being written or known to be unchanged, and
// keeps its documents.
func (s *syncing) leaveAlone(f documents.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.Wait != nil && s.Wait(f):
		s.synced.Waiting++
	case s.Same != nil && s.Same(f):
		s.synced.Unchanged++
	default:
		return false
	}
	s.keep[f.Path] = true
	return true
}

// forgetEmptied reports whether a file that is empty now had text before, whose document is not kept. It warns
// of that.
func (s *syncing) forgetEmptied(f documents.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.had[f.Path] == nil {
		return false
	}
	if s.Warned != nil {
		s.Warned(f.Path, "the file is empty now: its text is removed")
	}
	if s.Compared != nil {
		s.Compared(f)
	}
	return true
}

// noteCompared calls Compared.
func (s *syncing) noteCompared(f documents.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Compared != nil {
		s.Compared(f)
	}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced.Failed++
	s.keep[path] = true
	if s.Failed != nil {
		s.Failed(path, err)
	}
	return nil
}

// member takes one file of an archive, or the file itself, and what is attached to it. It reports whether all
// of that was taken. The error is one that concerns more than the file.
func (s *syncing) member(
	ctx context.Context,
	mark string,
	f documents.File,
	m documents.Member,
	depth int,
) (taken bool, err error) {
	id := documents.DocumentID(m.Name)
	if s.isUnchanged(id, mark, m.Data) {
		return true, nil
	}
	taken = true
	r, err := s.to.Put(ctx, File{
		About: documents.About{ID: id, Root: mark, Modified: f.ModTime},
		Data:  m.Data,
		Attached: func(a documents.Member) error {
			name := id + "/" + a.Name
			if depth == 0 {
				taken = false
				return s.failed(ctx, name, documents.TooDeep(s.Reader.Limits()))
			}
			err := s.Reader.Expand(ctx, name, a.Data, func(inner documents.Member) error {
				whole, err := s.member(ctx, mark, f, inner, depth-1)
				taken = taken && whole
				return err
			})
			if err != nil {
				taken = false
				return s.failed(ctx, name, err)
			}
			return nil
		},
	})
	if err != nil {
		return false, s.failed(ctx, id, err)
	}
	s.notePut(id, f, r)
	return taken, nil
}

// isUnchanged reports whether the collection has a document with these bytes, and keeps it and what is attached
// to it if so.
func (s *syncing) isUnchanged(id, mark string, data []byte) bool {
	sum := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.had[id]
	if h == nil {
		return false
	}
	h.seen = true
	if h.sum != sum || h.root != mark {
		return false
	}
	s.synced.Unchanged++
	s.keep[id] = true
	return true
}

// notePut counts what became of a document, and hands on the warnings.
func (s *syncing) notePut(id string, f documents.File, r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Warned != nil {
		if id == f.Path && f.Renamed != "" {
			s.Warned(id, f.Renamed)
		}
		for _, warning := range r.Warnings {
			s.Warned(id, warning)
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
}

// fileError is the error of a file that a server refuses.
type fileError struct{ err error }

func (e *fileError) Error() string { return e.err.Error() }
func (e *fileError) Unwrap() error { return e.err }

// OfFile says that an error concerns one file alone, so that a Sync goes on.
func OfFile(err error) error { return &fileError{err} }
