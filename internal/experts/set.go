package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/granules"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/search"
	"example.org/conclave/shipped"
	"example.org/conclave/store"

	"golang.org/x/sync/errgroup"
)

// Experts are the loaded bundles of one process, and the runtime under them.
type Experts struct {
	config    configs.Config
	cache     provision.Cache
	log       *slog.Logger
	runtime   *encoder.Runtime
	opened    []*Expert // that are searched
	silent    []*Expert // of the collection, but not searched: they encode what is written
	readers   []opened
	rerankers []*reranker
	owners    map[string]string // of the collection; see owners
	stored    []store.Expert    // of the collection
	// unnormalised: the collection's vectors are of texts that were not normalised, and so
	// are those of the questions to it and of what is added to it.
	unnormalised bool
}

// All returns the experts that are searched, in their order.
func (x *Experts) All() []*Expert { return x.opened }

// Fingerprints returns those of the experts' question encoders, by name.
func (x *Experts) Fingerprints() map[string]string {
	out := map[string]string{}
	for _, e := range x.opened {
		out[e.name] = e.fingerprints()["question"]
	}
	return out
}

// Expert is one loaded bundle.
type Expert struct {
	Bundle  *models.Bundle
	Encoder *encoder.Encoder // that experts of one bundle share
	name    string
	// head is on the vectors of owner, whose Encoder it is; nil: the expert has its own.
	head  *encoder.Head
	owner *Expert
	// shares names the expert whose vectors of passages are this one's too, since their
	// passage encoders are the same; "": no other's are. Unlike a head it has an encoder.
	shares string
	bundle string // its name
	// granularity of what the vectors are of; nil: of passages, as the bundle says.
	granularity *granules.Granularity
}

// OpenExperts loads the named experts. Close ends them.
func OpenExperts(config configs.Config, log *slog.Logger, names []string) (*Experts, error) {
	return openNamed(config, log, names, nil)
}

// openNamed works as OpenExperts does for a collection that has vectors of experts.
func openNamed(config configs.Config, log *slog.Logger, names []string, stored []store.Expert) (*Experts, error) {
	x, failed, err := openSome(config, log, names, stored)
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
// others cannot. stored are those that the collection has vectors of. Close ends them.
func openSome(
	config configs.Config,
	log *slog.Logger,
	names []string,
	stored []store.Expert,
) (x *Experts, failed map[string]error, err error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, nil, err
	}
	x = &Experts{config: config, cache: cache, log: log, owners: owners(stored), stored: stored,
		unnormalised: unnormalised(stored)}
	if len(names) == 0 {
		return x, nil, nil
	}
	if err := x.openRuntime(); err != nil {
		return nil, nil, err
	}
	x.opened, failed = x.openAll(names)
	return x, failed, nil
}

// threadsOfOne returns how many cores one inference uses where the configuration
// leaves it open, when so many may run at once: experts that are all asked the
// same question, or batches of passages. Side by side on a core each they take
// two thirds of the time of one after the other on all cores, since no thread
// waits for another within a run; a lone expert has all cores, and its answer
// is there earlier.
func threadsOfOne(config configs.Config, atOnce int) int {
	if config.Encoder.Threads > 0 {
		return config.Encoder.Threads
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, atOnce))
}

// openAll opens experts side by side, and says why those that are not opened
// could not be.
func (x *Experts) openAll(names []string) (opened []*Expert, failed map[string]error) {
	failed = map[string]error{}
	var wanted []*Expert
	var bundles []string // of those, each once, without what is open
	for _, name := range names {
		bundle, granularity, err := SplitName(name)
		if err != nil {
			failed[name] = err
			continue
		}
		wanted = append(wanted, &Expert{name: name, bundle: bundle, granularity: granularity})
		if x.ofBundle(bundle) == nil && !slices.Contains(bundles, bundle) {
			bundles = append(bundles, bundle)
		}
	}
	found, errs := make([]encoder.Opening, len(bundles)), make([]error, len(bundles))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, bundle := range bundles {
		group.Go(func() error {
			found[i], errs[i] = x.find(bundle)
			return nil
		})
	}
	_ = group.Wait()
	var whole []encoder.Opening
	var of []string
	why := map[string]error{} // bundles cannot be opened
	for i, bundle := range bundles {
		why[bundle] = errs[i]
		if errs[i] == nil && found[i].Bundle.Manifest.Head == nil {
			whole, of = append(whole, found[i]), append(of, bundle)
		}
	}
	encoders, errs := x.runtime.OpenAll(whole)
	for _, e := range wanted {
		if at := slices.Index(of, e.bundle); at >= 0 {
			e.Bundle = whole[at].Bundle
			e.Encoder = encoders[at]
			why[e.bundle] = errs[at]
		} else if same := x.ofBundle(e.bundle); same != nil {
			e.Bundle, e.Encoder = same.Bundle, same.Encoder
		}
		if err := why[e.bundle]; err != nil {
			failed[e.name] = err
			continue
		}
		if e.Encoder == nil {
			continue // a head, which follows
		}
		if e.granularity != nil && e.Late() {
			failed[e.name] = fmt.Errorf(
				"expert %s: %s is late interaction, which has a vector for each token and no granularities",
				e.name,
				e.bundle,
			)
			continue
		}
		if reason := e.Encoder.Fallback(); reason != nil {
			x.log.Warn("expert runs on the processor", "expert", e.name, "why", reason)
		}
		opened = append(opened, e)
	}
	for i, name := range bundles {
		if why[name] != nil || found[i].Bundle.Manifest.Head == nil {
			continue
		}
		e, err := x.openHead(name, found[i].Bundle, opened)
		if err != nil {
			failed[name] = err
			continue
		}
		e.bundle = name
		opened = append(opened, e)
	}
	slices.SortFunc(
		opened,
		func(a, b *Expert) int { return cmp.Compare(slices.Index(names, a.name), slices.Index(names, b.name)) },
	)
	x.share(opened)
	return opened, failed
}

// ofBundle returns a loaded expert of a bundle; nil: there is none.
func (x *Experts) ofBundle(bundle string) *Expert {
	all := slices.Concat(x.opened, x.silent)
	if at := slices.IndexFunc(all, func(e *Expert) bool { return e.bundle == bundle }); at >= 0 {
		return all[at]
	}
	return nil
}

// SharedPasses returns the pairs of experts that one run of an encoder serves.
func SharedPasses(all []*Expert) (out []store.SharedPass) {
	all = storing(all)
	for _, late := range all {
		for _, dense := range all {
			if late.Encoder.Carried() == dense.Encoder && dense.granularity == nil {
				out = append(out, store.SharedPass{
					Late: late, Dense: dense,
					Encode: func(ctx context.Context, passages []corpus.Passage) ([][]float32, [][]float32, error) {
						tokens, whole, read, err := late.Encoder.ReadPassagesBoth(ctx, texts(passages))
						return tokens, asRead(whole, read), err
					},
				})
			}
		}
	}
	return out
}

// RuntimeLibrary returns the path of the ONNX Runtime library: the configured one, or
// the verified one that setup fetched, with CUDA where that is asked for and
// was fetched.
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

// StrongestProvider returns the provider that decides which library is loaded: cuda where
// any expert asks for it, then auto.
func StrongestProvider(config configs.Config) string {
	out := config.Encoder.Provider
	for _, x := range config.Experts {
		if x.Provider == encoder.CUDA || x.Provider == encoder.Auto && out == encoder.CPU {
			out = x.Provider
		}
	}
	return out
}

// find loads an expert's bundle and says how it is to be run.
func (x *Experts) find(name string) (found encoder.Opening, err error) {
	found.Bundle, err = shipped.Load(x.config, x.cache, name)
	if err != nil {
		return found, err
	}
	found.Running = encoder.Running{
		Provider: x.config.Encoder.Provider, Threads: x.config.Encoder.Threads,
		Queue: x.config.Encoder.Queue, BatchTokens: x.config.Encoder.BatchTokens, CacheEntries: x.config.Encoder.CacheEntries,
		Unnormalised: x.unnormalised,
	}
	for _, own := range x.config.Experts {
		if own.Name == name {
			found.Running.Provider = cmp.Or(own.Provider, found.Running.Provider)
			found.Running.Threads = cmp.Or(own.Threads, found.Running.Threads)
		}
	}
	return found, nil
}

// openRuntime loads ONNX Runtime, once.
func (x *Experts) openRuntime() error {
	if x.runtime != nil {
		return nil
	}
	library, err := RuntimeLibrary(x.config, x.cache)
	if err == nil {
		x.runtime, err = encoder.OpenRuntime(library)
	}
	return err
}

// loadMore loads one more expert, of which the caller says what becomes of it.
func (x *Experts) loadMore(name string) (*Expert, error) {
	if err := x.openRuntime(); err != nil { // a collection of words alone has loaded none yet
		return nil, err
	}
	opened, failed := x.openAll([]string{name})
	if err := failed[name]; err != nil {
		return nil, err
	}
	return opened[0], nil
}

// Dense returns the experts but for late interaction, in their order.
func (x *Experts) Dense() []*Expert {
	return slices.DeleteFunc(slices.Clone(x.opened), (*Expert).Late)
}

// Close ends the encoders, then the runtime.
func (x *Experts) Close() error {
	var errs []error
	for _, e := range slices.Concat(x.opened, x.silent) {
		errs = append(errs, e.close())
	}
	for _, r := range x.readers {
		errs = append(errs, r.Close())
	}
	for _, r := range x.rerankers {
		errs = append(errs, r.Close())
	}
	x.opened, x.silent, x.readers, x.rerankers = nil, nil, nil, nil
	if x.runtime != nil {
		errs = append(errs, x.runtime.Close())
		x.runtime = nil
	}
	return errors.Join(errs...)
}

// The methods below make an expert what collection and search need of it.

func (e *Expert) Name() string   { return e.name }
func (e *Expert) Dimension() int { return e.Encoder.Dimension() }

// Late says that the expert gives each token a vector: late interaction.
func (e *Expert) Late() bool { return e.Encoder.Late() }

// Owner returns the expert whose vectors this one finds passages by; "": it has its own.
func (e *Expert) Owner() string {
	if e.owner != nil {
		return e.owner.name
	}
	return e.shares
}

// PassageWords says which word each token of a passage is of.
func (e *Expert) PassageWords(p corpus.Passage) ([]search.Word, error) {
	places, err := e.Encoder.Places(encoder.Text{Title: p.Title, Text: p.Text})
	words := make([]search.Word, len(places))
	for i, place := range places {
		words[i] = search.Word(place)
	}
	return words, err
}

// PassageTokens returns how many tokens the encoder reads of a passage, and whether there
// are more.
func (e *Expert) PassageTokens(p corpus.Passage) (read int, cut bool) {
	return e.Encoder.PassageTokens(encoder.Text{Title: p.Title, Text: p.Text})
}

// Reads reports whether the encoder reads only the beginning of a passage, and whether it
// can hardly read it. Granularities cut passages, so that they say nothing of their length.
func (e *Expert) Reads(p corpus.Passage) (cut, unread bool) {
	read, cut := e.Encoder.ReadablePassage(encoder.Text{Title: p.Title, Text: p.Text})
	return cut && e.granularity == nil, read < 1
}

// EncodePassages gives the vectors of passages as they are stored: a vector is as long as
// it counts.
func (e *Expert) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors, read, err := e.readPassages(ctx, passages)
	if !e.Late() {
		asRead(vectors, read)
	}
	return vectors, err
}

// readPassages encodes passages through the bundle's template, and tells what each vector
// counts.
func (e *Expert) readPassages(ctx context.Context, passages []corpus.Passage) ([][]float32, []float64, error) {
	of := texts(passages)
	if e.granularity != nil && e.granularity.Untitled {
		for i := range of {
			of[i].Title = ""
		}
	}
	vectors, read, err := e.Encoder.ReadPassages(ctx, of)
	return e.unit(vectors), read, err
}

// asRead makes each vector as long as it counts: its inner products with questions are
// then worth that much, in searches of all kinds and beside random passages.
func asRead(vectors [][]float32, read []float64) [][]float32 {
	for i, v := range vectors {
		if read[i] < 1 {
			for n := range v {
				v[n] *= float32(read[i])
			}
		}
	}
	return vectors
}

// embedder is an expert whose vectors are handed out: as the encoder makes them.
type embedder struct{ *Expert }

// EncodePassages encodes passages through the bundle's template.
func (e embedder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors, _, err := e.readPassages(ctx, passages)
	return vectors, err
}

func texts(passages []corpus.Passage) []encoder.Text {
	out := make([]encoder.Text, len(passages))
	for i, p := range passages {
		out[i] = encoder.Text{Title: p.Title, Text: p.Text}
	}
	return out
}
