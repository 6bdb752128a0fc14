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

	"golang.org/x/sync/errgroup"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
)

// Target is a collection that Sync makes equal to the files of folders.
type Target interface {
	// Put adds a document, or replaces the one with its id.
	Put(ctx context.Context, f DocumentFile) (ChangeResult, error)
	// Delete deletes a document. If there is none, the outcome is store.Absent and the error nil.
	Delete(ctx context.Context, id string) (ChangeResult, error)
	// Documents returns up to limit documents after an id, in the order of their ids. next is the id to go on after, ""
	// at the end.
	Documents(ctx context.Context, after string, limit int) (found []corpus.Document, next string, err error)
}

// SyncOptions say which files Sync compares with a collection, and whom it tells of them.
type SyncOptions struct {
	Roots  []string             // files, archives and folders
	Reader *documents.Extractor // finds files by its limits, and unpacks archives
	// AtOnce is how many files are read and put at a time; 0: one.
	AtOnce int
	// GitIgnore leaves out files that match a .gitignore in the folders.
	GitIgnore bool
	// Refer lets documents name their files, so that these can be shown. The Target has to be on the same machine.
	Refer bool
	// MovedFrom is the path that the only root had when its documents were read; "": it has not moved.
	MovedFrom string
	// DeleteAll deletes all documents whose files are gone, however many. Without it, some are held (SyncReport.Held).
	DeleteAll bool
	// Wait reports whether to leave a file for a later Sync because it is still being written. Its documents stay
	// as they are. Nil: no file waits.
	Wait func(documents.FoundFile) bool
	// Same reports whether a file is known to be unchanged since its documents were last compared with it, so that
	// it need not be read. Nil: all files are read.
	Same func(documents.FoundFile) bool
	// Compared is called with each file whose documents are now up to date. May be nil.
	Compared func(documents.FoundFile)
	// Failed is called with each file that was not taken, and why. May be nil.
	Failed func(path string, err error)
	// Warned is called with what was left out of a file. May be nil.
	Warned func(path, warning string)
	// Progress is called with the bytes of files that are done, and the total. May be nil.
	Progress func(done, total int64)
}

// SyncReport counts what Sync did with documents.
type SyncReport struct {
	Added     int    `json:"added"`
	Replaced  int    `json:"replaced"`
	Removed   int    `json:"removed"`
	Unchanged int    `json:"unchanged"`
	Failed    int    `json:"failed"`
	Waiting   int    `json:"waiting,omitempty"` // files that are being written
	Held      []Held `json:"held,omitempty"`    // documents that stay although their files are gone
	Seq       uint64 `json:"-"`
}

// Add adds the numbers of another Sync.
func (s *SyncReport) Add(more SyncReport) {
	s.Added += more.Added
	s.Replaced += more.Replaced
	s.Removed += more.Removed
	s.Unchanged += more.Unchanged
	s.Failed += more.Failed
	s.Waiting += more.Waiting
	s.Held = append(s.Held, more.Held...)
	s.Seq = max(s.Seq, more.Seq)
}

// Changed reports whether any document was added, replaced or removed.
func (s *SyncReport) Changed() bool { return s.Added+s.Replaced+s.Removed > 0 }

// earlierDocument is the state of one document in the collection before a Sync.
type earlierDocument struct {
	sum      [sha256.Size]byte
	source   string    // where it is from
	mark     string    // of the file that it was read from (documents.MarkOf); "": it was put by itself
	modified time.Time // of its file, in seconds; zero where that is not known
	seen     bool      // its file was found and read
}

// syncing is the state of one Sync.
type syncing struct {
	SyncOptions
	to      Target
	tags    []string            // of documents that are put
	marks   map[string]string   // path of each root, by its mark (documents.RootOf)
	owned   map[string][]string // marks of documents, by their id and the ids above it (idsAbove)
	mounted map[mountPoint]bool // the mount points that are below the roots now

	mu     sync.Mutex // guards what follows and the calls of the functions in SyncOptions
	had    map[string]*earlierDocument
	keep   map[string]bool // ids of documents that are not deleted, with all below them
	done   int64           // bytes of files that were looked at
	total  int64           // bytes of all files
	synced SyncReport
}

// Sync makes a collection match the files at the roots: it puts new and changed files, and deletes documents that came
// from these roots and whose files are gone. It returns what it did, also with an error.
//
//   - Documents of other origin stay. If one has the path of a file as its id, the file gets another id
//     (documents.Walking.Files), and Warned is told.
//   - A file that cannot be read keeps its old documents. A file that became empty loses its document.
//   - If suspiciously many files are gone, their documents stay and SyncReport.Held says so, unless DeleteAll is set.
//
// The error is not about a single file, of which Failed is told. If it comes before the first change, as for a root
// that is absent, nothing was changed; if a change itself fails, those before it stay. Each document is changed as a
// whole; after an error or an interruption the next Sync does the rest.
func Sync(ctx context.Context, to Target, o SyncOptions) (SyncReport, error) {
	s := &syncing{
		SyncOptions: o, to: to, marks: map[string]string{}, owned: map[string][]string{},
		mounted: map[mountPoint]bool{}, had: map[string]*earlierDocument{}, keep: map[string]bool{},
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
		if h := s.had[id]; h.seen || held[id] || s.rootOf(h.mark) == "" || s.stays(id) {
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

// takeFiles reads the files, AtOnce at a time, and puts new and changed ones into the collection. It stops at the first
// error that is about more than one file, and returns it.
func (s *syncing) takeFiles(ctx context.Context, found []documents.FoundFile) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.AtOnce))
	for _, f := range found {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return s.file(running, f) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// listedAtOnce is the limit of one call of Target.Documents.
const listedAtOnce = 500

// list reads the list of all documents of the collection into s.had and s.owned. It fails if the list cannot be read;
// the maps may then have some of the documents.
func (s *syncing) list(ctx context.Context) error {
	for after := ""; ; {
		found, next, err := s.to.Documents(ctx, after, listedAtOnce)
		if err != nil {
			return err
		}
		for _, d := range found {
			h := &earlierDocument{source: d.Source, mark: d.Root, modified: d.Modified}
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

// stays reports whether s.keep has the id or one above it (idsAbove): the document is not deleted.
func (s *syncing) stays(id string) bool {
	for id := range idsAbove(id) {
		if s.keep[id] {
			return true
		}
	}
	return false
}

// idsAbove yields the id itself and then the id of each folder or archive above it: a/b/c, a/b, a.
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

// file compares one file with its documents and puts those that are new or changed. A failure of the file alone is
// reported to Failed; the error returned is about more than the file.
func (s *syncing) file(ctx context.Context, f documents.FoundFile) error {
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
			taken, err := s.member(ctx, f, m, s.Reader.Limits().Depth)
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

// advance adds a file's size in bytes to s.done, and calls Progress, unless it is nil, with the sizes done and in
// total.
func (s *syncing) advance(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += size
	if s.Progress != nil {
		s.Progress(s.done, s.total)
	}
}

// leaveAlone reports whether a file need not be read now, because it is still being written (Wait) or known to be
// unchanged (Same). It then counts the file and keeps its documents.
func (s *syncing) leaveAlone(f documents.FoundFile) bool {
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

// forgetEmptied handles a file that is empty now. It returns true, after a warning, if the collection has a document of
// the file: Sync deletes it at the end. false: there was none.
func (s *syncing) forgetEmptied(f documents.FoundFile) bool {
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

// noteCompared calls Compared, if it is set, with a file whose documents are up to date.
func (s *syncing) noteCompared(f documents.FoundFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Compared != nil {
		s.Compared(f)
	}
}

// failed counts a file that was not taken, keeps its documents, and reports err to Failed. It returns nil then. If ctx
// has ended or err is about more than the file, it only returns that error.
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

// member puts one member of file f, which is f itself if that is no archive, and the attachments of a mail, up to depth
// levels deep. taken is false if any of them failed. The error is about more than the file.
func (s *syncing) member(
	ctx context.Context,
	f documents.FoundFile,
	m documents.Member,
	depth int,
) (taken bool, err error) {
	id := documents.DocumentID(m.Name)
	if s.isUnchanged(id, f.Mark, m.Data) {
		return true, nil
	}
	taken = true
	mediaType := ""
	if m.Name == f.Path {
		mediaType = f.Type
	}
	r, err := s.to.Put(ctx, DocumentFile{
		About: documents.About{
			ID: id, Source: f.Source, Root: f.Mark, Original: s.original(f), Modified: f.ModTime, Tags: s.tags,
		},
		Type: mediaType, Data: m.Data, Uncopied: f.Source != "",
		Attached: func(a documents.Member) error {
			name := id + "/" + a.Name
			if depth == 0 {
				taken = false
				return s.failed(ctx, name, documents.TooDeep(s.Reader.Limits()))
			}
			err := s.Reader.Expand(ctx, name, a.Data, func(inner documents.Member) error {
				whole, err := s.member(ctx, f, inner, depth-1)
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

// original returns the value for About.Original of a file's documents: a reference to the file by its path below the
// root if Refer is set, else "". It is also "" if that path is not valid UTF-8.
func (s *syncing) original(f documents.FoundFile) string {
	if !s.Refer {
		return ""
	}
	return f.Original()
}

// isUnchanged reports whether the collection has this document with this mark (documents.MarkOf) and exactly these
// bytes. It then keeps the document and its attachments. A document with this id counts as seen either way.
func (s *syncing) isUnchanged(id, mark string, data []byte) bool {
	sum := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.had[id]
	if h == nil {
		return false
	}
	h.seen = true
	if h.sum != sum || h.mark != mark {
		return false
	}
	s.synced.Unchanged++
	s.keep[id] = true
	return true
}

// notePut counts the outcome of a document that was put, and passes its warnings to Warned.
func (s *syncing) notePut(id string, f documents.FoundFile, r ChangeResult) {
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

// fileError marks an error as one of a single file (OfFile).
type fileError struct{ err error }

// Error returns the text of the wrapped error.
func (e *fileError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e *fileError) Unwrap() error { return e.err }

// OfFile wraps err so that Sync treats it as the failure of one file: it reports it and goes on with the others.
func OfFile(err error) error { return &fileError{err} }
