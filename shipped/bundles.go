package shipped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"

	"golang.org/x/sync/errgroup"
)

// WantedBundle is a bundle that setup makes, or keeps if it is there.
type WantedBundle struct {
	Name, Folder string
	// accept returns why a bundle, whose files are complete, has to be made again; nil if it need not be.
	accept func(*models.Bundle) error
	// make imports it, from the checkpoint of the base encoder.
	make func(ctx context.Context, checkpoint string) error
}

// ReadDeltas opens the deltas in the folders of files, in the order of the folders' names. It ignores folders that
// begin with a dot, have no bundle, or have one that is no delta. It fails if a delta is damaged, two have the same
// name, or one has the name of the base encoder.
func ReadDeltas(files fs.FS) ([]*convert.Delta, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var all []*convert.Delta
	places := map[string]string{}
	for _, e := range entries {
		folder, err := fs.Sub(files, e.Name())
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || err != nil {
			continue
		}
		d, err := convert.OpenDelta(folder)
		if errors.Is(err, convert.ErrNotDelta) || errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("expert %s: %w", e.Name(), err)
		}
		name := d.Manifest.Name
		if isBaseName(name) {
			return nil, fmt.Errorf("expert %s: the name %q is that of the base encoder", e.Name(), name)
		}
		if other, twice := places[name]; twice {
			return nil, fmt.Errorf("experts %s and %s have the same name, %q", other, e.Name(), name)
		}
		places[name] = e.Name()
		all = append(all, d)
	}
	return all, nil
}

// WantedExperts returns the merged bundles of deltas that setup makes: NAME in 8 bits, which is a quarter of the size
// in memory and on disk, faster, and within a cosine of 0.997 (nine experts in float32 are 800 MB on disk and more in
// memory). A bundle that was merged from the same delta in another precision is kept. If full is set, NAME-fp32 is
// made, too. A head has one bundle.
//
// Late interaction comes in both precisions, as the base encoder does: next to the base in the same precision it
// takes no encoder pass.
func WantedExperts(cache provision.Cache, deltas []*convert.Delta, full bool) []WantedBundle {
	var all []WantedBundle
	for _, d := range deltas {
		switch name := d.Manifest.Name; d.Manifest.Kind {
		case models.KindDesireMe:
			all = append(all, wantMerged(cache, d, name, "", "")) // a head has one precision
		case models.KindLate:
			all = append(all, wantedLate(cache, d, true)...)
		default:
			all = append(all, wantMerged(cache, d, name, models.PrecisionInt8, ""))
			if full {
				all = append(all, wantMerged(cache, d, InFull(name), models.PrecisionFP32, models.PrecisionFP32))
			}
		}
	}
	return all
}

// wantedLate returns the merged bundles of a delta of late interaction: in 8 bits, and with full in full precision,
// too.
func wantedLate(cache provision.Cache, d *convert.Delta, full bool) []WantedBundle {
	name := d.Manifest.Name
	all := []WantedBundle{wantMerged(cache, d, name, models.PrecisionInt8, models.PrecisionInt8)}
	if full {
		all = append(all, wantMerged(cache, d, InFull(name), models.PrecisionFP32, models.PrecisionFP32))
	}
	return all
}

// wantMerged returns the bundle with a name that is merged from a delta in a precision. One that is there in the
// precision accepted is kept; "": in any.
func wantMerged(cache provision.Cache, d *convert.Delta, name, precision, accepted string) WantedBundle {
	folder := cache.Bundle(name)
	return WantedBundle{
		Name: name, Folder: folder,
		accept: func(b *models.Bundle) error { return checkMerged(b, d, accepted) },
		make: func(ctx context.Context, checkpoint string) error {
			_, err := d.Merge(ctx, folder, convert.Options{Base: checkpoint, Int8: precision == models.PrecisionInt8})
			return err
		},
	}
}

// checkMerged returns nil if this version would make the very bundle b of the delta d, in the given precision ("":
// any). Otherwise the error says what differs: the delta, the producer's settings or the precision.
func checkMerged(b *models.Bundle, d *convert.Delta, precision string) error {
	m := b.Manifest
	switch {
	case m.Lineage.MergedFrom != d.SHA256:
		return fmt.Errorf("%s was made from another delta", b.Dir)
	case m.Lineage.Producer != convert.Producer:
		return fmt.Errorf("%s was made with other settings (by %q)", b.Dir, m.Lineage.Producer)
	case precision != "" && m.Precision != precision:
		return fmt.Errorf("%s is in %s", b.Dir, m.Precision)
	}
	return nil
}

// importers is the largest number of bundles that are imported at the same time: each takes about 150 MB of memory.
const importers = 4

// Make makes bundles, a few at a time, from the checkpoint of their base encoder. It calls progress with the number
// of finished ones, first with 0, never twice at a time. It returns the first error; bundles that were finished stay.
func Make(ctx context.Context, missing []WantedBundle, checkpoint string, progress func(done, total int)) error {
	if len(missing) > 0 {
		progress(0, len(missing))
	}
	done := 0
	var mu sync.Mutex // guards done, and calls progress in order
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(importers, runtime.GOMAXPROCS(0)))
	for _, w := range missing {
		group.Go(func() error {
			if err := w.make(ctx, checkpoint); err != nil {
				return fmt.Errorf("bundle %s: %w", w.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(missing))
			return nil
		})
	}
	return group.Wait()
}

// English is the code of the language that the base and the experts made of it read.
const English = "en"

// wantedBase returns the bundles of the base encoder that setup makes: one in 8 bits, one in full precision.
func wantedBase(cache provision.Cache) []WantedBundle {
	var all []WantedBundle
	for _, precision := range []string{models.PrecisionInt8, models.PrecisionFP32} {
		name := Base
		if precision == models.PrecisionFP32 {
			name = InFull(Base)
		}
		folder := cache.Bundle(name)
		all = append(all, WantedBundle{
			Name: name, Folder: folder,
			accept: func(b *models.Bundle) error { return checkBase(b, precision) },
			make: func(ctx context.Context, checkpoint string) error {
				unitLength := true
				_, err := convert.Import(ctx, checkpoint, folder, convert.Options{
					Name:      Base,
					Source:    provision.BaseCheckpoint,
					Int8:      precision == models.PrecisionInt8,
					Pooling:   models.PoolingMean,
					Normalise: &unitLength,
					Template:  models.TemplateTitleDotText,
					Languages: []string{English},
				})
				return err
			},
		})
	}
	return all
}

// checkBase returns why a bundle of the base encoder is not the one that this version would import; nil if it is.
// precision is the one that it should have.
func checkBase(b *models.Bundle, precision string) error {
	m := b.Manifest
	v := m.Vectors
	if v == nil {
		return fmt.Errorf("%s is %s, and no encoder", b.Dir, m.KindInWords())
	}
	if m.Precision != precision || v.Pooling != models.PoolingMean || !v.Normalise ||
		v.Template != models.TemplateTitleDotText || !slices.Equal(v.Languages, []string{English}) ||
		m.Lineage.Producer != convert.Producer {
		return fmt.Errorf(
			"%s was made with other settings (%s, pooling %s, unit length %t, by %q)", b.Dir, m.Precision, v.Pooling,
			v.Normalise, m.Lineage.Producer,
		)
	}
	return nil
}

// Missing returns those of wanted that are missing, damaged, or made by another version, and writes a line to out for
// each of the last two, which says why it is imported again.
func Missing(wanted []WantedBundle, out io.Writer) (missing []WantedBundle) {
	for _, w := range wanted {
		b, err := models.Load(w.Folder)
		if err == nil {
			err = w.accept(b)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			_, _ = fmt.Fprintf(out, "%v: importing it again\n", err)
		}
		missing = append(missing, w)
	}
	return missing
}

// IsOfBase reports whether an encoder is the base, or was fine-tuned from it, as the shipped experts are.
func IsOfBase(m *models.Manifest) bool {
	base := provision.BaseSHA256()
	return m.Base != nil && m.Base.WeightsSHA256 == base || m.Lineage.SourceSHA256 == base
}
