// Package serving opens a collection with its experts and the engine, and serves
// it over HTTP: it follows the generations of the collection, calibrations and
// experts that come and go, does the jobs, and closes everything in order.
package serving

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

// Options say what is opened, and how.
type Options struct {
	Config   configs.Config
	Log      *slog.Logger
	Observer search.Observer // nil: nobody
	// Uncalibrated leaves the collection's calibration aside, which is about to be
	// made, or is of a version that cannot be read any more.
	Uncalibrated bool
	// Lenient leaves experts out whose bundles are damaged, and every answer says so.
	Lenient bool
}

// Assembly is a collection opened for searching, with its experts and the engine
// on top.
type Assembly struct {
	Collection *collection.Collection
	Experts    *Experts
	Engine     *search.Engine

	options    Options
	made       search.LineUp       // that the engine uses
	warnings   map[string][]string // by expert
	turns      search.Turns        // nil: whoever computes has one
	absent     []search.Missing    // experts whose bundles are damaged
	unwritable error               // why nothing can be written; nil: it can
	record     recordStamp         // of the calibration that lies in the collection
	accepted   *calibration.Record // that the engine was made with; nil: none
	refused    string              // why the one that lies there was not taken
	*following                     // nil where the collection stays as it is
}

// Assemble opens the configured collection with the configured experts, all that
// the collection has where none are named, and refuses what would answer wrongly:
// vectors of another encoder, an index below its floor. Close ends it.
func Assemble(o Options) (*Assembly, error) {
	l := &Assembly{options: o, warnings: map[string][]string{}}
	if err := l.load(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Made is the engine's line-up.
func (l *Assembly) Made() search.LineUp { return l.made }

// Refused says why the collection's calibration is not used; "": it is, or there
// is none.
func (l *Assembly) Refused() string { return l.refused }

func (l *Assembly) load() (err error) {
	config := l.options.Config
	if l.Collection, err = collection.Open(config.Collection); err != nil {
		return fmt.Errorf("opening the collection %s: %w", config.Collection, err)
	}
	g := l.Collection.Acquire()
	defer g.Release()
	if err := g.CheckRecall(Floors(config.Index)); err != nil {
		return err
	}
	names := servedExperts(config, g)
	config.Encoder.Threads = ThreadsOfOne(config, len(names))
	var failed map[string]error
	if l.Experts, failed, err = openSome(config, l.options.Log, names); err != nil {
		return err
	}
	if err := l.spare(failed); err != nil {
		return err
	}
	if err := l.matches(g); err != nil {
		return err
	}
	if l.made, err = l.configure(g); err != nil {
		return err
	}
	l.Engine, err = l.newEngine()
	return err
}

// newEngine is an engine over the collection, with the line-up that was made.
func (l *Assembly) newEngine() (*search.Engine, error) {
	return search.NewEngine(search.Config{
		LineUp: l.made, Corpus: shelf.Of(l.Collection), Limits: limitsOf(l.options.Config.Limits), Observer: l.options.Observer, Turns: l.turns,
	})
}

// matches makes sure that the loaded encoders made the collection's vectors.
func (l *Assembly) matches(g *collection.Generation) error {
	var encoders []collection.Encoder
	for _, e := range l.Experts.opened {
		encoders = append(encoders, e)
	}
	return g.CheckEncoders(encoders...)
}

// makeWith is the line-up with a calibration; nil: with the shipped gate.
func (l *Assembly) makeWith(record *calibration.Record, g *collection.Generation) (search.LineUp, error) {
	experts, late, err := l.describe(g)
	if err != nil {
		return search.LineUp{}, err
	}
	made := search.LineUp{Experts: experts, Late: late, Defaults: defaultsOf(l.options.Config.Search), Absent: l.stillAbsent(g)}
	return made, l.calibrated(&made, record)
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
func (l *Assembly) describe(g *collection.Generation) (out []search.Expert, late *search.Expert, err error) {
	files := g.Experts()
	for _, e := range l.Experts.opened {
		at := slices.IndexFunc(files, func(f collection.ExpertFiles) bool { return f.Name == e.name })
		var own []string
		if why := e.Encoder.Fallback(); why != nil {
			own = append(own, fmt.Sprintf("runs on the processor: %v", why))
		}
		if c := e.Bundle.Calibration; c != nil && c.Encoder != e.Encoder.Fingerprint(models.Question) {
			own = append(own, "its calibration was fitted for another encoder and is left aside: calibrate it again")
		}
		x := search.Expert{Name: e.name, Encoder: e.Encoder, Passages: e, Info: expertInfo(e)}
		x.Info.Warnings = own
		l.warnings[e.name] = append(files[at].Warnings(), own...)
		if ensemble := e.Encoder.Ensemble(); ensemble != nil {
			x.Ensemble = ensemble
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

// DenseOf are the experts that can be searched alone, and fused by any method.
func DenseOf(all []search.ExpertInfo) []search.ExpertInfo {
	return slices.DeleteFunc(all, func(x search.ExpertInfo) bool { return x.Kind == search.KindLate })
}

func expertInfo(e *Expert) search.ExpertInfo {
	m := e.Bundle.Manifest
	info := search.ExpertInfo{
		Dimension: m.Dimension,
		Fingerprints: map[string]string{
			"question": e.Encoder.Fingerprint(models.Question),
			"passage":  e.Encoder.Fingerprint(models.Passage),
		},
		Provider:  e.Encoder.Provider(),
		Precision: m.Precision,
		MaxTokens: map[string]int{"question": m.MaxTokens.Question, "passage": m.MaxTokens.Passage},
	}
	if c := e.Bundle.Calibration; c != nil && c.Encoder == e.Encoder.Fingerprint(models.Question) {
		info.Calibration = &search.CalibrationInfo{
			Temperature: c.Temperature, Depth: c.Depth, ECEBefore: c.ECEBefore, ECEAfter: c.ECEAfter, Questions: c.Questions,
		}
	}
	return info
}

func recallOf(files collection.ExpertFiles) map[string]float64 {
	return map[string]float64{"recall@10": files.Recall.Stored.At10, "recall@100": files.Recall.Stored.At100}
}

// Floors are the configured floors by kind of index.
func Floors(x configs.Index) map[string]float64 {
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
func (l *Assembly) Close() error {
	closing, cancel := context.WithTimeout(context.Background(), closingTime)
	defer cancel()
	if l.Engine != nil {
		if err := l.Engine.Close(closing); err != nil {
			return err
		}
	}
	var errs []error
	if l.following != nil {
		if err := l.settled(closing); err != nil { // line-ups that others took the place of
			return err
		}
		if l.live != nil {
			errs = append(errs, l.closeWriting())
		}
	}
	if l.Experts != nil {
		errs = append(errs, l.Experts.Close())
	}
	if l.Collection != nil {
		errs = append(errs, l.Collection.Close())
	}
	return errors.Join(errs...)
}
