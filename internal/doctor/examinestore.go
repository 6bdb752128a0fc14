package doctor

import (
	"cmp"
	"context"
	"errors"
	"os"

	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/stores"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// examineStore opens the configured collection, compares its vectors with the bundles and its recall with the least
// allowed, asks for its condition, and closes it. A collection that is not there yet is a note. calibrated is true
// if it has a calibration that can be read.
func examineStore(
	ctx context.Context,
	config configs.Config,
	cache provision.Cache,
) (found []Finding, calibrated bool) {
	at, err := stores.At(config)
	if err != nil {
		return []Finding{failedFinding("store", err)}, false
	}
	what := "store"
	if at.Folder() != "" {
		what = "collection"
	}
	opened, err := at.Open(ctx, store.OpenOptions{Unprepared: true})
	if err != nil {
		f := failedFinding(what, err)
		if at.Folder() != "" {
			if _, absent := os.Stat(at.Folder()); absent != nil || errors.Is(err, store.ErrUnfinished) {
				f.Status = StatusNote
			}
		}
		return []Finding{f}, false
	}
	defer func() { _ = opened.Close() }()
	d, err := opened.Describe(ctx)
	if err != nil {
		return []Finding{failedFinding(what, err)}, false
	}
	f := Finding{What: what, Status: StatusOK, Detail: d.Text}
	if d.Noted {
		f.Status = StatusNote
	}
	contents, done := opened.Contents()
	defer done()
	errs := []error{d.Failed, contents.CheckRecall(assembly.Floors(config.Index))}
	for _, x := range contents.Experts() {
		errs = append(errs, examineVectors(contents, x, config, cache))
	}
	if err := errors.Join(errs...); err != nil {
		f = failedFinding(what, err)
	}
	found = append([]Finding{f}, examineReads(contents.Reads())...)
	text, err := opened.Calibration()
	if err == nil && len(text) > 0 {
		_, err = calibration.ParseRecord(text)
	}
	if err != nil {
		return append(found, failedFinding("calibration", err)), false
	}
	return found, len(text) > 0
}

// examineVectors returns an error if the vectors of an expert were made by another encoder than its bundle has. It
// returns nil if the bundle cannot be read, which is a finding of its own.
func examineVectors(contents store.Contents, x store.Expert, config configs.Config, cache provision.Cache) error {
	bundle, granularity, err := experts.SplitName(cmp.Or(x.Owner, x.Name))
	if err != nil {
		return err
	}
	path, err := shipped.Folder(config, cache, bundle)
	if err != nil {
		return nil // its bundle has a finding of its own, as below
	}
	b, err := models.Peek(path)
	if err != nil {
		return nil
	}
	return contents.CheckEncoders(bundleEncoder{x.Name, b, granularity})
}

// bundleEncoder describes the passage encoder of an expert by its bundle and granularity, without opening it.
type bundleEncoder struct {
	name        string
	bundle      *models.Bundle
	granularity *granules.Granularity
}

// Name returns the name of the expert.
func (b bundleEncoder) Name() string { return b.name }

// Dimension returns the numbers of a vector.
func (b bundleEncoder) Dimension() int { return b.bundle.Manifest.Dimension() }

// Fingerprint returns the fingerprint that vectors of this encoder and granularity have in a collection.
func (b bundleEncoder) Fingerprint() string {
	return experts.GranularFingerprint(encoder.Normalised(b.bundle.Fingerprint(models.Passage)), b.granularity)
}
