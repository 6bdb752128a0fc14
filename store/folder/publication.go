package folder

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// draft is files and folders that a writer makes and no manifest names yet.
// The maker defers discard. When publish has been called, discard does nothing,
// whatever the outcome.
type draft struct {
	w     *writer
	paths []string
}

// draft returns an empty draft of this writer.
func (w *writer) draft() *draft { return &draft{w: w} }

// add adds a path below the collection's folder to the draft and returns it. The caller makes the file or folder.
func (d *draft) add(path ...string) string {
	full := filepath.Join(append([]string{d.w.dir}, path...)...)
	d.paths = append(d.paths, full)
	return full
}

// discard removes what was made and not published. What cannot be removed is left to the next writer. Its errors are
// dropped.
func (d *draft) discard() {
	for _, path := range d.paths {
		_ = d.w.disk.RemoveAll(path)
	}
	d.paths = nil
}

// publication is a new generation that is opened but not yet known to be published,
// with the files that were made for it.
type publication struct {
	next *Generation
	made draft
	err  error // why it is not known whether it is published
}

// publish makes a new generation of the present one: edit changes the manifest, and whatever it names is in d and
// durable. The generation is opened first, so that unreadable files are never published. When publish returns nil, the
// generation is durable and current. With store.ErrUnsettled the outcome is unknown; with any other error it will never
// be published.
func (w *writer) publish(
	ctx context.Context,
	d *draft,
	edit func(*manifest.Manifest) error,
) (*manifest.Manifest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := w.resolveOutcomeLocked(); err != nil {
		return nil, err
	}
	m := w.manifest.Next()
	fail := func(err error) error {
		return disk.Explain(fmt.Errorf("publishing generation %d: %w", m.Generation, err))
	}
	if err := w.checkAlone(); err != nil {
		return nil, fail(err)
	}
	if err := edit(m); err != nil {
		return nil, fail(err)
	}
	m.NextSegment = w.serial
	next, err := openGeneration(w.files, w.dir, m, partsOf(m))
	if err != nil {
		return nil, fail(err)
	}
	p := &publication{next: next, made: *d}
	d.paths = nil
	became, err := manifest.Write(w.disk, w.dir, m)
	switch became {
	case manifest.Published:
		w.adopt(p)
		return m, nil
	case manifest.NotPublished:
		w.refuse(p)
		return nil, fail(err)
	}
	p.err, w.unsettled = err, p
	if err := w.resolveOutcomeLocked(); err != nil {
		return nil, err
	}
	if w.manifest != m {
		return nil, fail(err)
	}
	return m, nil
}

// partsOf returns what openGeneration can open of a generation: everything, or wordless if another analyser made its
// words.
func partsOf(m *manifest.Manifest) parts {
	if !m.Words.Current() {
		return wordless
	}
	return everything
}

// adopt makes a published generation the present one and removes the files that only the one before names. Readers
// that have them open keep them. w.mu must be held.
func (w *writer) adopt(p *publication) {
	before := w.current
	w.manifest, w.current = p.next.manifest, p.next
	keep := w.manifest.Named()
	for path := range before.manifest.Named() {
		if !keep[path] {
			_ = w.disk.RemoveAll(filepath.Join(w.dir, path)) // else the next writer does
		}
	}
	before.drop()
}

// refuse closes a generation that was not published and removes the files that were made for it.
func (w *writer) refuse(p *publication) {
	p.next.drop()
	p.made.discard()
}

// resolveOutcome finds out, by reading the disk, what became of a publication whose outcome is unknown; nil if there is
// none or it is known now. It returns store.ErrUnsettled while it cannot be known, and store.ErrOtherWriter, then and
// for ever, if there is another writer.
func (w *writer) resolveOutcome() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resolveOutcomeLocked()
}

// resolveOutcomeLocked finds out what became of a publication whose outcome is unknown, and adopts or removes it (see
// resolveOutcome). w.mu must be held. It writes the manifest that it finds once more: after a failed sync, the next
// one may leave out what the first was asked for without saying so.
func (w *writer) resolveOutcomeLocked() error {
	if w.overtaken != nil {
		return w.overtaken
	}
	if err := w.checkLockHeld(); err != nil {
		return err
	}
	p := w.unsettled
	if p == nil {
		return nil
	}
	unsettled := func(err error) error {
		p.err = err
		return fmt.Errorf(
			"%w (generation %d of %s): nothing is written until the disk is well again: %w", store.ErrUnsettled,
			p.next.manifest.Generation, w.dir, err,
		)
	}
	found, err := readManifest(w.disk, w.dir)
	if err != nil {
		return unsettled(err)
	}
	isNext := same(found, p.next.manifest)
	if !isNext && !same(found, w.manifest) {
		w.overtaken = w.otherWriterError(found)
		return w.overtaken
	}
	if became, err := manifest.Write(w.disk, w.dir, found); became != manifest.Published {
		return unsettled(err)
	}
	w.unsettled = nil
	if isNext {
		w.adopt(p)
	} else {
		w.refuse(p)
	}
	return nil
}

// checkAlone returns nil if the manifest on disk is this writer's. Otherwise somebody removed LOCK and another writer
// published: it returns store.ErrOtherWriter and sets w.overtaken, after which this writer changes nothing. w.mu must
// be held.
func (w *writer) checkAlone() error {
	found, err := readManifest(w.disk, w.dir)
	if err != nil {
		return err
	}
	if !same(found, w.manifest) {
		w.overtaken = w.otherWriterError(found)
		return w.overtaken
	}
	return nil
}

// checkLockHeld returns nil if the file LOCK is the one that this writer holds. Otherwise it sets w.overtaken and
// returns it, a store.ErrOtherWriter. It returns other errors if it cannot find out.
func (w *writer) checkLockHeld() error {
	isHeld, err := leadsTo(filepath.Join(w.dir, lockName), w.disk, w.lock)
	if err != nil {
		return fmt.Errorf("looking for the lock of %s: %w", w.dir, err)
	}
	if !isHeld {
		w.overtaken = fmt.Errorf(
			"%s was removed or replaced while %s was open for writing, so there may be %w: nothing more is written here; end all writers but one and restart it",
			lockName, w.dir, store.ErrOtherWriter,
		)
	}
	return w.overtaken
}

// otherWriterError returns the store.ErrOtherWriter for a manifest on disk that is not this writer's.
func (w *writer) otherWriterError(found *manifest.Manifest) error {
	return fmt.Errorf(
		"%w: %s has generation %d where generation %d of this writer was: nothing more is written here; end all writers but one and restart it",
		store.ErrOtherWriter, w.dir, found.Generation, w.manifest.Generation,
	)
}

// same reports whether two manifests have the same encoding.
func same(a, b *manifest.Manifest) bool {
	x, errA := a.Encode()
	y, errB := b.Encode()
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// trouble returns why the writer writes nothing: another writer, or a publication whose outcome is unknown. It returns
// nil if it works.
func (w *writer) trouble() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.overtaken != nil:
		return w.overtaken
	case w.unsettled != nil:
		return fmt.Errorf(
			"%w: nothing is written until the disk is well again: %w", store.ErrUnsettled, w.unsettled.err,
		)
	}
	return nil
}
