package search

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// LineUp is what changes when an expert joins or leaves, or with a new calibration: the experts, other models, and how
// their results are fused by default. What changes with a generation comes from the Corpus.
type LineUp struct {
	Experts []learned.Expert // in the order in which answers name them
	// Late are the experts of late interaction, whose encoders give a question a vector for each token. One takes part
	// in a question: it reads its language and belongs to the encoder that is asked. The gate uses it if it was fitted
	// with late interaction.
	Late     []learned.Expert
	Defaults Defaults
	// Readers are the readers and generators; a request that names none gets the first.
	Readers []learned.LoadedReader
	// Rerankers are the rerankers; a request that names none gets the first.
	Rerankers []learned.LoadedReranker
	// Absent are experts of the collection that cannot be searched, and why. Responses to requests that name no experts
	// list them under Degraded.
	Absent []reply.Missing
	// Reference is the name of the expert by which the experts' Representatives were encoded; "": there is none, and
	// familiarity is not known.
	Reference string
}

// lineUp is a LineUp in use, with its sources. It does not change, apart from the topics that it remembers and the
// count of its users.
type lineUp struct {
	panel     *sources.Panel
	corpus    storage.Corpus
	limits    Limits
	observer  Observer
	rules     answering.Rules
	readers   []learned.LoadedReader
	rerankers []learned.LoadedReranker
	methods   []fusion.Method // all fusion methods
	defaults  Defaults
	absent    []reply.Missing
	language  func() *spelling.Language // returns the words that are never misspelt; it may return nil
	overrides overrides
	topics    topics
}

// Check returns an error if an engine with these limits would refuse the line-up: it is invalid, or could not answer by
// the method of Defaults.Auto. It opens nothing.
func (c LineUp) Check(limits Limits) error {
	if err := limits.checkBounds(); err != nil {
		return err
	}
	_, err := (&Engine{limits: limits}).newLineUp(c)
	return err
}

// newLineUp returns a line-up for use by the engine. It fails if the line-up is invalid or cannot answer by the method
// of Defaults.Auto.
func (e *Engine) newLineUp(x LineUp) (*lineUp, error) {
	x.Experts, x.Late = slices.Clone(x.Experts), slices.Clone(x.Late)
	if err := x.complete(e.limits); err != nil {
		return nil, err
	}
	l := &lineUp{
		panel: sources.NewPanel(sources.PanelOptions{
			Experts: x.Experts, Late: x.Late, Reference: x.Reference, Granularities: x.Defaults.Granularities,
			WordsChance: x.Defaults.WordsChance, Symbols: x.Defaults.Gate != nil && x.Defaults.Gate.Symbols != 0,
			Run: e.run, Words: &e.contentWords,
		}),
		corpus:    e.corpus,
		limits:    e.limits,
		observer:  e.observer,
		rules:     rulesOf(&x.Defaults, e.limits, &e.contentWords, &e.tables),
		methods:   fusion.Methods(),
		defaults:  x.Defaults,
		absent:    x.Absent,
		readers:   x.Readers,
		rerankers: x.Rerankers,
		overrides: newOverrides(x.Defaults.Overrides),
	}
	l.language = sync.OnceValue(func() *spelling.Language { return question.LanguageOf(l.panel.Generalist) })
	if err := l.checkSources(); err != nil {
		return nil, err
	}
	if err := l.canAnswer(MethodAuto); err != nil {
		return nil, fmt.Errorf(
			"search: defaults.auto is %s, by which this collection cannot be searched: %w", l.defaults.Auto, err,
		)
	}
	return l, nil
}

// checkSources returns an error if two sources have the same name, one has none, or there are more than can be fused.
func (l *lineUp) checkSources() error {
	if len(l.panel.Sources) > fusion.MaxSources {
		return fmt.Errorf("search: %d sources, at most %d are possible", len(l.panel.Sources), fusion.MaxSources)
	}
	names := map[string]bool{"": true}
	for _, x := range l.panel.Sources {
		if names[x.Name()] {
			return fmt.Errorf(
				"search: a source of kind %s is called %q: a name that no other source has is needed", x.Kind(),
				x.Name(),
			)
		}
		names[x.Name()] = true
	}
	return nil
}

// Use replaces the line-up for new requests; running ones keep theirs. If the line-up is invalid or the engine is
// closed, it returns an error and changes nothing. drained is closed when no request uses any earlier line-up, so that
// encoders which only those have may be closed.
func (e *Engine) Use(x LineUp) (drained <-chan struct{}, err error) {
	next, err := e.newLineUp(x)
	if err != nil {
		return nil, err
	}
	e.swapping.Lock()
	defer e.swapping.Unlock()
	if e.closed.Load() {
		return nil, errClosed()
	}
	before := e.current.Load()
	next.panel.Users.Hold() // by the one before
	before.panel.Users.Next = next.panel.Users
	e.current.Store(next)
	before.panel.Users.Leave()
	return before.panel.Users.Drained, nil
}

// Close makes the engine refuse new requests and waits until running ones have ended, and every source that outlived
// its request. Then encoders and corpus may be closed. It returns an error if ctx ends first. It may be called again,
// to wait once more.
func (e *Engine) Close(ctx context.Context) error {
	e.swapping.Lock()
	last := e.current.Load()
	if !e.closed.Swap(true) {
		last.panel.Users.Leave()
	}
	e.swapping.Unlock()
	select {
	case <-last.panel.Users.Drained:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("searches are still running: %w", ctx.Err())
	}
}

// errClosed returns the error of a request to a closed engine.
func errClosed() *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: "shutting_down", Detail: "the server is shutting down"}
}

// useLineUp returns the current line-up and makes the request its user. The caller has to call panel.Users.Leave on it.
// It fails if the engine is closed. The error is of kind Unavailable.
func (e *Engine) useLineUp() (*lineUp, error) {
	for !e.closed.Load() {
		if l := e.current.Load(); l.panel.Users.Enter() {
			return l, nil
		}
	}
	return nil, errClosed()
}

// rulesOf returns the rules for answers of a line-up with these defaults and limits.
func rulesOf(d *Defaults, l Limits, words *content.Words, tables *sync.Pool) answering.Rules {
	return answering.Rules{
		Alpha: d.Alpha, Sharpness: d.Sharpness, CCE: d.CCE, Gate: d.Gate, GateWithoutLate: d.GateWithoutLate,
		Chances: d.Chances, ChancesBasis: d.ChancesBasis, Answerability: d.Answerability, Foreign: d.Foreign,
		AnswerBytes: l.AnswerBytes, Words: words, Tables: tables,
	}
}
