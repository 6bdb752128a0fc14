package search

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/fault"
)

// LineUp is everything that changes when an expert joins or leaves, or with a new
// calibration: the experts that are asked, and how their answers are fused by default. What
// changes with a generation comes from the Corpus.
type LineUp struct {
	Experts []Expert // in the order in which answers name them
	// Late is an expert whose encoder gives a question a vector for each token, as
	// one list: late interaction. It takes part in the gate where that weighs it.
	// Nil: none.
	Late     *Expert
	Defaults Defaults // zero values: see Defaults
	// Readers mark the words that answer; the first does so where a request names none.
	Readers []LoadedReader
	// Rerankers score the first passages; the first does so where a request names none.
	Rerankers []LoadedReranker
	// Absent are experts of the collection that cannot be searched, and why. The answer to
	// a request that does not name its experts lists them under Degraded.
	Absent []Missing
	// Reference is the expert whose vectors of questions the experts'
	// Representatives were made with, "" when there is none: then familiarity
	// is not known.
	Reference string
}

// lineUp is a LineUp that was checked. It never changes, and it counts who uses it.
type lineUp struct {
	*Engine
	sources    []source // in the order in which answers name them, the experts first
	experts    []*dense
	late       *late  // nil: there is none
	reference  *dense // whose vectors familiarity is measured with; nil: nobody's
	readers    []LoadedReader
	rerankers  []LoadedReranker
	generalist *Expert         // that says how much of a question it can read; nil: none does
	methods    []fusion.Method // that there are
	defaults   Defaults
	absent     []Missing
	language   func() *spelling.Language // whose words a question may have; nil: none is known

	// users are the requests, the sources that outlive theirs, one while it is the
	// current line-up, and one while the line-up before it has users. drained is
	// closed when there are none; then next, if there is one, loses a user.
	users   atomic.Int64
	drained chan struct{}
	next    *lineUp
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
		Engine:     e,
		methods:    fusion.Methods(),
		defaults:   x.Defaults,
		absent:     x.Absent,
		readers:    x.Readers,
		rerankers:  x.Rerankers,
		generalist: firstGeneralist(x.Experts),
		drained:    make(chan struct{}),
	}
	l.language = sync.OnceValue(func() *spelling.Language { return languageOf(l.generalist) })
	l.users.Store(1)
	for i := range x.Experts {
		l.addExpert(&x.Experts[i], x.Reference)
	}
	for _, one := range l.experts {
		one.base = l.reference != nil && one.Head == nil && one.encoder == l.reference.encoder &&
			(one.Granularity == "" || one == l.reference)
	}
	l.chooseGranularities()
	l.sources = append(l.sources,
		&bm25{identity: identity{WordSource, KindLexical, x.Defaults.WordsChance}},
		&phrases{identity{PhraseSource, KindLexical, nil}})
	if x.Late != nil {
		l.late = &late{identity: identity{x.Late.Name, KindLate, nil}, Expert: x.Late, contentWords: &e.contentWords}
		l.sources = append(l.sources, l.late)
	}
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

// chooseGranularities keeps those that calibration chose, or else all.
func (l *lineUp) chooseGranularities() {
	for _, x := range l.experts {
		chosen := l.defaults.Granularities
		x.granular = x.Granularity != "" && (len(chosen) == 0 || slices.Contains(chosen, x.Name))
	}
}

// checkSources refuses sources of one name, and more than can be fused.
func (l *lineUp) checkSources() error {
	if len(l.sources) > fusion.MaxSources {
		return fmt.Errorf("search: %d sources, at most %d are possible", len(l.sources), fusion.MaxSources)
	}
	names := map[string]bool{"": true}
	for _, x := range l.sources {
		if names[x.name()] {
			return fmt.Errorf(
				"search: a source of kind %s is called %q: a name that no other source has is needed",
				x.kind(),
				x.name(),
			)
		}
		names[x.name()] = true
	}
	return nil
}

// addExpert adds an expert, which shares an encoder with those before it that one run
// serves.
func (l *lineUp) addExpert(x *Expert, reference string) {
	own := &dense{
		identity: identity{x.Name, x.Info.Kind, x.Chance},
		Expert:   x,
		number:   len(l.experts),
		encoder:  len(l.experts),
	}
	if same := slices.IndexFunc(l.experts, func(other *dense) bool { return sameEncoder(x, other.Expert) }); same >= 0 {
		own.encoder = l.experts[same].encoder
	}
	if x.Name == reference {
		l.reference = own
	}
	l.experts, l.sources = append(l.experts, own), append(l.sources, own)
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
	next.hold() // by the one before
	before.next = next
	e.current.Store(next)
	before.leave()
	return before.drained, nil
}

// Close refuses new requests and waits until the running ones have ended, and
// with them every source that outlived its request, or until ctx is done. Then
// encoders and corpus may be closed.
func (e *Engine) Close(ctx context.Context) error {
	e.swapping.Lock()
	last := e.current.Load()
	if !e.closed.Swap(true) {
		last.leave()
	}
	e.swapping.Unlock()
	select {
	case <-last.drained:
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
		l := e.current.Load()
		for n := l.users.Load(); n > 0; n = l.users.Load() {
			if l.users.CompareAndSwap(n, n+1) {
				return l, nil
			}
		}
	}
	return nil, errClosed()
}

// hold counts one more user of a line-up that is in use.
func (l *lineUp) hold() { l.users.Add(1) }

// leave counts a user out.
func (l *lineUp) leave() {
	for l != nil && l.users.Add(-1) == 0 {
		close(l.drained)
		l = l.next
	}
}

// Expert is a way from a question to a ranking, as loaded.
type Expert struct {
	// Name is unique among the experts, and neither "bm25" nor "phrases".
	Name string
	// Encoder may be shared: experts with the same Encoder, or with the same
	// Info.Fingerprints["run"] or, without that, ["question"], encode a question once.
	Encoder QuestionEncoder
	// Head changes what Encoder gives a question; nil: the expert searches by that.
	Head Head
	// Passages encodes passages for Embed and Rerank. Nil: they are refused.
	Passages PassageEncoder
	// Similarity scores the token vectors of a passage for those of a question, as the
	// index of late interaction does; nil: Rerank is refused.
	Similarity func(question, passage []float32) (float32, error)
	// Ensemble gives the expert a confidence when Info.Calibration says with
	// which temperature and depth. Nil: it has none.
	Ensemble Ensemble
	// Representatives are questions of the expert's domain, [R, D], as the
	// engine's Reference encodes questions; nil for a generalist. How near a
	// question is to them is the expert's familiarity with it.
	Representatives []float32
	// Chance is the calibrated chance that the expert's own first hit answers;
	// nil where nobody calibrated it.
	Chance Chance
	// Granularity says how large the parts of passages are that the expert's vectors
	// are of, where it is one of several granularities of an encoder; "" for others.
	Granularity string
	// Info is what Engine.Expert answers, but for its Name and EnsembleMembers, and
	// for what depends on the generation: that comes from the View.
	Info ExpertInfo
}
