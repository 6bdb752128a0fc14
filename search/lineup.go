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

// LineUp is everything that changes when an expert joins or leaves, or with a new
// calibration: the experts that are asked, and how their answers are fused by default. What
// changes with a generation comes from the Corpus.
type LineUp struct {
	Experts []learned.Expert // in the order in which answers name them
	// Late is an expert whose encoder gives a question a vector for each token, as
	// one list: late interaction. It takes part in the gate where that weighs it.
	// Nil: none.
	Late     *learned.Expert
	Defaults Defaults // zero values: see Defaults
	// Readers mark the words that answer; the first does so where a request names none.
	Readers []learned.LoadedReader
	// Rerankers score the first passages; the first does so where a request names none.
	Rerankers []learned.LoadedReranker
	// Absent are experts of the collection that cannot be searched, and why. The answer to
	// a request that does not name its experts lists them under Degraded.
	Absent []reply.Missing
	// Reference is the expert whose vectors of questions the experts'
	// Representatives were made with, "" when there is none: then familiarity
	// is not known.
	Reference string
}

// lineUp is a LineUp that was checked. It never changes but for what it remembers, and it counts who uses it.
type lineUp struct {
	panel     *sources.Panel
	corpus    storage.Corpus
	limits    Limits
	observer  Observer
	rules     answering.Rules
	readers   []learned.LoadedReader
	rerankers []learned.LoadedReranker
	methods   []fusion.Method // that there are
	defaults  Defaults
	absent    []reply.Missing
	language  func() *spelling.Language // whose words a question may have; nil: none is known
	topics    topics                    // of conversations
}

// Check returns an error where an engine with these limits would refuse the line-up: it is not
// whole, or could not answer by its default method. It opens nothing.
func (c LineUp) Check(limits Limits) error {
	if err := limits.check(); err != nil {
		return err
	}
	_, err := (&Engine{limits: limits}).newLineUp(c)
	return err
}

// newLineUp checks a line-up, and that searches by its default method are answered.
func (e *Engine) newLineUp(x LineUp) (*lineUp, error) {
	x.Experts = slices.Clone(x.Experts)
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
	}
	l.language = sync.OnceValue(func() *spelling.Language { return question.LanguageOf(l.panel.Generalist) })
	if err := l.checkSources(); err != nil {
		return nil, err
	}
	if err := l.canAnswer(MethodAuto); err != nil {
		return nil, fmt.Errorf(
			"search: defaults.auto is %s, by which this collection cannot be searched: %w",
			l.defaults.Auto,
			err,
		)
	}
	return l, nil
}

// checkSources refuses sources of one name, and more than can be fused.
func (l *lineUp) checkSources() error {
	if len(l.panel.Sources) > fusion.MaxSources {
		return fmt.Errorf("search: %d sources, at most %d are possible", len(l.panel.Sources), fusion.MaxSources)
	}
	names := map[string]bool{"": true}
	for _, x := range l.panel.Sources {
		if names[x.Name()] {
			return fmt.Errorf(
				"search: a source of kind %s is called %q: a name that no other source has is needed",
				x.Kind(),
				x.Name(),
			)
		}
		names[x.Name()] = true
	}
	return nil
}

// Use puts another line-up in the place of the current one, without a pause: requests
// under way keep the one that they began with. One that the engine cannot answer by
// is an error and changes nothing. drained is closed when nobody uses any earlier
// line-up any more, so that encoders which only those have may be closed.
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

// Close refuses new requests and waits until the running ones have ended, and
// with them every source that outlived its request, or until ctx is done. Then
// encoders and corpus may be closed.
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

func errClosed() *fault.Error {
	return &fault.Error{Kind: fault.Unavailable, Code: "shutting_down", Detail: "the server is shutting down"}
}

// begin returns the current line-up for a request, which leaves it at its end; an error
// when the engine is closing.
func (e *Engine) begin() (*lineUp, error) {
	for !e.closed.Load() {
		if l := e.current.Load(); l.panel.Users.Enter() {
			return l, nil
		}
	}
	return nil, errClosed()
}

// rulesOf returns the rules of a line-up with these defaults.
func rulesOf(d *Defaults, l Limits, words *content.Words, tables *sync.Pool) answering.Rules {
	return answering.Rules{
		Alpha: d.Alpha, Sharpness: d.Sharpness, CCE: d.CCE, Gate: d.Gate, GateWithoutLate: d.GateWithoutLate,
		Chances: d.Chances, ChancesBasis: d.ChancesBasis, Answerability: d.Answerability,
		AnswerBytes: l.AnswerBytes, Words: words, Tables: tables,
	}
}
