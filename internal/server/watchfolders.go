package server

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"time"

	"example.org/conclave/documents"
	"example.org/conclave/internal/keeping"
)

// tryFilesAgain is when a file that could not be read is tried again, though it is as it was.
const tryFilesAgain = 10 * time.Minute

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
	roots    []string
	reader   *documents.Extractor
	quiet    time.Duration // that nobody has written to a file that is taken
	now      func() time.Time
	compared map[string]fileState // files whose documents are theirs
	failed   map[string]failedFile
	before   map[string]fileState // what the last look found
	settled  map[string]fileState // what there was when all was compared; nil: not yet
}

type failedFile struct {
	fileState
	at time.Time
}

func newFollower(roots []string, reader *documents.Extractor, quiet time.Duration) *follower {
	return &follower{
		roots: roots, reader: reader, quiet: quiet, now: time.Now,
		compared: map[string]fileState{}, failed: map[string]failedFile{}, before: map[string]fileState{},
	}
}

// look finds all files. An error is that of a folder that cannot be read.
func (w *follower) look(ctx context.Context) (map[string]fileState, error) {
	found := map[string]fileState{}
	err := documents.WalkRoots(ctx, w.roots, w.reader.Limits(), func(_ string, f documents.File) error {
		found[f.Path] = stateOf(f)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// writing reports whether a file may still be written to: it changed a moment ago, or since
// the last look.
func (w *follower) writing(f documents.File) bool {
	before, seen := w.before[f.Path]
	age := w.now().Sub(f.ModTime)
	if age < 0 { // the file's clock is not ours
		return !seen || before != stateOf(f)
	}
	return age < w.quiet || seen && before != stateOf(f)
}

// known reports whether a file needs no reading.
func (w *follower) known(f documents.File) bool {
	if failed, ok := w.failed[f.Path]; ok && failed.fileState == stateOf(f) && w.now().Sub(failed.at) < tryFilesAgain {
		return true
	}
	state, ok := w.compared[f.Path]
	return ok && state == stateOf(f)
}

// follow compares once, where anything may be new. visible waits until what was written is
// listed, and failed is told of files that are not read.
func (w *follower) follow(
	ctx context.Context,
	to keeping.Target,
	visible func(context.Context) error,
	failed func(path string, err error),
) (synced keeping.Synced, err error) {
	now, err := w.look(ctx)
	if err != nil {
		return synced, err
	}
	again := false
	for _, f := range w.failed {
		again = again || w.now().Sub(f.at) >= tryFilesAgain
	}
	if w.settled != nil && maps.Equal(now, w.settled) && !again {
		return synced, nil
	}
	if err := visible(ctx); err != nil { // so that what was written is listed
		return synced, err
	}
	synced, err = keeping.Sync(ctx, to, keeping.SyncOptions{
		Roots: w.roots, Reader: w.reader, Wait: w.writing, Same: w.known,
		Compared: func(f documents.File) {
			w.compared[f.Path] = stateOf(f)
			delete(w.failed, f.Path)
		},
		Failed: func(path string, err error) {
			if state, ok := now[path]; ok {
				w.failed[path] = failedFile{state, w.now()}
			}
			var skipped *documents.SkippedError
			if !errors.As(err, &skipped) {
				failed(path, err)
			}
		},
	})
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
	return synced, err
}

// watchFolders follows folders until the server ends. What fails is logged when it is new,
// and tried again.
func (s *collection) watchFolders(roots []string) error {
	w := newFollower(roots, s.keeper.Reader(), s.config.Documents.Look)
	to := target{s.keeper, s.assembly.Engine}
	visible := func(ctx context.Context) error { return s.writer.Visible(ctx, nil) }
	reported := ""
	for again := time.NewTicker(s.config.Documents.Look); ; {
		synced, err := w.follow(s.running, to, visible, func(path string, err error) {
			s.log.Warn("a file is not read; what was read of it before stays", "file", path, "cause", err)
		})
		if s.running.Err() != nil {
			again.Stop()
			return nil
		}
		if err != nil && err.Error() != reported {
			s.log.Error("documents do not follow their files, which is tried again", "cause", err)
			reported = err.Error()
		}
		if err == nil {
			reported = ""
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

// watchable returns an error where a folder cannot be followed.
func watchable(roots []string, limits documents.Limits) error {
	for _, root := range roots {
		stop := errors.New("it can be read")
		err := documents.Walk(context.Background(), filepath.Clean(root), limits,
			func(documents.File) error { return stop }, nil)
		if err != nil && !errors.Is(err, stop) {
			return err
		}
	}
	return nil
}
