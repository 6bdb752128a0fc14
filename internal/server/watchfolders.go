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
	"example.org/conclave/handlers"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search"
)

// tryFilesAgain is when a file that could not be read is tried again, though it is as it was.
const tryFilesAgain = 10 * time.Minute

// lookAgainAtHeld is how long after documents were kept whose files are gone they are looked at again, though no
// file has changed: somebody may have deleted them.
const lookAgainAtHeld = time.Minute

// fileState tells whether a file was written to.
type fileState struct {
	size     int64
	modified time.Time
}

func stateOf(f documents.File) fileState { return fileState{f.Size, f.ModTime} }

// follower makes the documents of a collection follow folders while it is served. What the
// operating system tells of changes is not needed: it is different everywhere, tells
// nothing of network drives, and looking at ten thousand files takes some milliseconds.
type follower struct {
	roots     []string
	reader    *documents.Extractor
	gitIgnore bool
	quiet     time.Duration // that nobody has written to a file that is taken
	now       func() time.Time

	// By where a file is:
	compared map[string]fileState // files whose documents are theirs
	failed   map[string]failedFile
	before   map[string]fileState // what the last look found
	settled  map[string]fileState // what there was when all was compared; nil: not yet

	at        map[string]string // where files are, by the ids of their documents
	heldSince time.Time         // when documents were kept whose files are gone; zero: none are
}

type failedFile struct {
	fileState
	at time.Time
}

func newFollower(roots []string, reader *documents.Extractor, quiet time.Duration) *follower {
	return &follower{
		roots: roots, reader: reader, quiet: quiet, now: time.Now,
		compared: map[string]fileState{}, failed: map[string]failedFile{}, before: map[string]fileState{},
		at: map[string]string{},
	}
}

// look finds all files. An error is that of a folder that cannot be read.
func (w *follower) look(ctx context.Context) (map[string]fileState, error) {
	found := map[string]fileState{}
	walking := documents.Walking{Limits: w.reader.Limits(), GitIgnore: w.gitIgnore}
	err := walking.Files(ctx, w.roots, func(_ string, f documents.File) error {
		found[f.At] = stateOf(f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// writing reports whether a file may still be written to: it changed a moment ago, or since
// the last look.
func (w *follower) writing(f documents.File) bool {
	before, seen := w.before[f.At]
	age := w.now().Sub(f.ModTime)
	if age < 0 { // the file's clock is not ours
		return !seen || before != stateOf(f)
	}
	return age < w.quiet || seen && before != stateOf(f)
}

// known reports whether a file needs no reading.
func (w *follower) known(f documents.File) bool {
	w.at[f.Path] = f.At
	if failed, ok := w.failed[f.At]; ok && failed.fileState == stateOf(f) && w.now().Sub(failed.at) < tryFilesAgain {
		return true
	}
	state, ok := w.compared[f.At]
	return ok && state == stateOf(f)
}

// fileReports are told what is to be known of single files.
type fileReports struct {
	failed func(path string, err error) // a file was not read
	warned func(path, warning string)   // something of a file was left out, or guessed
}

// follow compares the files with the documents once. It returns ok == false, and does nothing, if no file has
// changed since everything was compared. visible waits until what was written is listed.
func (w *follower) follow(
	ctx context.Context,
	to keeping.Target,
	visible func(context.Context) error,
	report fileReports,
) (synced keeping.Synced, ok bool, err error) {
	now, err := w.look(ctx)
	if err != nil {
		return synced, true, err
	}
	again := !w.heldSince.IsZero() && w.now().Sub(w.heldSince) >= lookAgainAtHeld
	for _, f := range w.failed {
		again = again || w.now().Sub(f.at) >= tryFilesAgain
	}
	if w.settled != nil && maps.Equal(now, w.settled) && !again {
		return synced, false, nil
	}
	if err := visible(ctx); err != nil { // so that what was written is listed
		return synced, true, err
	}
	synced, err = keeping.Sync(ctx, to, keeping.SyncOptions{
		Roots: w.roots, Reader: w.reader, AtOnce: runtime.GOMAXPROCS(0), GitIgnore: w.gitIgnore,
		Wait: w.writing, Same: w.known,
		Compared: func(f documents.File) {
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
	if err == nil && synced.Waiting == 0 {
		w.settled = now
	}
	return synced, true, err
}

// watchFolders follows folders until the server ends. What fails is logged when it is new,
// and tried again.
func (s *collection) watchFolders(roots []string) error {
	w := newFollower(roots, s.keeper.Reader(), s.config.Documents.Look)
	w.gitIgnore = s.config.Documents.GitIgnore
	to := target{s.keeper, s.assembly.Engine}
	visible := func(ctx context.Context) error { return s.writer.Visible(ctx, nil) }
	report := fileReports{
		failed: func(path string, err error) {
			s.log.Warn("a file is not read; what was read of it before stays", "file", path, "cause", err)
		},
		warned: func(path, warning string) { s.log.Warn("a file was read in part", "file", path, "warning", warning) },
	}
	waits := ""
	for again := time.NewTicker(s.config.Documents.Look); ; {
		synced, compared, err := w.follow(s.running, to, visible, report)
		if s.running.Err() != nil {
			again.Stop()
			return nil
		}
		if compared {
			waits = s.reportWaiting(waits, reasonsToWait(synced, err))
		}
		if synced.Changed() {
			s.log.Info("documents follow their files", "added", synced.Added, "replaced", synced.Replaced,
				"removed", synced.Removed, "unchanged", synced.Unchanged, "failed", synced.Failed)
		}
		select {
		case <-again.C:
		case <-s.running.Done():
			again.Stop()
			return nil
		}
	}
}

// reasonsToWait returns why documents do not follow their files now; nothing if they do.
func reasonsToWait(synced keeping.Synced, err error) []string {
	if err != nil {
		return []string{"the folders cannot be compared, which is tried again: " + err.Error()}
	}
	var reasons []string
	for _, held := range synced.Held {
		reasons = append(reasons, held.String())
	}
	return reasons
}

// reportWaiting states in /readyz why documents do not follow their files now, and logs that if it is not what
// was reported before. It returns what is to be given as before the next time.
func (s *collection) reportWaiting(before string, reasons []string) string {
	now := strings.Join(reasons, "; ")
	if now == before {
		return now
	}
	s.api.Readiness().Set(handlers.Component{Name: "folders", Status: handlers.Ready, Warnings: reasons})
	if now == "" {
		s.log.Info("documents follow their files again")
	} else {
		s.log.Error("documents do not follow their files", "cause", now)
	}
	return now
}

// checkRoots returns an error for the first folder to follow that cannot be read, unless the collection has
// documents of it: it may not be mounted yet.
func (s *collection) checkRoots(ctx context.Context, roots []string) error {
	stop := errors.New("it can be read")
	walking := documents.Walking{Limits: DocumentOptions(s.config.Documents, nil).Limits}
	for _, root := range roots {
		err := walking.Files(ctx, []string{root}, func(string, documents.File) error { return stop })
		if err == nil || errors.Is(err, stop) {
			continue
		}
		if followed, listErr := s.followsRoot(ctx, root); listErr != nil || !followed {
			return errors.Join(err, listErr)
		}
		s.log.Warn("a folder to follow cannot be read; its documents stay, and it is tried again", "folder", root, "cause", err)
	}
	return nil
}

// followsRoot reports whether the collection has a document that was read from a file of this root.
func (s *collection) followsRoot(ctx context.Context, root string) (bool, error) {
	mark, err := documents.RootOf(root)
	if err != nil {
		return false, err
	}
	for after := ""; ; {
		found, next, err := s.assembly.Engine.Documents(ctx, search.DocumentsRequest{After: after, Limit: 500})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, func(d corpus.Document) bool { return d.Root == mark }) {
			return true, nil
		}
		if next == "" {
			return false, nil
		}
		after = next
	}
}
