package server

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
)

// tryFilesAgain is the time after which an unchanged file that could not be read is tried again.
const tryFilesAgain = 10 * time.Minute

// lookAgainAtHeld is the time after which held documents (keeping.Held) are compared again although no file has
// changed: somebody may have deleted them.
const lookAgainAtHeld = time.Minute

// fileState is the size and modification time of a file: if either differs, the file was written to.
type fileState struct {
	size     int64
	modified time.Time
}

// stateOf returns the size and modification time of a file.
func stateOf(f documents.FoundFile) fileState { return fileState{f.Size, f.ModTime} }

// lookShare bounds the time of looking at folders: after a look, nine times as long nothing is looked at. So a hundred
// thousand files do not keep a processor busy.
const lookShare = 9

// follower keeps the documents of a served collection equal to the files of folders. It polls the folders:
// notifications of the operating system differ between systems and do not cover network drives, and listing ten
// thousand files takes some milliseconds. It is not safe for concurrent use.
type follower struct {
	roots     []string
	reader    *documents.Extractor
	gitIgnore bool
	refer     bool          // documents name their files (keeping.SyncOptions.Refer)
	quiet     time.Duration // a file is read when nobody has written to it for this long
	now       func() time.Time

	// By the path of a file:
	compared map[string]fileState  // files whose documents are up to date
	failed   map[string]failedFile // files that could not be read
	before   map[string]fileState  // all files at the last look
	settled  map[string]fileState  // all files when everything was last compared, or beingWritten(); nil: not yet

	at        map[string]string // paths of files, by the ids of their documents
	heldSince time.Time         // when documents were last held (keeping.Held); zero: none are
	looked    time.Duration     // how long the last look at the folders took
}

// beingWritten returns the state in follower.settled of a file that was being written: no file is in it.
func beingWritten() fileState { return fileState{size: -1} }

// failedFile is the state of a file when it could not be read, and the time of the attempt.
type failedFile struct {
	fileState
	at time.Time
}

// newFollower returns a follower that has not compared anything yet. A file is read when nobody has written to it for
// quiet.
func newFollower(roots []string, reader *documents.Extractor, quiet time.Duration) *follower {
	return &follower{
		roots: roots, reader: reader, quiet: quiet, now: time.Now,
		compared: map[string]fileState{}, failed: map[string]failedFile{}, before: map[string]fileState{},
		at: map[string]string{},
	}
}

// listFiles returns the state of every file below the roots, by path. It fails if a root or a folder cannot be read.
func (w *follower) listFiles(ctx context.Context) (map[string]fileState, error) {
	began := time.Now()
	found := make(map[string]fileState, len(w.before))
	walking := documents.Walking{Limits: w.reader.Limits(), GitIgnore: w.gitIgnore}
	err := walking.List(ctx, w.roots, func(f documents.FoundFile) error {
		found[f.At] = stateOf(f)
		return nil
	})
	w.looked = time.Since(began)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// isBeingWritten reports whether somebody may still be writing a file that is at this path in this state: it was
// modified less than w.quiet ago, or since the last look. For a modification time in the future only the last look
// counts, and a new file waits for the next one.
func (w *follower) isBeingWritten(at string, state fileState) bool {
	before, seen := w.before[at]
	age := w.now().Sub(state.modified)
	if age < 0 { // the file's clock is not ours
		return !seen || before != state
	}
	return age < w.quiet || seen && before != state
}

// hasChanged reports whether a file has come, gone or changed since everything was compared (w.settled), other than
// those that are being written. It is true if nothing was compared yet. now is the state of all files.
func (w *follower) hasChanged(now map[string]fileState) bool {
	if w.settled == nil {
		return true
	}
	for at, state := range now {
		if w.settled[at] != state && !w.isBeingWritten(at, state) {
			return true
		}
	}
	for at := range w.settled {
		if _, found := now[at]; !found {
			return true
		}
	}
	return false
}

// isUnchanged reports whether a file need not be read: it is unchanged since its documents were compared with it, or
// since it could not be read less than tryFilesAgain ago. It also records the file's path for its id in w.at.
func (w *follower) isUnchanged(f documents.FoundFile) bool {
	w.at[f.Path] = f.At
	if failed, ok := w.failed[f.At]; ok && failed.fileState == stateOf(f) && w.now().Sub(failed.at) < tryFilesAgain {
		return true
	}
	state, ok := w.compared[f.At]
	return ok && state == stateOf(f)
}

// fileReports are the functions that syncOnce calls with problems of single files.
type fileReports struct {
	failed func(path string, err error) // called when a file was not read
	warned func(path, warning string)   // called when a part of a file was left out or guessed
}

// syncOnce compares the files with the documents once and updates the documents (keeping.Sync). ok is false, and
// nothing is done, if no file has changed since everything was compared, other than those that are still being
// written, and nothing is due to be tried again. It
// calls visible first, which has to return when earlier writes are listed. The error is about more than one file,
// such as a folder that cannot be read; problems of single files go to report.
func (w *follower) syncOnce(
	ctx context.Context,
	to keeping.Target,
	visible func(context.Context) error,
	report fileReports,
) (synced keeping.SyncReport, ok bool, err error) {
	now, err := w.listFiles(ctx)
	if err != nil {
		return synced, true, err
	}
	again := !w.heldSince.IsZero() && w.now().Sub(w.heldSince) >= lookAgainAtHeld
	for _, f := range w.failed {
		again = again || w.now().Sub(f.at) >= tryFilesAgain
	}
	if !again && !w.hasChanged(now) {
		w.before = now
		return synced, false, nil
	}
	if err := visible(ctx); err != nil { // so that what was written is listed
		return synced, true, err
	}
	settled := maps.Clone(now)
	synced, err = keeping.Sync(ctx, to, keeping.SyncOptions{
		Roots: w.roots, Reader: w.reader, AtOnce: runtime.GOMAXPROCS(0), GitIgnore: w.gitIgnore, Refer: w.refer,
		Wait: func(f documents.FoundFile) bool {
			waits := w.isBeingWritten(f.At, stateOf(f))
			if waits {
				settled[f.At] = beingWritten()
			}
			return waits
		},
		Same: w.isUnchanged,
		Compared: func(f documents.FoundFile) {
			w.compared[f.At] = stateOf(f)
			delete(w.failed, f.At)
		},
		Failed: func(path string, err error) {
			if state, ok := now[w.at[path]]; ok {
				w.failed[w.at[path]] = failedFile{state, w.now()}
			}
			var skipped *documents.SkippedError
			if !errors.As(err, &skipped) {
				report.failed(path, err)
			}
		},
		Warned: report.warned,
	})
	w.heldSince = time.Time{}
	if len(synced.Held) > 0 {
		w.heldSince = w.now()
	}
	for path := range w.compared {
		if _, found := now[path]; !found {
			delete(w.compared, path)
		}
	}
	for path := range w.failed {
		if _, found := now[path]; !found {
			delete(w.failed, path)
		}
	}
	w.before, w.settled = now, nil
	if err == nil {
		w.settled = settled
	}
	return synced, true, err
}

// watchFolders keeps the documents equal to the files of these folders, looking every Documents.Look, or less often
// where looking takes long (lookShare), until s.running is done. It then returns nil. Failures are tried again; each is
// logged once, and shown in /readyz.
func (s *collection) watchFolders(roots []string) error {
	w := newFollower(roots, s.keeper.Reader(), s.config.Documents.Look)
	w.gitIgnore, w.refer = s.config.Documents.GitIgnore, s.config.Documents.Keep
	if w.refer {
		if err := s.recordRoots(roots); err != nil {
			s.log.Warn("the files of the folders can be shown only while this server follows them", "cause", err)
		}
	}
	to := target{s.keeper, s.assembly.Engine}
	visible := func(ctx context.Context) error { return s.writer.Visible(ctx, nil) }
	report := fileReports{
		failed: func(path string, err error) {
			s.log.Warn("a file is not read; what was read of it before stays", "file", path, "cause", err)
		},
		warned: func(path, warning string) { s.log.Warn("a file was read in part", "file", path, "warning", warning) },
	}
	waits := ""
	for {
		synced, compared, err := w.syncOnce(s.running, to, visible, report)
		if s.running.Err() != nil {
			return nil
		}
		if compared {
			waits = s.reportWaiting("folders", waits, reasonsToWait(synced, err))
		}
		if synced.Changed() {
			s.log.Info("documents follow their files", "added", synced.Added, "replaced", synced.Replaced,
				"removed", synced.Removed, "unchanged", synced.Unchanged, "failed", synced.Failed)
		}
		select {
		case <-time.After(max(s.config.Documents.Look, lookShare*w.looked)):
		case <-s.running.Done():
			return nil
		}
	}
}

// reasonsToWait returns sentences for people that say why documents differ from their files after a comparison: its
// error, or the documents it held back (keeping.Held); nil if they do not differ.
func reasonsToWait(synced keeping.SyncReport, err error) []string {
	if err != nil {
		return []string{"the folders cannot be compared, which is tried again: " + err.Error()}
	}
	var reasons []string
	for _, held := range synced.Held {
		reasons = append(reasons, held.String())
	}
	return reasons
}

// joinReasons returns reasons as one text.
func joinReasons(reasons []string) string { return strings.Join(reasons, "; ") }

// checkRoots returns an error if a folder to follow cannot be read and the collection has no document of it. If it has
// documents, the folder may only not be mounted yet: that is logged, and is no error.
func (s *collection) checkRoots(ctx context.Context, roots []string) error {
	stop := errors.New("it can be read")
	walking := documents.Walking{Limits: DocumentOptions(s.config.Documents, nil).Limits}
	for _, root := range roots {
		err := walking.Files(ctx, []string{root}, func(string, documents.FoundFile) error { return stop })
		if err == nil || errors.Is(err, stop) {
			continue
		}
		if followed, listErr := s.followsRoot(ctx, root); listErr != nil || !followed {
			return errors.Join(err, listErr)
		}
		s.log.Warn(
			"a folder to follow cannot be read; its documents stay, and it is tried again", "folder", root, "cause",
			err,
		)
	}
	return nil
}

// followsRoot reports whether the collection has a document read from a file below this root. It fails if the documents
// cannot be listed.
func (s *collection) followsRoot(ctx context.Context, root string) (bool, error) {
	mark, err := documents.RootOf(root)
	if err != nil {
		return false, err
	}
	for after := ""; ; {
		found, next, err := s.assembly.Engine.Documents(
			ctx, search.Caller{}, lookup.DocumentsRequest{After: after, Limit: 500},
		)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, func(d corpus.Document) bool {
			rootMark, _ := documents.SplitMark(d.Root)
			return rootMark == mark
		}) {
			return true, nil
		}
		if next == "" {
			return false, nil
		}
		after = next
	}
}
