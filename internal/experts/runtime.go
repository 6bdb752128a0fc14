package experts

import (
	"cmp"
	"context"
	"fmt"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
)

// RuntimeLibrary returns the path of the ONNX Runtime library: the configured one, or else the one that setup fetched,
// after verifying it. It prefers the one with CUDA if an expert asks for cuda or auto, and fails if one asks for cuda
// and it is not there.
func RuntimeLibrary(config configs.Config, cache provision.Cache) (string, error) {
	if config.Runtime != "" {
		return config.Runtime, nil
	}
	if provider := StrongestProvider(config); provider != encoder.CPU {
		library, err := cache.VerifyRuntime(encoder.CUDA)
		if err == nil {
			return library, nil
		}
		if provider == encoder.CUDA {
			return "", fmt.Errorf("provider cuda: %w", err)
		}
	}
	return cache.VerifyRuntime(encoder.CPU)
}

// StrongestProvider returns the provider that decides which library to load: "cuda" if an expert asks for it, else
// "auto" if one does, else the configured default.
func StrongestProvider(config configs.Config) string {
	out := config.Encoder.Provider
	for _, x := range config.Experts {
		if x.Provider == encoder.CUDA || x.Provider == encoder.Auto && out == encoder.CPU {
			out = x.Provider
		}
	}
	return out
}

// OpenRuntime loads the ONNX Runtime that the configuration asks for; the caller closes it. If the configuration may
// use CUDA and the machine has a driver, it first loads the libraries of CUDA in the cache, so that they need not be
// installed on the system. It fails if the runtime's library is missing, or a library cannot be loaded.
func OpenRuntime(config configs.Config, cache provision.Cache) (*encoder.Runtime, error) {
	library, err := RuntimeLibrary(config, cache)
	if err != nil {
		return nil, err
	}
	if StrongestProvider(config) != encoder.CPU && encoder.Driver() == nil {
		paths, _ := cache.CUDALibraries()
		if err := encoder.LoadLibraries(paths...); err != nil {
			return nil, fmt.Errorf("loading CUDA: %w", err)
		}
	}
	return encoder.OpenRuntime(library)
}

// Find loads the named bundle, of an expert, reader or reranker, and returns it with the way to run it. It takes the
// bundle in full precision if the configuration says so, or if it will run with CUDA, which cannot compute in 8 bits.
// It returns a *NoFullError if full precision is configured and missing.
func Find(
	config configs.Config,
	cache provision.Cache,
	ort *encoder.Runtime,
	name string,
) (found encoder.Opening, err error) {
	found.Running = encoder.Running{
		Provider: config.Encoder.Provider, Threads: config.Encoder.Threads,
		Queue: config.Encoder.Queue, BatchTokens: config.Encoder.BatchTokens, CacheEntries: config.Encoder.CacheEntries,
		GPU: encoder.GPU{Device: config.Encoder.Device, Memory: int64(config.Encoder.DeviceMemory)},
	}
	for _, own := range config.Experts {
		if own.Name == name {
			found.Running.Provider = cmp.Or(own.Provider, found.Running.Provider)
			found.Running.Threads = cmp.Or(own.Threads, found.Running.Threads)
		}
	}
	load := shipped.Load
	if config.Encoder.Precision == models.PrecisionFP32 || found.Running.Provider == encoder.CUDA ||
		found.Running.Provider == encoder.Auto && ort.CUDA(config.Encoder.Device) == nil {
		load = shipped.LoadFull
	}
	found.Bundle, err = load(config, cache, name)
	if err == nil && config.Encoder.Precision == models.PrecisionFP32 &&
		found.Bundle.Manifest.Precision == models.PrecisionInt8 {
		err = &NoFullError{Name: name, Folder: shipped.InFull(found.Bundle.Dir)}
	}
	return found, err
}

// NoFullError is the error of a bundle that has to run in full precision and exists in 8 bits only.
type NoFullError struct{ Name, Folder string }

// Error names the bundle and the folder in which its full precision is missing.
func (e *NoFullError) Error() string {
	return fmt.Sprintf("%s is there in 8 bits alone: there is no %s", e.Name, e.Folder)
}

// UnlikeError says that the graph of an expert in full precision gives other vectors than the one in 8 bits.
type UnlikeError struct {
	Name   string
	Cosine float64 // the least
}

// Error names the expert, the least cosine and the one that is needed.
func (e *UnlikeError) Error() string {
	return fmt.Sprintf(
		"%s in full precision gives vectors at a cosine of %.4f to those in 8 bits, which have to be at %g or above to be searched together",
		e.Name, e.Cosine, models.LeastAlike,
	)
}

// standInTexts are tried before a graph stands in for another one.
var standInTexts = []encoder.Text{
	{Text: "what does an expert know?"},
	{Text: "how long can eggs be kept in the fridge"},
	{Title: "The mill", Text: "The river rose in the night; by morning the mill stood in two feet of water."},
	{Text: "Premiums are due on the first of the month. A claim has to be filed within 30 days, with form 27-B."},
}

// CheckStandIn returns an *UnlikeError if a bundle that stands in for another one gives vectors unlike that one's: it
// opens the other on the processor and compares their vectors of a few texts. It returns nil if the bundle stands in
// for none.
func CheckStandIn(ort *encoder.Runtime, opening encoder.Opening, e *encoder.Encoder) error {
	original := opening.Bundle.StandsFor()
	if original == nil {
		return nil
	}
	other, err := ort.Open(original, encoder.Running{Threads: opening.Running.Threads})
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	least, err := encoder.LeastCosine(context.Background(), e, other, standInTexts)
	if err == nil && least < models.LeastAlike {
		err = &UnlikeError{Name: e.Name(), Cosine: least}
	}
	return err
}

// HasBundle reports whether the bundle with this name is among the configured ones or in the cache, and can be read.
func HasBundle(config configs.Config, name string) bool {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return false
	}
	_, err = shipped.Load(config, cache, name)
	return err == nil
}
