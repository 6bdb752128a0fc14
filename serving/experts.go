package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"conclave/configs"
	"conclave/corpus"
	"conclave/encoder"
	"conclave/models"
	"conclave/provision"

	"golang.org/x/sync/errgroup"
)

// Base is the name of the encoder that setup makes.
const Base = "base"

// BaseBundle is the name of its bundle in a precision.
func BaseBundle(precision string) string {
	if precision == models.PrecisionFP32 {
		return Base
	}
	return Base + "-" + precision
}

// Experts are the loaded bundles of one process, and the runtime under them.
type Experts struct {
	config  configs.Config
	cache   provision.Cache
	log     *slog.Logger
	runtime *encoder.Runtime
	opened  []*Expert
}

// All are the experts in their order.
func (x *Experts) All() []*Expert { return x.opened }

// Expert is one loaded bundle.
type Expert struct {
	Bundle  *models.Bundle
	Encoder *encoder.Encoder
	name    string
	carries *Expert // whose vectors come from this one's runs; nil: nobody's
}

// OpenExperts loads the named experts. Close ends them.
func OpenExperts(config configs.Config, log *slog.Logger, names []string) (*Experts, error) {
	x, failed, err := openSome(config, log, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		err = errors.Join(err, failed[name])
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// openSome loads those of the named experts that can be loaded, and says why the
// others cannot. Close ends them.
func openSome(config configs.Config, log *slog.Logger, names []string) (x *Experts, failed map[string]error, err error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, nil, err
	}
	x = &Experts{config: config, cache: cache, log: log}
	if len(names) == 0 {
		return x, nil, nil
	}
	library, err := RuntimeLibrary(config, cache)
	if err != nil {
		return nil, nil, err
	}
	if x.runtime, err = encoder.OpenRuntime(library); err != nil {
		return nil, nil, err
	}
	failed = x.openAll(names)
	if err := x.share(); err != nil {
		return nil, nil, errors.Join(err, x.Close())
	}
	return x, failed, nil
}

// ThreadsOfOne is how many cores one inference uses where the configuration
// leaves it open, when so many may run at once: experts that are all asked the
// same question, or batches of passages. Side by side on a core each they take
// two thirds of the time of one after the other on all cores, since no thread
// waits for another within a run; a lone expert has all cores, and its answer
// is there earlier.
func ThreadsOfOne(config configs.Config, atOnce int) int {
	if config.Encoder.Threads > 0 {
		return config.Encoder.Threads
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, atOnce))
}

// openAll opens experts side by side on the processor: a session is made by
// one thread. The CUDA provider replaces signal handlers while it loads, which
// only one session at a time can put right.
func (x *Experts) openAll(names []string) (failed map[string]error) {
	opened, errs := make([]*Expert, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	if Strongest(x.config) != encoder.CPU {
		group.SetLimit(1)
	}
	for i, name := range names {
		group.Go(func() error {
			opened[i], errs[i] = x.open(name)
			return nil
		})
	}
	_ = group.Wait()
	x.opened = slices.DeleteFunc(opened, func(e *Expert) bool { return e == nil })
	failed = map[string]error{}
	for i, name := range names {
		if errs[i] != nil {
			failed[name] = errs[i]
		}
	}
	return failed
}

// share lets experts of late interaction give the vectors of the expert whose
// layers they have, where that is here too: one run serves both.
func (x *Experts) share() error {
	for _, late := range x.opened {
		if !late.Late() {
			continue
		}
		for _, dense := range x.Dense() {
			shared, err := dense.Encoder.Share(late.Encoder)
			if err != nil {
				return fmt.Errorf("trying whether %s and %s can share an encoder's runs: %w", dense.name, late.name, err)
			}
			if shared {
				late.carries = dense
				x.log.Debug("one run of an encoder serves two experts", "experts", []string{dense.name, late.name})
				break
			}
		}
	}
	return nil
}

// RuntimeLibrary is the path of the ONNX Runtime library: the configured one, or
// the verified one that setup fetched, with CUDA where that is asked for and
// was fetched.
func RuntimeLibrary(config configs.Config, cache provision.Cache) (string, error) {
	if config.Runtime != "" {
		return config.Runtime, nil
	}
	if provider := Strongest(config); provider != encoder.CPU {
		library, err := cache.VerifyRuntime(encoder.CUDA)
		if err == nil {
			return library, nil
		}
		if provider == encoder.CUDA {
			return "", fmt.Errorf("provider cuda: %w --provider cuda", err)
		}
	}
	return cache.VerifyRuntime(encoder.CPU)
}

// Strongest is the provider that decides which library is loaded: cuda where
// any expert asks for it, then auto.
func Strongest(config configs.Config) string {
	out := config.Encoder.Provider
	for _, x := range config.Experts {
		if x.Provider == encoder.CUDA || x.Provider == encoder.Auto && out == encoder.CPU {
			out = x.Provider
		}
	}
	return out
}

func (x *Experts) open(name string) (*Expert, error) {
	folder, err := BundleFolder(x.config, x.cache, name)
	if err != nil {
		return nil, err
	}
	bundle, err := models.Load(folder)
	if err != nil {
		return nil, err
	}
	options := encoder.Options{
		Provider: x.config.Encoder.Provider, Threads: x.config.Encoder.Threads,
		Queue: x.config.Encoder.Queue, BatchTokens: x.config.Encoder.BatchTokens, CacheEntries: x.config.Encoder.CacheEntries,
	}
	for _, own := range x.config.Experts {
		if own.Name == name {
			if own.Provider != "" {
				options.Provider = own.Provider
			}
			if own.Threads > 0 {
				options.Threads = own.Threads
			}
		}
	}
	e, err := x.runtime.Open(bundle, options)
	if err != nil {
		return nil, err
	}
	if why := e.Fallback(); why != nil {
		x.log.Warn("expert runs on the processor", "expert", name, "why", why)
	}
	return &Expert{name: name, Bundle: bundle, Encoder: e}, nil
}

// Dense are the experts but for late interaction, in their order.
func (x *Experts) Dense() []*Expert {
	return slices.DeleteFunc(slices.Clone(x.opened), (*Expert).Late)
}

// Close ends the encoders, then the runtime.
func (x *Experts) Close() error {
	var errs []error
	for _, e := range x.opened {
		errs = append(errs, e.Encoder.Close())
	}
	x.opened = nil
	if x.runtime != nil {
		errs = append(errs, x.runtime.Close())
		x.runtime = nil
	}
	return errors.Join(errs...)
}

// The methods below make an expert what collection and search need of it.

func (e *Expert) Name() string        { return e.name }
func (e *Expert) Dimension() int      { return e.Encoder.Dimension() }
func (e *Expert) Fingerprint() string { return e.Encoder.Fingerprint(models.Passage) }

// Late says that the expert gives each token a vector: late interaction.
func (e *Expert) Late() bool { return e.Encoder.Late() }

// CutsPassage reports whether a passage is longer than the encoder reads.
func (e *Expert) CutsPassage(p corpus.Passage) bool {
	return e.Encoder.CutsPassage(encoder.Text{Title: p.Title, Text: p.Text})
}

// EncodePassages encodes passages through the bundle's template.
func (e *Expert) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	return e.Encoder.EncodePassages(ctx, texts(passages))
}

// Carried is the name of the expert whose vectors come with this one's.
func (e *Expert) Carried() string {
	if e.carries == nil {
		return ""
	}
	return e.carries.name
}

// EncodePassagesBoth is EncodePassages of this expert and of the carried one.
func (e *Expert) EncodePassagesBoth(ctx context.Context, passages []corpus.Passage) (own, carried [][]float32, err error) {
	return e.Encoder.EncodePassagesBoth(ctx, texts(passages))
}

func texts(passages []corpus.Passage) []encoder.Text {
	out := make([]encoder.Text, len(passages))
	for i, p := range passages {
		out[i] = encoder.Text{Title: p.Title, Text: p.Text}
	}
	return out
}
