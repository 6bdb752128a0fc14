// Package assembly opens a collection for searching: its store, its experts, and the engine over them,
// with the line-up by its calibration.
package assembly

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.org/conclave/ann"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/stores"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/turn"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// Options select the collection to open and how to open it.
type Options struct {
	Config   configs.Config
	Log      *slog.Logger
	Observer search.Observer // nil: nobody
	At       store.Location  // of the collection; nil: that of Config
	Experts  *experts.Pool   // to load from; nil: the assembly loads its own
	// Uncalibrated leaves the collection's calibration aside, which is about to be
	// made, or is of a version that cannot be read any more.
	Uncalibrated bool
}

// Assembly is a collection opened for searching, with its experts and the engine on top.
type Assembly struct {
	Store   store.Backend
	Experts *experts.Set
	Engine  *search.Engine
	Absent  []Absent // in the order of their names

	options     Options
	calibration calibrationUse
	lineUp      search.LineUp // that the engine uses
	// searched are the experts of lineUp. Start and Renew store another set, also where the experts are the same.
	searched    atomic.Pointer[experts.Set]
	analysis    forms.Analysis  // of the words of Store
	drained     <-chan struct{} // closed when no earlier line-up is in use; nil: there was none
	borrowed    bool            // store and experts are another's
	joined      []store.Backend // of several collections that are searched as one, which have no Store
	joinedNames []string        // of these collections, in their order
}

// Absent is an expert of the collection whose bundle cannot be used.
type Absent struct {
	Name   string
	Cause  error
	Silent bool // it would not be searched, and is needed for writing alone
}

// hasChanged reports whether the expert is left out since the model behind its interface is not that of the collection.
func (x *Absent) hasChanged() bool {
	changed := new(experts.ChangedError)
	return errors.As(x.Cause, &changed)
}

// reason returns in words for users why the expert is left out.
func (x *Absent) reason() string {
	if changed := new(experts.ChangedError); errors.As(x.Cause, &changed) {
		return changed.Advice()
	}
	return "its bundle cannot be used"
}

// New returns an Assembly in which nothing is open. Call Load and then Start; Close ends both.
func New(o Options) *Assembly { return &Assembly{options: o} }

// Open opens the configured collection with the configured experts, or with all that the collection has if none are
// configured, and starts the engine. It fails if answers would be wrong: an expert's vectors are another encoder's, or
// an index is below its recall floor. An expert whose bundle cannot be used is left out, and every answer says so.
// Close ends it.
func Open(o Options) (*Assembly, error) {
	a := New(o)
	err := a.Load()
	if err == nil {
		err = a.Start(nil)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Load opens the collection's store for reading, and then the experts, readers and rerankers. It fails where Open
// would. Call Close also after an error.
func (a *Assembly) Load() (err error) {
	config := a.options.Config
	at := a.options.At
	if at == nil {
		at, err = stores.At(config)
		if err != nil {
			return err
		}
	}
	a.Store, err = at.Open(context.Background(), store.OpenOptions{
		Candidates: config.Limits.Candidates, Floors: Floors(config.Index),
		Warn: func(message string, cause error) { a.options.Log.Warn(message, "cause", cause) },
	})
	if err != nil {
		return err
	}
	words, err := at.Words(context.Background())
	if err != nil {
		return err
	}
	a.analysis = words.Analysis
	contents, done := a.Store.Contents()
	defer done()
	return a.loadExperts(contents)
}

// loadExperts opens the configured experts, readers and rerankers, and adds experts whose bundles cannot be used to
// Absent. It fails if the base or all experts that find passages are among these, if a reader or reranker cannot be
// opened, or if an encoder is not the one that made the stored vectors.
func (a *Assembly) loadExperts(contents store.Contents) (err error) {
	config := a.options.Config
	stored := contents.Experts()
	names := searchedExperts(config, stored)
	config.Encoder.Threads = experts.ThreadsOfOne(config, len(names))
	var failed map[string]error
	open := experts.OpenSome
	if a.options.Experts != nil {
		open = a.options.Experts.OpenSome
	}
	a.Experts, failed, err = open(config, a.options.Log, names, stored)
	if err != nil {
		return err
	}
	if err := errors.Join(a.leaveOut(failed), a.Experts.OpenReaders(), a.Experts.OpenRerankers()); err != nil {
		return err
	}
	var encoders []store.Encoder
	for _, e := range a.Experts.Searched {
		encoders = append(encoders, e)
	}
	return contents.CheckEncoders(encoders...)
}

// searchedExperts returns the names of the experts to search: the configured bundles, or all stored experts if no
// bundles are configured, and the stored ones that are behind a configured interface.
func searchedExperts(config configs.Config, stored []store.Expert) []string {
	var names []string
	for _, x := range config.Bundled() {
		names = append(names, x.Name)
	}
	for _, x := range stored {
		if config.Searches(x.Name) && !slices.Contains(names, x.Name) {
			names = append(names, x.Name)
		}
	}
	return names
}

// leaveOut adds the experts that could not be opened to Absent. It returns their errors instead if the base is among
// them, or no expert that finds passages is left.
func (a *Assembly) leaveOut(failed map[string]error) error {
	var errs []error
	for name, err := range failed {
		if name == shipped.Base || name == shipped.InFull(shipped.Base) || len(a.Experts.Dense()) == 0 {
			errs = append(errs, err)
			continue
		}
		absent := Absent{Name: name, Cause: err}
		message := "an expert is left out: its bundle cannot be used"
		if absent.hasChanged() {
			message = "an expert is left out: its model is another one"
		}
		a.options.Log.Error(message, "expert", name, "cause", err)
		a.Absent = append(a.Absent, absent)
	}
	slices.SortFunc(a.Absent, func(x, y Absent) int { return strings.Compare(x.Name, y.Name) })
	return errors.Join(errs...)
}

// Start makes the engine over the open store and experts, after Load. turns may be nil: every search then computes
// at once. It fails if the defaults or the line-up cannot be used. Call Close also after an error.
func (a *Assembly) Start(turns turn.Turns) (err error) {
	a.lineUp, err = a.newLineUp()
	if err != nil {
		return err
	}
	a.Engine, err = search.NewEngine(
		search.EngineConfig{LineUp: a.lineUp, Corpus: a.Store, Limits: capacity.Limits(a.options.Config.Limits),
			Observer: a.options.Observer, Turns: turns},
	)
	a.tellSearched()
	return err
}

// tellSearched stores a copy of the experts that searches use now, for unions (Unite).
func (a *Assembly) tellSearched() {
	a.searched.Store(a.Experts.Only(func(*experts.Expert) bool { return true }))
}

// ForFitting returns an Assembly over the same open store and experts, with the limits of config and without the
// collection's calibration, for fitting a new one. Its Close ends only its engine, and must come before that of a. The
// experts must not change meanwhile. It fails if the engine cannot be started.
func (a *Assembly) ForFitting(config configs.Config) (*Assembly, error) {
	own := &Assembly{
		Store: a.Store, Experts: a.Experts, Absent: a.Absent, options: a.options, borrowed: true, analysis: a.analysis,
	}
	own.options.Config, own.options.Uncalibrated = config, true
	if err := own.Start(nil); err != nil {
		return nil, err
	}
	return own, nil
}

// Renew lets new searches use the experts and the calibration as they are now. Searches under way go on with the
// earlier line-up (Drained). After an error all searches go on with it. Call it after Start, by one goroutine at a
// time.
func (a *Assembly) Renew() error {
	made, err := a.newLineUp()
	if err != nil {
		return err
	}
	drained, err := a.Engine.Use(made)
	if err != nil {
		return err
	}
	a.lineUp, a.drained = made, drained
	a.tellSearched()
	return nil
}

// Dense describes the experts of the engine in their order, except those of late interaction, which only reorder hits.
func (a *Assembly) Dense() []learned.ExpertInfo {
	return slices.DeleteFunc(a.Engine.Experts(), func(x learned.ExpertInfo) bool { return x.Kind == reply.KindLate })
}

// Drained returns a channel that is closed when no search uses the line-up before the last Renew; nil, from which
// nothing is ever received, before the first Renew.
func (a *Assembly) Drained() <-chan struct{} { return a.drained }

// LineUp returns the experts, readers, rerankers and defaults that the engine uses.
func (a *Assembly) LineUp() search.LineUp { return a.lineUp }

// Refused returns a message that says why the collection's calibration is not used; "" if it is, or if there is none.
func (a *Assembly) Refused() string { return a.calibration.refused }

// TryRecord returns an error if searches could not use this calibration with the experts that are open. It changes
// nothing.
func (a *Assembly) TryRecord(record *calibration.Record) error {
	_, err := a.lineUpWith(record)
	return err
}

// closingTime bounds what the engine may still be doing once nobody waits for
// an answer: a source that came too late for its request.
const closingTime = 5 * time.Second

// Close closes the engine, the store and the experts, in this order. If a search still runs after closingTime, it
// returns an error and leaves store and experts open, since closing them under the search would crash. One of
// ForFitting closes its engine alone.
func (a *Assembly) Close() error {
	if a.Engine != nil {
		closing, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		if err := a.Engine.Close(closing); err != nil {
			return err
		}
	}
	if a.borrowed {
		return nil
	}
	var errs []error
	if a.Store != nil {
		errs = append(errs, a.Store.Close()) // before the encoders, with which it writes
	}
	if a.Experts != nil {
		errs = append(errs, a.Experts.Close())
	}
	return errors.Join(errs...)
}

// Floors returns the configured recall@10 below which an index is refused, by kind of index.
func Floors(x configs.Index) map[string]float64 {
	return map[string]float64{ann.HNSW: x.Floors.HNSW, ann.Flat: x.Floors.Flat, ann.Coder: x.Floors.Coder}
}

// defaultsOf returns the configured defaults of searches as the engine takes them.
func defaultsOf(s configs.Search) search.Defaults {
	return search.Defaults{
		K: s.K, Candidates: s.Candidates, Timeout: s.Timeout, Fusion: s.Fusion, Missing: fusion.Missing(s.Missing),
		Alpha: s.Alpha, Correct: s.Correct, Rerank: s.Rerank,
	}
}

// IsAbsent reports whether the named expert is left out because its bundle cannot be used.
func (a *Assembly) IsAbsent(name string) bool {
	return slices.ContainsFunc(a.Absent, func(x Absent) bool { return x.Name == name })
}

// AbsentBut returns the experts in Absent except the named one.
func (a *Assembly) AbsentBut(name string) []Absent {
	return slices.DeleteFunc(slices.Clone(a.Absent), func(x Absent) bool { return x.Name == name })
}
