package backend

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/folder/view"
)

// backend is an open collection as a store.Backend.
type backend struct {
	dir string

	mu         sync.Mutex
	collection *folder.Collection
	live       *folder.Live // nil: it is only read
	record     recordStamp  // of the calibration that was read last
}

// newReadOnly returns a backend that only reads the collection c, whose folder is dir. The backend's Close closes c.
func newReadOnly(c *folder.Collection, dir string) *backend { return &backend{dir: dir, collection: c} }

// opened returns the collection that is searched. Write replaces it once, before the first search.
func (b *backend) opened() *folder.Collection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.collection
}

// Acquire pins and returns the newest generation, for a search; release the view after use.
func (b *backend) Acquire() storage.View { return view.Of(b.opened()).Acquire() }

// Contents returns the newest generation of the collection, and a function that the caller calls once to release it.
// Until then its files stay, whatever is written.
func (b *backend) Contents() (store.Contents, func()) {
	g := b.opened().Acquire()
	return g, g.Release
}

// Count returns the number of the newest generation and of its live passages. The error is always nil.
func (b *backend) Count(context.Context) (generation uint64, passages int, err error) {
	g := b.opened().Acquire()
	defer g.Release()
	return g.Number(), g.Len(), nil
}

// Observe does nothing: no other machine is asked.
func (b *backend) Observe(func(store.Exchange)) {}

// Meters returns functions that measure the collection for metrics: the generation, and the numbers of passages,
// segments and bytes.
func (b *backend) Meters() (out []store.Meter) {
	for _, m := range []struct {
		name, help string
		value      func(*folder.Generation) float64
	}{
		{"generation", "The generation of the collection that searches see.",
			func(g *folder.Generation) float64 { return float64(g.Number()) }},
		{"passages", "Passages that searches see.", func(g *folder.Generation) float64 { return float64(g.Len()) }},
		{"segments", "Segments of the collection.", func(g *folder.Generation) float64 { return float64(g.Segments()) }},
		{store.BytesMeter, "Bytes of the segments' files.",
			func(g *folder.Generation) float64 { return float64(g.Bytes()) }},
	} {
		out = append(out, store.Meter{Name: m.name, Help: m.help, Value: func() float64 {
			g := b.opened().Acquire()
			defer g.Release()
			return m.value(g)
		}})
	}
	return out
}

// recordStamp identifies the versions of a collection's calibration and settings files, so that a change
// of one is noticed. The zero value stands for no files. A change replaces the file by a new one.
type recordStamp struct{ record, settings fileStamp }

type fileStamp struct {
	size int64
	when time.Time
}

// stampOfRecord returns the sizes and times of the calibration's and the settings' files as they are now.
func (b *backend) stampOfRecord() recordStamp {
	return recordStamp{stampOf(b.CalibrationAt()), stampOf(filepath.Join(b.dir, collections.SettingsFile))}
}

// stampOf returns the size and time of a file; the zero value if it cannot be found.
func stampOf(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime()}
}

// Calibration returns the text of the collection's calibration; nil if there is none. It also notes the state of the
// files for recordChanged. It fails if the file cannot be read.
func (b *backend) Calibration() ([]byte, error) {
	stamp := b.stampOfRecord() // before it is read: one that comes now is seen later
	text, err := calibration.RecordText(b.dir)
	b.mu.Lock()
	b.record = stamp
	b.mu.Unlock()
	return text, err
}

// recordChanged reports whether the calibration or the settings changed on disk since Calibration was last called.
func (b *backend) recordChanged() bool {
	now := b.stampOfRecord()
	b.mu.Lock()
	defer b.mu.Unlock()
	return now != b.record
}

// CalibrationAt returns the path of the calibration's file, for messages.
func (b *backend) CalibrationAt() string { return filepath.Join(b.dir, calibration.RecordFile) }

// MayCalibrate returns nil: Calibrate is never refused.
func (b *backend) MayCalibrate(context.Context) error { return nil }

// Calibrate replaces the calibration's file by text. It fails if the file cannot be written.
func (b *backend) Calibrate(_ context.Context, text []byte) error {
	return calibration.PutRecord(b.dir, text)
}

// Settings returns the text of the collection's settings file; nil if there is none. It fails if the file cannot be
// read.
func (b *backend) Settings() ([]byte, error) { return location{b.dir}.Settings(context.Background()) }

// Configure replaces the settings' file by text. It fails if the file cannot be written.
func (b *backend) Configure(_ context.Context, text []byte) error {
	return collections.WriteText(disk.OS{}, b.dir, text)
}

// JobsFolder returns the folder of the collection's jobs.
func (b *backend) JobsFolder() string { return filepath.Join(b.dir, "jobs") }

// JobRegisters returns nil, nil: the jobs are in a folder.
func (b *backend) JobRegisters() (jobs, working lease.Register) { return nil, nil }

// JobInputs returns nil: inputs are in the folder of the jobs.
func (b *backend) JobInputs() store.Inputs { return nil }

// ExportPassages writes the passages that searches see and a filter lets through to to, as JSON Lines in the order of
// their ids. It returns a *conditions.MisfitError if the filter does not fit the fields.
func (b *backend) ExportPassages(ctx context.Context, to io.Writer, f storage.Filter) error {
	g := b.opened().Acquire()
	defer g.Release()
	selected, err := view.Selected(g, f)
	if err != nil {
		return err
	}
	return g.ExportPassages(ctx, to, selected)
}

// ExportVectors writes a file of vectors for each expert to a folder, which it makes if need be: those of the passages
// that ExportPassages writes. It fails if such a file is there, cannot be written or read, if ctx ends, and with a
// *conditions.MisfitError if the filter does not fit the fields.
func (b *backend) ExportVectors(ctx context.Context, folder string, f storage.Filter) error {
	g := b.opened().Acquire()
	defer g.Release()
	selected, err := view.Selected(g, f)
	if err != nil {
		return err
	}
	return g.ExportVectors(ctx, folder, selected)
}

// Everything returns all that another collection can be built of, from the newest generation, which stays pinned
// until the caller calls the result's Close. It fails if an expert has vectors of parts of passages.
func (b *backend) Everything(context.Context) (*store.Everything, error) {
	g := b.opened().Acquire()
	experts, err := g.StoredEncoders()
	if err != nil {
		g.Release()
		return nil, fmt.Errorf("%s: %w", b.dir, err)
	}
	record, err := b.Calibration()
	var settings []byte
	if err == nil {
		settings, err = b.Settings()
	}
	if err != nil {
		g.Release()
		return nil, err
	}
	return &store.Everything{
		Stream: g.Source(), Words: g.WordParams(), Experts: experts, Calibration: record, Settings: settings,
		Close: func() error { g.Release(); return nil },
	}, nil
}

// Close closes the collection; if it is written to, also its writer. It returns the error of closing.
func (b *backend) Close() error {
	if b.live != nil {
		return b.live.Close()
	}
	return b.collection.Close()
}

// Describe returns, in words for people, which generation, passages, copies and experts the collection has. It fails
// if the fingerprints cannot be read or ctx ends.
func (b *backend) Describe(ctx context.Context) (d store.Description, err error) {
	g := b.opened().Acquire()
	defer g.Release()
	d = store.Description{Of: conditionOf, Text: fmt.Sprintf(
		"%s: generation %d, %d passages, words by the analysis %s", b.dir, g.Number(), g.Len(), g.WordParams().Analysis,
	)}
	copies, err := g.Copies(ctx)
	if err != nil {
		return d, err
	}
	if copies > 0 {
		d.Text += fmt.Sprintf(", %d of them copies of others", copies)
	}
	for _, x := range g.Experts() {
		d.Text += fmt.Sprintf("; %s: %s, fingerprint %.12s, recall@10 %.3f",
			x.Name, x.Index.Kind, x.Fingerprint, x.Recall.Stored.At10)
	}
	return d, nil
}
