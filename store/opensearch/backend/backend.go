package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// backend is an index that is open (store.Backend). It needs no closing.
type backend struct {
	*opensearch.Corpus
	warn    func(message string, cause error)
	writing atomic.Pointer[opensearch.Writer] // nil: nothing is written
}

// Contents returns what the index holds by its manifest, and a function that does nothing.
func (b *backend) Contents() (store.Contents, func()) {
	return contents{b.Store().Manifest(), readsOf(b.Known())}, func() {}
}

// contents is what an index holds by its manifest. The cluster looks after its files, and the recall of its graphs is
// not measured.
type contents struct {
	*schema.Manifest
	reads store.Reads
}

// Experts returns the experts of the index.
func (c contents) Experts() []store.Expert { return expertsOf(c.Manifest) }

// CheckRecall returns nil: the recall of a cluster's indexes is not measured.
func (c contents) CheckRecall(map[string]float64) error { return nil }

// VerifyVectors returns nil: the cluster looks after its files.
func (c contents) VerifyVectors(context.Context) error { return nil }

// Reads returns of how many passages the experts read only the beginning, or hardly anything, as they were counted
// last.
func (c contents) Reads() store.Reads { return c.reads }

// Count counts the passages and returns their number. The generation is 0: an index has none. It fails if the cluster
// does not answer.
func (b *backend) Count(ctx context.Context) (generation uint64, passages int, err error) {
	n, err := b.Corpus.Count(ctx)
	return 0, int(n.Passages), err
}

// Observe sets a function that is called after each request to a node, at the same time by several goroutines.
func (b *backend) Observe(f func(store.Exchange)) {
	b.Store().Observe(func(e cluster.Exchange) { f(store.Exchange(e)) })
}

// Meters returns the numbers of the store for metrics. They are those of the last look at the cluster.
func (b *backend) Meters() []store.Meter {
	return []store.Meter{
		{
			Name: "passages", Help: "Passages of the store, as it was asked last.",
			Value: func() float64 { return float64(b.Known().Passages) },
		},
		{
			Name: store.BytesMeter, Help: "Bytes of the store without its copies, as it was asked last.",
			Value: func() float64 { return float64(b.Known().Bytes) },
		},
		{
			Name: "store_deleted", Help: "Deleted passages of the store that still count in the statistics of words.",
			Value: func() float64 { return float64(b.Known().Deleted) },
		},
		{
			Name: "store_unassigned_copies", Help: "Copies of shards that are on no node, as the cluster was asked last.",
			Value: func() float64 { return float64(b.Health().Unassigned) },
		},
		{
			Name: "store_blocked", Help: "1 while the index takes no changes, as the cluster was asked last.",
			Value: func() float64 {
				if b.Health().Blocked != "" {
					return 1
				}
				return 0
			},
		},
	}
}

// Calibration returns the text of the calibration in the index's manifest; nil if it has none. The error is always
// nil.
func (b *backend) Calibration() ([]byte, error) {
	if text := b.Store().Manifest().Calibration; text != "" {
		return []byte(text), nil
	}
	return nil, nil
}

// CalibrationAt returns the words that messages use for where the calibration is.
func (b *backend) CalibrationAt() string { return "the calibration of store " + b.Store().Index() }

// MayCalibrate returns an error if Calibrate would be refused now: the cluster does not let this user change the
// index.
func (b *backend) MayCalibrate(ctx context.Context) error { return b.Store().MayChange(ctx) }

// Calibrate replaces the text of the calibration. Other servers use it from their next look at the index on. It fails
// if the cluster does not answer or refuses it.
func (b *backend) Calibrate(ctx context.Context, text []byte) error {
	return b.Store().Calibrate(ctx, string(text))
}

// Settings returns the text of the settings in the index's manifest; nil if it has none. The error is always nil.
func (b *backend) Settings() ([]byte, error) { return settingsOf(b.Store().Manifest()), nil }

// settingsOf returns the text of the settings that a manifest has; nil: it has none.
func settingsOf(m *schema.Manifest) []byte {
	if m == nil || m.Settings == "" {
		return nil
	}
	return []byte(m.Settings)
}

// Configure replaces the text of the collection's settings, which it does not check; an empty text means no settings.
// This process uses the text at once, other servers when they next look at the index. It fails if the cluster does not
// answer or refuses the change, or the index has no manifest yet (schema.ErrUnfinished).
func (b *backend) Configure(ctx context.Context, text []byte) error {
	if err := b.Store().Configure(ctx, string(text)); err != nil {
		return err
	}
	_, _ = b.Look(ctx) // else whoever watches does
	return nil
}

// JobsFolder returns "": jobs are in JobRegisters, which all servers of the index share.
func (b *backend) JobsFolder() string { return "" }

// JobRegisters returns the register of the index's jobs, and that of the lease of the process that works on them. An
// index that is made anew has others.
func (b *backend) JobRegisters() (jobs, working lease.Register) {
	name := "jobs-" + b.Store().Manifest().ID
	return b.Store().Register(name), b.Store().Register(name + "-working")
}

// JobInputs returns the inputs that jobs of this index read.
func (b *backend) JobInputs() store.Inputs {
	return b.Store().Inputs("jobs-" + b.Store().Manifest().ID + "-inputs")
}

// ExportPassages writes the passages that a filter lets through as JSON Lines, in the byte order of their ids. It
// fails if the cluster does not answer, and with a *conditions.MisfitError if the filter does not fit the fields.
func (b *backend) ExportPassages(ctx context.Context, to io.Writer, f storage.Filter) error {
	return b.Corpus.ExportPassages(ctx, to, f)
}

// Everything returns what a copy of the index needs: all passages as a stream, which the caller closes by
// Everything.Close, encoders that return their vectors, the words' constants, the settings and the calibration. It
// fails if the cluster does not answer.
func (b *backend) Everything(ctx context.Context) (*store.Everything, error) {
	scan, err := b.Store().Scan(ctx)
	if err != nil {
		return nil, err
	}
	all := &store.Everything{
		Stream: scan, Words: b.Store().Manifest().Words.Params(), Experts: b.Store().Encoders(), Close: scan.Close,
	}
	all.Settings = settingsOf(b.Store().Manifest())
	all.Calibration, err = b.Calibration()
	return all, err
}

// Close does nothing and returns nil: the connections belong to the caller.
func (b *backend) Close() error { return nil }

// Describe asks the cluster how the index is and returns that as a text. Noted is set for what an administrator
// should know: full disks, blocks, missing copies; Failed if a shard has no copy. It fails if the cluster does not
// answer.
func (b *backend) Describe(ctx context.Context) (d store.Description, err error) {
	d.Of = conditionOf
	health, err := b.Look(ctx)
	if err != nil {
		return d, err
	}
	d.Text = fmt.Sprintf(
		"index %s: %d passages, %d deleted ones that count in scores of words; health %s", b.Store().Index(),
		health.Passages, health.Deleted, health.Status,
	)
	copies, err := b.Store().Copies(ctx)
	if err != nil {
		return d, err
	}
	if copies > 0 {
		d.Text += fmt.Sprintf("; %d of the passages are copies of others", copies)
	}
	for _, limit := range health.Limits {
		d.Noted = true
		d.Text += "; " + limit
	}
	if health.Blocked != "" {
		d.Noted = true
		d.Text += "; " + blocked(health)
	}
	if health.Status != "green" {
		d.Noted = true
		d.Text += ", " + health.MissingCopies()
	}
	if health.Status == "red" {
		d.Failed = errors.New(d.Text)
	}
	for _, x := range b.Store().Manifest().Experts {
		d.Text += fmt.Sprintf("; %s: fingerprint %.12s", x.Name, x.Fingerprint)
	}
	return d, nil
}
