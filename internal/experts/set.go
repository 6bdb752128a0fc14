// Package experts loads bundles: experts with the encoders that they share, heads, granularities,
// readers, rerankers and generators, and the runtime under them.
package experts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/provision"
	"example.org/conclave/search/learned"
	"example.org/conclave/store"

	"golang.org/x/sync/errgroup"
)

// Set is the loaded bundles of one process, and the runtime under them.
type Set struct {
	config    configs.Config
	cache     provision.Cache
	log       *slog.Logger
	told      string // why a model runs on the processor, as logged last; see logFallback
	pool      *Pool  // whose encoders these are; nil: the set has its own
	runtime   *encoder.Runtime
	Searched  []*Expert // that are searched
	Silent    []*Expert // of the collection, but not searched: they encode what is written
	readers   []openedReader
	rerankers []scorer
	owners    map[string]string // of the collection; see owners
	stored    []store.Expert    // of the collection
}

// Only returns a copy of the set whose Searched are the experts for which `some` returns true; it has no Silent
// ones. The copy shares the loaded models with x and must not be closed.
func (x *Set) Only(some func(*Expert) bool) *Set {
	out := *x
	out.Searched = slices.DeleteFunc(slices.Clone(x.Searched), func(e *Expert) bool { return !some(e) })
	out.Silent = nil
	return &out
}

// logFallback logs that a model runs on the processor though a GPU was wanted, and why. A reason that was just logged
// is not repeated, and the line has the level of information.
func (x *Set) logFallback(kind, name string, why error) {
	if why.Error() == x.told {
		x.log.Info(kind+" runs on the processor", kind, name)
		return
	}
	x.told = why.Error()
	x.log.Warn(kind+" runs on the processor", kind, name, "why", why)
}

// All returns the experts that are searched, in their order.
func (x *Set) All() []*Expert { return x.Searched }

// Fingerprints returns the fingerprint of each searched expert's question encoder, by the expert's name.
func (x *Set) Fingerprints() map[string]string {
	out := map[string]string{}
	for _, e := range x.Searched {
		out[e.name] = e.Fingerprints()["question"]
	}
	return out
}

// Open loads the named experts for a collection that has no vectors yet. It fails, with nothing left loaded, if one of
// them cannot be loaded. Close releases them.
func Open(config configs.Config, log *slog.Logger, names []string) (*Set, error) {
	return OpenNamed(config, log, names, nil)
}

// OpenNamed loads the named experts, in Searched, for a collection that has vectors of the experts in stored. It
// fails, with nothing left loaded, if one of them cannot be loaded. Close releases them.
func OpenNamed(config configs.Config, log *slog.Logger, names []string, stored []store.Expert) (*Set, error) {
	x, failed, err := OpenSome(config, log, names, stored)
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

// OpenSome loads the named experts for a collection that has vectors of the experts in stored. Those that cannot be
// loaded are missing from the set, and failed has the error of each by name. err is set if none could be tried, because
// the cache folder or ONNX Runtime is missing. Close releases them.
func OpenSome(
	config configs.Config,
	log *slog.Logger,
	names []string,
	stored []store.Expert,
) (x *Set, failed map[string]error, err error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, nil, err
	}
	x = &Set{config: config, cache: cache, log: log, owners: vectorOwners(stored), stored: stored}
	if x.needRuntime(names) {
		if err := x.openRuntime(); err != nil {
			return nil, nil, err
		}
	}
	x.Searched, failed = x.openAll(names)
	return x, failed, nil
}

// needRuntime reports whether one of the named experts runs graphs in this process: it is a bundle, or a model behind
// an interface with an ensemble.
func (x *Set) needRuntime(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		bundle, _, _ := strings.Cut(name, GranularMark)
		endpoint, remote := x.config.Endpoint(bundle)
		return !remote || endpoint.Ensemble != ""
	})
}

// ThreadsOfOne returns how many cores one inference uses: config.Encoder.Threads if that is set, else all cores divided
// by atOnce, the number of inferences that run at the same time. Experts that are asked the same question side by side
// on a core each take two thirds of the time that they take one after the other on all cores.
func ThreadsOfOne(config configs.Config, atOnce int) int {
	if config.Encoder.Threads > 0 {
		return config.Encoder.Threads
	}
	return max(1, runtime.GOMAXPROCS(0)/max(1, atOnce))
}

// openAll opens the named experts side by side and returns those that it could open, in the order of names. failed has
// the error of each other one by name. Encoders that the set or its pool has are shared.
func (x *Set) openAll(names []string) (opened []*Expert, failed map[string]error) {
	if x.pool != nil {
		x.pool.opening.Lock()
		defer x.pool.opening.Unlock()
	}
	failed = map[string]error{}
	var wanted []*Expert
	var bundles []string // of those, each once, without what is open
	for _, name := range names {
		bundle, granularity, err := SplitName(name)
		if err != nil {
			failed[name] = err
			continue
		}
		wanted = append(wanted, &Expert{name: name, bundle: bundle, Granularity: granularity})
		if x.ofBundle(bundle) == nil && !slices.Contains(bundles, bundle) {
			bundles = append(bundles, bundle)
		}
	}
	found, errs := make([]encoder.Opening, len(bundles)), make([]error, len(bundles))
	remote := make([]*remoteEncoder, len(bundles))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, bundle := range bundles {
		group.Go(func() error {
			if _, ok := x.config.Endpoint(bundle); ok {
				found[i].Bundle, remote[i], errs[i] = x.openRemote(bundle)
			} else {
				found[i], errs[i] = x.findBundle(bundle)
			}
			return nil
		})
	}
	_ = group.Wait()
	var whole []encoder.Opening
	var openable []string
	why := map[string]error{} // bundles cannot be opened
	for i, bundle := range bundles {
		why[bundle] = errs[i]
		if errs[i] == nil && remote[i] == nil && found[i].Bundle.Manifest.Head == nil {
			whole, openable = append(whole, found[i]), append(openable, bundle)
		}
	}
	encoders, errs := x.openEncoders(openable, whole)
	for _, e := range wanted {
		if at := slices.Index(openable, e.bundle); at >= 0 {
			e.Bundle = whole[at].Bundle
			e.Encoder = encoders[at]
			why[e.bundle] = errs[at]
		} else if at := slices.Index(bundles, e.bundle); at >= 0 && remote[at] != nil {
			e.Bundle = found[at].Bundle
			e.Encoder = remote[at]
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
		if e.Granularity != nil && e.Encoder.Sparse() {
			failed[e.name] = fmt.Errorf(
				"expert %s: %s weighs word pieces of a whole passage, and has no granularities", e.name, e.bundle,
			)
			continue
		}
		if e.Granularity != nil && e.Late() {
			failed[e.name] = fmt.Errorf(
				"expert %s: %s is late interaction, which has a vector for each token and no granularities", e.name,
				e.bundle,
			)
			continue
		}
		if reason := e.Encoder.Fallback(); reason != nil {
			x.logFallback("expert", e.name, reason)
		}
		opened = append(opened, e)
	}
	for i, name := range bundles {
		if why[name] != nil || remote[i] != nil || found[i].Bundle.Manifest.Head == nil {
			continue
		}
		e, err := x.openHead(name, found[i], opened)
		if err != nil {
			failed[name] = err
			continue
		}
		e.bundle = name
		opened = append(opened, e)
	}
	slices.SortFunc(
		opened, func(a, b *Expert) int { return cmp.Compare(slices.Index(names, a.name), slices.Index(names, b.name)) },
	)
	x.shareVectors(opened)
	x.noteReaders(opened)
	return opened, failed
}

// openEncoders returns the encoder of each named bundle, or an error in the same place. found has what to open, in the
// order of names. It takes the encoders that the pool has, and opens the others, which the pool keeps; without a pool
// it opens all. If there is a pool, its opening must be held.
func (x *Set) openEncoders(names []string, found []encoder.Opening) ([]*encoder.Encoder, []error) {
	if x.pool != nil {
		return x.pool.openEncoders(x, names, found)
	}
	return openChecked(x.runtime, found)
}

// openChecked opens encoders and returns, in the order of found, an encoder or an error for each; the other is nil.
// An encoder that stands in for another one, and gives other vectors than that, is closed again and reported as an
// error.
func openChecked(r *encoder.Runtime, found []encoder.Opening) ([]*encoder.Encoder, []error) {
	encoders, errs := r.OpenAll(found)
	for i, e := range encoders {
		if e != nil {
			if err := CheckStandIn(r, found[i], e); err != nil {
				encoders[i] = nil
				errs[i] = errors.Join(err, e.Close())
			}
		}
	}
	return encoders, errs
}

// ofBundle returns a loaded expert of the bundle, searched or not; nil if there is none.
func (x *Set) ofBundle(bundle string) *Expert {
	all := slices.Concat(x.Searched, x.Silent)
	if at := slices.IndexFunc(all, func(e *Expert) bool { return e.bundle == bundle }); at >= 0 {
		return all[at]
	}
	return nil
}

// SharedPasses returns the pairs of a late interaction expert and a dense one, with vectors of their own, whose
// vectors one run of the late expert's encoder gives.
func SharedPasses(all []*Expert) (out []store.SharedPass) {
	all = WithVectors(all)
	for _, late := range all {
		for _, dense := range all {
			if late.Encoder.Carried() == dense.Encoder && dense.Granularity == nil {
				out = append(out, store.SharedPass{
					Late: late, Dense: dense,
					Encode: func(ctx context.Context, passages []corpus.Passage) ([][]float32, [][]float32, error) {
						tokens, whole, read, err := late.Encoder.ReadPassagesBoth(ctx, encoderTexts(passages))
						return tokens, asRead(whole, read), err
					},
				})
			}
		}
	}
	return out
}

// findBundle returns the named bundle with the way to run it: device, precision and threads. It loads the runtime
// if need be, and takes the pool's bundle if that is loaded. The error says that the runtime or the bundle cannot
// be used.
func (x *Set) findBundle(name string) (found encoder.Opening, err error) {
	if x.pool != nil {
		if s := x.pool.findLoaded(x, name); s != nil {
			return s.opening, nil
		}
	}
	if err := x.openRuntime(); err != nil {
		return found, err
	}
	return Find(x.config, x.cache, x.runtime, name)
}

// openRuntime sets x.runtime to the pool's ONNX Runtime, or without a pool to one that it loads. It does nothing if it
// is set already. It fails if the runtime's library is missing or a library cannot be loaded, and x.runtime then stays
// nil.
func (x *Set) openRuntime() error {
	if x.runtime != nil {
		return nil
	}
	load := func() (*encoder.Runtime, error) { return OpenRuntime(x.config, x.cache) }
	var runtime *encoder.Runtime
	var err error
	if x.pool != nil {
		runtime, err = x.pool.runtimeOf(load)
	} else {
		runtime, err = load()
	}
	if err != nil {
		return err
	}
	x.runtime = runtime
	return nil
}

// LoadMore loads an expert and returns it without adding it to the set: the caller adds it to Searched or Silent, or
// ends it with CloseUnused. It fails if the runtime or the expert's bundle cannot be loaded.
func (x *Set) LoadMore(name string) (*Expert, error) {
	if x.needRuntime([]string{name}) {
		if err := x.openRuntime(); err != nil { // a collection of words alone has loaded none yet
			return nil, err
		}
	}
	opened, failed := x.openAll([]string{name})
	if err := failed[name]; err != nil {
		return nil, err
	}
	return opened[0], nil
}

// Dense returns the searched experts except those of late interaction, in their order.
func (x *Set) Dense() []*Expert {
	return slices.DeleteFunc(slices.Clone(x.Searched), (*Expert).Late)
}

// Close closes the set's experts, readers and rerankers, and then the runtime, and empties the set. A set with a
// pool leaves to the pool what other collections may use. It returns all errors.
func (x *Set) Close() error {
	var errs []error
	for _, e := range slices.Concat(x.Searched, x.Silent) {
		errs = append(errs, x.closeOne(e))
	}
	if x.pool != nil {
		x.Searched, x.Silent, x.readers, x.rerankers, x.runtime = nil, nil, nil, nil, nil
		return errors.Join(errs...)
	}
	errs = append(errs, closeAll(x.readers), closeAll(x.rerankers))
	x.Searched, x.Silent, x.readers, x.rerankers = nil, nil, nil, nil
	if x.runtime != nil {
		errs = append(errs, x.runtime.Close())
		x.runtime = nil
	}
	return errors.Join(errs...)
}

// closeOne closes the expert's head, or its encoder if it has no head, and logs the encoder's counters at the debug
// level. It leaves open an encoder of the pool, which other collections may use. The error is that of closing.
func (x *Set) closeOne(e *Expert) error {
	if x.pool != nil && e.head == nil {
		return nil // others may use it
	}
	err := e.closeModel()
	if e.head == nil {
		logStats(x.log, e.name, e.Encoder.Stats())
	}
	return err
}

// Named returns the loaded expert with this name, searched or not; nil if there is none.
func (x *Set) Named(name string) *Expert {
	for _, e := range slices.Concat(x.Searched, x.Silent) {
		if e.name == name {
			return e
		}
	}
	return nil
}

// OpenFor loads the named experts to encode with, in Searched. Experts of the collection without which these cannot
// be opened, such as the base of a head, are loaded as Silent. It fails, with nothing left loaded, if one of them
// cannot be loaded. Close releases them.
func OpenFor(config configs.Config, log *slog.Logger, names []string, stored []store.Expert) (*Set, error) {
	beside, err := missingOwners(config, names, stored)
	if err != nil {
		return nil, err
	}
	x, err := OpenNamed(config, log, slices.Concat(names, beside), stored)
	if err != nil {
		return nil, err
	}
	isBeside := func(e *Expert) bool { return slices.Contains(beside, e.name) }
	x.Silent = slices.DeleteFunc(slices.Clone(x.Searched), func(e *Expert) bool { return !isBeside(e) })
	x.Searched = slices.DeleteFunc(x.Searched, isBeside)
	return x, nil
}

// Hold sets the experts whose vectors the collection has now, by which the set knows which expert searches another's
// vectors (OwnerOf). Call it before LoadMore when these have changed.
func (x *Set) Hold(stored []store.Expert) {
	x.stored = stored
	x.owners = vectorOwners(stored)
}

// OwnerOf returns the name of the expert whose vectors the named expert searches; "" if it has vectors of its own.
func (x *Set) OwnerOf(name string) string { return x.owners[name] }

// Readers returns the loaded readers and generators as the search engine takes them.
func (x *Set) Readers() (out []learned.LoadedReader) {
	for _, r := range x.readers {
		out = append(out, r.asLoadedReader())
	}
	return out
}

// Rerankers returns the loaded rerankers as the search engine takes them.
func (x *Set) Rerankers() (out []learned.LoadedReranker) {
	for _, r := range x.rerankers {
		out = append(out, r.asLoadedReranker())
	}
	return out
}
