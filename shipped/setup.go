package shipped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
)

// Setup is which experts are made available, and where progress is reported.
type Setup struct {
	Provider string // of ONNX Runtime: cpu or cuda
	Python   string // interpreter with pip
	// Folder holds the deltas to merge: those in the program by default, or
	// "none".
	Folder string
	// Full makes the experts in full precision too, as the provider cuda does, which has no kernels for 8 bits.
	Full bool
	// Languages fetches the encoder for many languages and makes its bundles, Multilingual and MultilingualLate.
	Languages bool
	// Usual makes only those shipped experts that a collection has by default.
	Usual    bool
	Out      io.Writer             // what was done, for people
	Progress func(done, total int) // bundles imported
}

// deltasToImport returns the deltas to merge: those of the folder s.Folder, none if that is "none", or, if it is "",
// those in the program, with s.Usual only the usual ones. It fails if a delta cannot be read.
func (s *Setup) deltasToImport() ([]*convert.Delta, error) {
	switch s.Folder {
	case "":
		all, err := ReadDeltas(FS)
		all = slices.DeleteFunc(all, func(d *convert.Delta) bool { return d.Manifest.Name == MultilingualLate })
		if s.Usual {
			all = slices.DeleteFunc(
				all,
				func(d *convert.Delta) bool { return !slices.Contains(append(Default(), Reader), d.Manifest.Name) },
			)
		}
		return all, err
	case "none":
		return nil, nil
	}
	all, err := ReadDeltas(os.DirFS(s.Folder))
	if err != nil {
		return nil, fmt.Errorf("experts of %s: %w", s.Folder, err)
	}
	return all, nil
}

// Run fetches and makes everything that serving the base encoder and the shipped experts needs, and returns the names
// of the experts beside the base. Files that are there are verified and not made again. It writes what it does to
// s.Out. After an error, finished files stay and are used by the next run.
func (s *Setup) Run(ctx context.Context, cache provision.Cache) (names []string, err error) {
	defer func() { err = provision.ExplainFull(err, cache.Root) }()
	deltas, err := s.deltasToImport()
	if err != nil {
		return nil, err
	}
	pip := provision.Pip{Python: s.Python, Log: s.Out}
	if err := s.announceDownloads(cache); err != nil {
		return nil, err
	}
	step, err := cache.EnsureRuntime(ctx, s.Provider, pip)
	if err != nil {
		return nil, err
	}
	s.reportStep(step)
	gpu := s.Provider == "cuda"
	if gpu {
		steps, err := cache.EnsureCUDA(ctx, pip)
		for _, step := range steps {
			s.reportStep(step)
		}
		if err != nil {
			return nil, err
		}
	}
	wanted := append(wantedBase(cache), WantedExperts(cache, deltas, s.Full || gpu)...)
	if s.Usual && !gpu { // only a GPU runs them faster, and they are half of the time of setup
		wanted = slices.DeleteFunc(wanted, func(w WantedBundle) bool { return strings.HasSuffix(w.Name, InFull("")) })
	}
	if len(Missing(wanted, s.Out)) > 0 {
		step, err = cache.EnsureBase(ctx, pip)
		if err != nil {
			return nil, err
		}
		s.reportStep(step)
		if err := s.makeMissing(ctx, cache, step.Path, wanted); err != nil {
			return nil, err
		}
	}
	for _, d := range deltas {
		if d.Manifest.Kind == models.KindReader {
			_, _ = fmt.Fprintf(s.Out, "reader: %s: verified\n", d.Manifest.Name)
			continue
		}
		names = append(names, d.Manifest.Name)
	}
	if s.Languages {
		if err := s.makeMultilingual(ctx, cache, pip); err != nil {
			return nil, err
		}
		names = append(names, Multilingual, MultilingualLate)
	}
	_, _ = fmt.Fprintf(
		s.Out, "experts: %s: verified, in %s\n", strings.Join(append([]string{Base}, names...), ", "), cache.Bundle(""),
	)
	return names, nil
}

// announceDownloads writes to s.Out what will be fetched and how large it is; nothing if everything is there. It
// fails if the cache cannot be read.
func (s *Setup) announceDownloads(cache provision.Cache) error {
	fetches, err := cache.ToFetch(s.Provider, s.Languages)
	if err != nil || len(fetches) == 0 {
		return err
	}
	var all []string
	total := int64(0)
	for _, f := range fetches {
		all = append(all, fmt.Sprintf("%s %s (%d MB)", f.Package, f.Version, roundToMegabytes(f.Bytes)))
		total += f.Bytes
	}
	more := ""
	if s.Provider == "cuda" {
		more = "; CUDA's libraries take 2 GB on disk"
	}
	_, err = fmt.Fprintf(
		s.Out, "to fetch: %s: %d MB together%s\n", strings.Join(all, ", "), roundToMegabytes(total), more,
	)
	return err
}

// roundToMegabytes returns a number of bytes in megabytes (10⁶), rounded to the nearest.
func roundToMegabytes(bytes int64) int64 { return (bytes + 500_000) / 1_000_000 }

// reportStep writes a line to s.Out about a finished step of setup: what it provides, whether that was fetched, and
// its path.
func (s *Setup) reportStep(step provision.Step) {
	did := "verified"
	if step.Fetched {
		did = "fetched and verified"
	}
	_, _ = fmt.Fprintf(s.Out, "%s: %s, %s\n", step.What, did, step.Path)
}

// makeMissing makes those of wanted that are missing or out of date, from the base's checkpoint. It waits for the
// lock of the cache first, since another process may have made them meanwhile. It returns the first error of making
// one, and ctx's error if that ends first.
func (s *Setup) makeMissing(
	ctx context.Context, cache provision.Cache, checkpoint string, wanted []WantedBundle,
) error {
	unlock, err := cache.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return Make(ctx, Missing(wanted, io.Discard), checkpoint, s.Progress)
}

// ErrNameTaken is the error of a name that setup uses.
var ErrNameTaken = errors.New("choose another name, or a folder outside the cache")

// CheckName returns an error that wraps ErrNameTaken if setup would replace a bundle of this name that was imported
// from d: if the name is the base encoder's, or that of a shipped expert or reader other than d.
func CheckName(name string, d *convert.Delta) error {
	if isBaseName(name) {
		return fmt.Errorf("the name %q is the base encoder's: %w", name, ErrNameTaken)
	}
	if !slices.Contains(append(expertNames(), MultilingualLate, Reader), name) {
		return nil
	}
	files, err := fs.Sub(FS, name)
	if err != nil {
		return err
	}
	own, err := convert.OpenDelta(files)
	if err != nil {
		return err
	}
	if own.SHA256 != d.SHA256 {
		return fmt.Errorf("the name %q is that of another expert, which conclave ships: %w", name, ErrNameTaken)
	}
	return nil
}

// checkForeignName returns an error that wraps ErrNameTaken if setup makes a bundle with this name.
func checkForeignName(name string) error {
	if isBaseName(name) || slices.Contains(expertNames(), name) || name == Reader ||
		slices.ContainsFunc([]string{Multilingual, MultilingualLate}, func(own string) bool {
			return name == own || name == InFull(own)
		}) {
		return fmt.Errorf("the name %q is that of a bundle which conclave makes itself: %w", name, ErrNameTaken)
	}
	return nil
}

// isBaseName reports whether a name is that of the base encoder, in either precision.
func isBaseName(name string) bool { return name == Base || name == InFull(Base) }
