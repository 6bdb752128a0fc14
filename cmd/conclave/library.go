package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"conclave/ann"
	"conclave/calibration"
	"conclave/collection"
	"conclave/configs"
	"conclave/fusion"
	"conclave/models"
	"conclave/search"
	"conclave/shelf"
)

// library is a collection opened for searching, with its experts and the
// engine on top.
type library struct {
	collection *collection.Collection
	experts    *experts
	engine     *search.Engine
	made       search.Config       // what the engine was made of
	warnings   map[string][]string // by expert
	turns      search.Turns        // nil: whoever computes has one
	// uncalibrated: the collection's calibration is left aside.
	uncalibrated bool
	// lenient: experts whose bundles are damaged are left out; absent names them.
	lenient    bool
	absent     []search.Missing
	unwritable error               // why nothing can be written; nil: it can
	record     recordStamp         // of the calibration that lies in the collection
	accepted   *calibration.Record // that the engine was made with; nil: none
	refused    string              // why the one that lies there was not taken
	*following                     // nil where the collection stays as it is
}

// openLibrary opens the configured collection with the configured experts, all
// that the collection has where none are named, and refuses what would answer
// wrongly: vectors of another encoder, an index below its floor. What it returns
// is to be closed, also beside an error.
func openLibrary(config configs.Config, log *slog.Logger, observer search.Observer) (*library, error) {
	l := &library{warnings: map[string][]string{}}
	return l, l.load(config, log, observer)
}

// openUncalibrated is the same without the collection's calibration, which is
// about to be made, or of a version that cannot be read any more.
func openUncalibrated(config configs.Config, log *slog.Logger, observer search.Observer) (*library, error) {
	l := &library{warnings: map[string][]string{}, uncalibrated: true}
	return l, l.load(config, log, observer)
}

func (l *library) load(config configs.Config, log *slog.Logger, observer search.Observer) (err error) {
	if l.collection, err = collection.Open(config.Collection); err != nil {
		return fmt.Errorf("opening the collection %s: %w", config.Collection, err)
	}
	g := l.collection.Acquire()
	defer g.Release()
	if err := g.CheckRecall(floorsOf(config.Index)); err != nil {
		return err
	}
	names := servedExperts(config, g)
	config.Encoder.Threads = threadsOfOne(config, len(names))
	var failed map[string]error
	if l.experts, failed, err = openSome(config, log, names); err != nil {
		return err
	}
	if err := l.spare(failed, l.experts, log); err != nil {
		return err
	}
	if err := l.matches(g); err != nil {
		return err
	}
	if l.made, err = l.configure(g, config, log, observer); err != nil {
		return err
	}
	l.engine, err = search.NewEngine(l.made)
	return err
}

// matches makes sure that the loaded encoders made the collection's vectors.
func (l *library) matches(g *collection.Generation) error {
	var encoders []collection.Encoder
	for _, e := range l.experts.opened {
		encoders = append(encoders, e)
	}
	return g.CheckEncoders(encoders...)
}

// makeWith is what the engine is made of, with a calibration; nil: the shipped
// gate.
func (l *library) makeWith(record *calibration.Record, g *collection.Generation, config configs.Config, log *slog.Logger, observer search.Observer) (search.Config, error) {
	experts, late, err := l.describe(g)
	if err != nil {
		return search.Config{}, err
	}
	made := search.Config{
		Corpus:   shelf.Of(l.collection),
		Experts:  experts,
		Late:     late,
		Limits:   limitsOf(config.Limits),
		Defaults: defaultsOf(config.Search),
		Observer: observer,
		Turns:    l.turns,
		Absent:   l.stillAbsent(g),
	}
	return made, l.calibrated(&made, record, log)
}

// servedExperts are the names of the experts to search with.
func servedExperts(config configs.Config, g *collection.Generation) []string {
	var names []string
	for _, x := range config.Experts {
		names = append(names, x.Name)
	}
	if len(names) == 0 {
		for _, x := range g.Experts() {
			names = append(names, x.Name)
		}
	}
	return names
}

// describe makes the engine's experts of what was loaded and what the
// collection knows of their indexes. One of them may be late interaction.
func (l *library) describe(g *collection.Generation) (out []search.Expert, late *search.Expert, err error) {
	files := g.Experts()
	for _, e := range l.experts.opened {
		at := slices.IndexFunc(files, func(f collection.ExpertFiles) bool { return f.Name == e.name })
		l.warnings[e.name] = files[at].Warnings()
		if why := e.encoder.Fallback(); why != nil {
			l.warnings[e.name] = append(l.warnings[e.name], fmt.Sprintf("runs on the processor: %v", why))
		}
		if c := e.bundle.Calibration; c != nil && c.Encoder != e.encoder.Fingerprint(models.Question) {
			l.warnings[e.name] = append(l.warnings[e.name], "its calibration was fitted for another encoder and is left aside: calibrate it again")
		}
		x := search.Expert{Name: e.name, Encoder: e.encoder, Passages: e, Info: expertInfo(e, files[at])}
		x.Info.Warnings = l.warnings[e.name]
		if e.encoder.EnsembleMembers() > 0 {
			x.Ensemble = e.encoder
		}
		switch {
		case !e.Late():
			out = append(out, x)
		case late != nil:
			return nil, nil, fmt.Errorf("%s and %s are both experts of late interaction, of which one can take part: name the experts to search with under experts in the configuration, or take one out with conclave index --remove-expert", late.Name, x.Name)
		default:
			late = &x
		}
	}
	return out, late, nil
}

// denseOf are the experts that can be searched alone, and fused by any method.
func denseOf(all []search.ExpertInfo) []search.ExpertInfo {
	return slices.DeleteFunc(all, func(x search.ExpertInfo) bool { return x.Kind == search.KindLate })
}

func expertInfo(e *expert, files collection.ExpertFiles) search.ExpertInfo {
	m := e.bundle.Manifest
	info := search.ExpertInfo{
		Dimension: m.Dimension,
		Index:     files.Index.Kind,
		Passages:  files.Passages,
		Fingerprints: map[string]string{
			"question": e.encoder.Fingerprint(models.Question),
			"passage":  e.encoder.Fingerprint(models.Passage),
		},
		Provider:  e.encoder.Provider(),
		Precision: m.Precision,
		MaxTokens: map[string]int{"question": m.MaxTokens.Question, "passage": m.MaxTokens.Passage},
		Recall:    recallOf(files),
	}
	if c := e.bundle.Calibration; c != nil && c.Encoder == e.encoder.Fingerprint(models.Question) {
		info.Calibration = &search.CalibrationInfo{
			Temperature: c.Temperature, Depth: c.Depth, ECEBefore: c.ECEBefore, ECEAfter: c.ECEAfter, Questions: c.Questions,
		}
	}
	return info
}

func recallOf(files collection.ExpertFiles) map[string]float64 {
	return map[string]float64{"recall@10": files.Recall.Stored.At10, "recall@100": files.Recall.Stored.At100}
}

// floorsOf are the configured floors by kind of index.
func floorsOf(x configs.Index) map[string]float64 {
	return map[string]float64{ann.HNSW: x.Floors.HNSW, ann.Flat: x.Floors.Flat, ann.Coder: x.Floors.Coder}
}

func limitsOf(l configs.Limits) search.Limits {
	return search.Limits{
		K: l.K, Candidates: l.Candidates, QuestionBytes: int(l.QuestionBytes), Timeout: l.Timeout,
		Batch: l.Batch, BatchParallel: l.BatchParallel, EmbedInputs: l.EmbedInputs, EmbedBytes: int(l.EmbedBytes), AnswerBytes: int(l.AnswerBytes),
	}
}

func defaultsOf(s configs.Search) search.Defaults {
	return search.Defaults{
		K: s.K, Candidates: s.Candidates, Timeout: s.Timeout, Fusion: s.Fusion, Missing: s.Missing,
		Hybrid: &fusion.HybridOptions{Alpha: s.Alpha},
	}
}

// closingTime bounds what the engine may still be doing once nobody waits for
// an answer: a source that came too late for its request.
const closingTime = 5 * time.Second

// Close ends everything, the engine first. Where something still runs in the
// engine, what it uses stays open: closing a session under it would crash.
func (l *library) Close() error {
	closing, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	if l.engine != nil {
		if err := l.engine.Close(closing); err != nil {
			return err
		}
	}
	var errs []error
	if l.following != nil {
		if err := l.settled(closing); err != nil { // engines that others took the place of
			return err
		}
		if l.live != nil {
			errs = append(errs, l.closeWriting())
		}
	}
	if l.experts != nil {
		errs = append(errs, l.experts.Close())
	}
	if l.collection != nil {
		errs = append(errs, l.collection.Close())
	}
	return errors.Join(errs...)
}
