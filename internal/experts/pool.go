package experts

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/encoder/batcher"
	"example.org/conclave/endpoints"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// Pool is the bundles that the collections of one process share, each loaded once: a question is
// encoded once whichever of them it is put to. What was loaded stays until the Pool is closed. Its
// methods may be called by several goroutines.
type Pool struct {
	config configs.Config
	cache  provision.Cache
	log    *slog.Logger

	opening sync.Mutex // held while bundles are opened, so that each is opened once
	mu      sync.Mutex // of what follows
	runtime *encoder.Runtime
	shared  map[string]*pooledEncoder  // by the names of their bundles
	remote  map[string]*pooledEmbedder // by the names of their experts
	all     []*pooledEncoder           // also those in whose place others came
	beside  pooledReaders
}

// pooledEncoder is an encoder that the sets of a pool share, with the bundle that it was opened from.
type pooledEncoder struct {
	name    string
	opening encoder.Opening
	stamp   bundleStamp
	encoder *encoder.Encoder
}

// pooledEmbedder is a model behind an interface that the sets of a pool share.
type pooledEmbedder struct {
	*endpoints.Embedder
	sends    *endpoints.Options
	ensemble *encoder.Ensemble // nil: none is opened yet
}

// ensemble returns the pool's ensemble of a configured endpoint, which open opens the first time. The pool must have
// the endpoint's embedder. It fails if open does.
func (p *Pool) ensemble(name string, open func() (*encoder.Ensemble, error)) (*encoder.Ensemble, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.remote[name]
	if known.ensemble != nil {
		return known.ensemble, nil
	}
	opened, err := open()
	if err == nil {
		known.ensemble = opened
	}
	return opened, err
}

// embedder returns the pool's model of a configured endpoint, which it opens the first time. It fails as openEmbedder
// does.
func (p *Pool) embedder(x configs.Expert) (*endpoints.Embedder, *endpoints.Options, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.remote[x.Name]; known != nil {
		return known.Embedder, known.sends, nil
	}
	e, sends, err := openEmbedder(x, p.config.Encoder.CacheEntries, p.log)
	if err == nil {
		p.remote[x.Name] = &pooledEmbedder{Embedder: e, sends: sends}
	}
	return e, sends, err
}

// pooledReaders holds the readers and rerankers that the sets of a pool share.
type pooledReaders struct {
	readers   openedOnce[openedReader]
	rerankers openedOnce[scorer]
}

// openedOnce holds what the first set that asks for it has opened, for all sets of a pool.
type openedOnce[T io.Closer] struct {
	opened []T
	done   bool
}

// bundleStamp identifies a version of a bundle on disk, so that a replaced bundle is noticed.
type bundleStamp struct {
	folder string
	size   int64
	when   time.Time
}

// NewPool returns a pool in which nothing is loaded yet. Close ends it. It fails if the configuration names no cache
// folder and there is no default one (provision.CacheAt).
func NewPool(config configs.Config, log *slog.Logger) (*Pool, error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, err
	}
	return &Pool{config: config, cache: cache, log: log, shared: map[string]*pooledEncoder{},
		remote: map[string]*pooledEmbedder{}}, nil
}

// OpenSome returns a set of the named experts for a collection that has vectors of the experts in stored. It takes
// their encoders from the pool, which loads those it lacks, or whose bundle has changed on disk; the set's Close leaves
// them open. Experts that cannot be loaded are missing from the set, and failed has the error of each by name. err is
// set if the runtime cannot be loaded, so that none could be tried.
func (p *Pool) OpenSome(
	config configs.Config,
	log *slog.Logger,
	names []string,
	stored []store.Expert,
) (x *Set, failed map[string]error, err error) {
	x = &Set{pool: p, config: config, cache: p.cache, log: log, owners: vectorOwners(stored), stored: stored}
	if x.needRuntime(names) {
		if err := x.openRuntime(); err != nil {
			return nil, nil, err
		}
	}
	x.Searched, failed = x.openAll(names)
	return x, failed, nil
}

// Encoders returns an Expert for each loaded bundle, in any order, whose name is the bundle's. It is for metrics.
func (p *Pool) Encoders() (out []*Expert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shared {
		out = append(out, &Expert{name: s.name, bundle: s.name, Bundle: s.opening.Bundle, Encoder: s.encoder})
	}
	return out
}

// Remote returns an Expert for each model behind an interface that was opened, in any order. It is for metrics.
func (p *Pool) Remote() (out []*Expert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, r := range p.remote {
		x, _ := p.config.Endpoint(name)
		out = append(out, &Expert{name: name, bundle: name, Encoder: &remoteEncoder{Embedder: r.Embedder, config: x}})
	}
	return out
}

// Close closes the encoders, readers, rerankers and the runtime, logs each encoder's counters at the debug level, and
// returns all errors joined. No Set of the pool may be in use.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.all {
		errs = append(errs, s.encoder.Close())
		logStats(p.log, s.name, s.encoder.Stats())
	}
	errs = append(errs, closeAll(p.beside.readers.opened), closeAll(p.beside.rerankers.opened))
	for _, r := range p.remote {
		errs = append(errs, r.Close())
		if r.ensemble != nil {
			errs = append(errs, r.ensemble.Close())
		}
	}
	p.all = nil
	clear(p.shared)
	clear(p.remote)
	p.beside = pooledReaders{}
	if p.runtime != nil {
		errs = append(errs, p.runtime.Close())
		p.runtime = nil
	}
	return errors.Join(errs...)
}

// logStats logs a closed encoder's counters at the debug level.
func logStats(log *slog.Logger, expert string, did batcher.Stats) {
	log.Debug("encoder closed", "expert", expert, "passages", did.PassageRows, "passage_cores", did.PassageCores,
		"questions", did.QuestionRows, "question_cores", did.QuestionCores)
}

// runtimeOf returns the pool's runtime, which it loads with load the first time, and again after an error.
func (p *Pool) runtimeOf(load func() (*encoder.Runtime, error)) (*encoder.Runtime, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runtime != nil {
		return p.runtime, nil
	}
	loaded, err := load()
	if err == nil {
		p.runtime = loaded
	}
	return loaded, err
}

// stampOf returns the stamp of a bundle as it is on disk now; ok is false if it is not there.
func (p *Pool) stampOf(config configs.Config, name string) (stamp bundleStamp, ok bool) {
	folder, err := shipped.Folder(config, p.cache, name)
	if err != nil {
		return stamp, false
	}
	info, err := os.Stat(filepath.Join(folder, models.ManifestFile))
	if err != nil {
		return stamp, false
	}
	return bundleStamp{folder, info.Size(), info.ModTime()}, true
}

// findLoaded returns the pool's encoder of the named bundle; nil if none is loaded or the bundle on disk has changed
// since.
func (p *Pool) findLoaded(x *Set, name string) *pooledEncoder {
	p.mu.Lock()
	s := p.shared[name]
	p.mu.Unlock()
	if s == nil {
		return nil
	}
	if stamp, ok := p.stampOf(x.config, name); !ok || stamp != s.stamp {
		return nil
	}
	return s
}

// openEncoders returns an encoder or an error for each named bundle: it takes those that are loaded, and opens and
// keeps the others. p.opening must be held.
func (p *Pool) openEncoders(x *Set, names []string, found []encoder.Opening) ([]*encoder.Encoder, []error) {
	encoders, errs := make([]*encoder.Encoder, len(found)), make([]error, len(found))
	var missing []encoder.Opening
	var at []int
	for i, name := range names {
		if s := p.findLoaded(x, name); s != nil {
			encoders[i] = s.encoder
			continue
		}
		missing, at = append(missing, found[i]), append(at, i)
	}
	made, why := openChecked(x.runtime, missing)
	p.mu.Lock()
	defer p.mu.Unlock()
	for j, i := range at {
		encoders[i], errs[i] = made[j], why[j]
		if made[j] == nil {
			continue
		}
		stamp, _ := p.stampOf(x.config, names[i])
		s := &pooledEncoder{names[i], missing[j], stamp, made[j]}
		p.shared[names[i]] = s
		p.all = append(p.all, s)
	}
	return encoders, errs
}

// openOnce returns what another set of the pool has opened, or else what open returns, which it keeps for the other
// sets. place returns where in the pool that is kept. If open fails, it closes what open returned and the next call
// tries again. A set without a pool always calls open. The pool's sets open one at a time.
func openOnce[T io.Closer](x *Set, place func(*pooledReaders) *openedOnce[T], open func() ([]T, error)) ([]T, error) {
	which := &openedOnce[T]{}
	if x.pool != nil {
		x.pool.opening.Lock()
		defer x.pool.opening.Unlock()
		which = place(&x.pool.beside)
	}
	if which.done {
		return which.opened, nil
	}
	opened, err := open()
	if err != nil {
		return nil, errors.Join(err, closeAll(opened))
	}
	*which = openedOnce[T]{opened, true}
	return opened, nil
}

// closeAll closes all of them, also after an error, and returns all errors.
func closeAll[T io.Closer](all []T) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
