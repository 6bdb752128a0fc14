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
	shared  map[string]*pooled // by the names of their bundles
	all     []*pooled          // also those in whose place others came
	beside  besides
}

// pooled is an encoder that is shared.
type pooled struct {
	name    string
	opening encoder.Opening
	stamp   bundleStamp
	encoder *encoder.Encoder
}

// besides are the readers and rerankers.
type besides struct {
	readers   once[opened]
	rerankers once[scorer]
}

// once is what the first set that asks for it opens, for all of a pool.
type once[T io.Closer] struct {
	opened []T
	done   bool
}

// bundleStamp tells a bundle from another one that took its place.
type bundleStamp struct {
	folder string
	size   int64
	when   time.Time
}

// NewPool returns a pool in which nothing is loaded. Close ends it.
func NewPool(config configs.Config, log *slog.Logger) (*Pool, error) {
	cache, err := provision.CacheAt(config.Cache)
	if err != nil {
		return nil, err
	}
	return &Pool{config: config, cache: cache, log: log, shared: map[string]*pooled{}}, nil
}

// OpenSome works as the function OpenSome does, with encoders of the pool. Closing the Set closes none of
// them.
func (p *Pool) OpenSome(
	config configs.Config,
	log *slog.Logger,
	names []string,
	stored []store.Expert,
) (x *Set, failed map[string]error, err error) {
	x = &Set{pool: p, config: config, cache: p.cache, log: log, owners: vectorOwners(stored), stored: stored}
	if len(names) == 0 {
		return x, nil, nil
	}
	if err := x.openRuntime(); err != nil {
		return nil, nil, err
	}
	x.Searched, failed = x.openAll(names)
	return x, failed, nil
}

// Encoders returns an Expert for each bundle that is loaded, by name, for those who count what they
// do.
func (p *Pool) Encoders() (out []*Expert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.shared {
		out = append(out, &Expert{name: s.name, bundle: s.name, Bundle: s.opening.Bundle, Encoder: s.encoder})
	}
	return out
}

// Close ends the encoders, then the runtime. No Set of the pool may be in use. It logs at the level debug how much each
// encoder did, and on how many cores at once.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.all {
		errs = append(errs, s.encoder.Close())
		logStats(p.log, s.name, s.encoder.Stats())
	}
	errs = append(errs, closeAll(p.beside.readers.opened), closeAll(p.beside.rerankers.opened))
	p.all = nil
	clear(p.shared)
	p.beside = besides{}
	if p.runtime != nil {
		errs = append(errs, p.runtime.Close())
		p.runtime = nil
	}
	return errors.Join(errs...)
}

// logStats logs at the level debug what an encoder that was closed did.
func logStats(log *slog.Logger, expert string, did batcher.Stats) {
	log.Debug("encoder closed", "expert", expert, "passages", did.PassageRows, "passage_cores", did.PassageCores,
		"questions", did.QuestionRows, "question_cores", did.QuestionCores)
}

// runtimeOf returns the runtime, which is loaded once.
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

// stampOf returns the stamp of an expert's bundle as it is on disk; ok is false where that cannot be told.
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

// findLoaded returns the encoder that a set would open, if it is loaded and its bundle is as it was.
func (p *Pool) findLoaded(x *Set, name string) *pooled {
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

// openEncoders returns the encoders of bundles: those that are loaded, and the others, which are
// opened together.
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
		s := &pooled{names[i], missing[j], stamp, made[j]}
		p.shared[names[i]] = s
		p.all = append(p.all, s)
	}
	return encoders, errs
}

// openOnce returns what open does, or what another set of the pool opened before. Where open fails, what
// it opened until then is closed, and the next set tries again.
func openOnce[T io.Closer](x *Set, of func(*besides) *once[T], open func() ([]T, error)) ([]T, error) {
	which := &once[T]{}
	if x.pool != nil {
		x.pool.opening.Lock()
		defer x.pool.opening.Unlock()
		which = of(&x.pool.beside)
	}
	if which.done {
		return which.opened, nil
	}
	opened, err := open()
	if err != nil {
		return nil, errors.Join(err, closeAll(opened))
	}
	*which = once[T]{opened, true}
	return opened, nil
}

// closeAll closes all of them, and returns what went wrong.
func closeAll[T io.Closer](all []T) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}
