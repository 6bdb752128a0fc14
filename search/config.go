package search

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
)

// EngineConfig is what an Engine is made of.
type EngineConfig struct {
	LineUp   // to begin with
	Corpus   storage.Corpus
	Limits   Limits
	Observer Observer   // nil: nobody listens
	Turns    turn.Turns // nil: everybody computes at once
}

// Limits bound what one request may ask for.
type Limits struct {
	K             int           // results
	Candidates    int           // hits of each source
	QuestionBytes int           // length of a question in UTF-8
	Timeout       time.Duration // of a search; Embed has this much
	Batch         int           // searches of a batch
	BatchParallel int           // searches of a batch that run at once
	EmbedInputs   int           // texts of an Embed
	EmbedBytes    int           // length of one of them in UTF-8
	AnswerBytes   int           // of an answer, as AnswerBytes counts
}

// Defaults are what a request gets that does not say otherwise, within the limits; in
// parentheses what a zero means.
type Defaults struct {
	K          int
	Candidates int
	Timeout    time.Duration
	Fusion     string
	Missing    fusion.Missing
	Correct    bool // mistyped words
	Rerank     bool // by the first reranker, where there is one
	// Synonyms are searched for beside the words of a question, and Fields are the declared types of fields
	// of metadata.
	Synonyms []ask.Synonyms
	Fields   conditions.Types
	// Alpha is BM25's weight in the hybrid; a request's "weights" for BM25 replaces it.
	Alpha float64
	// Sharpness is the power of the experts' confidences by which muf and hybrid weigh them;
	// (fusion.DefaultSharpness).
	Sharpness float64
	// Auto is the method behind "auto": what calibration wrote for the
	// collection, and ("rrf") before there is any.
	Auto string
	// Gate weighs sources by question for the method "gate"; nil refuses the method.
	Gate *fusion.Gate
	// GateWithoutLate takes Gate's place where late interaction takes no part in
	// an answer; nil: Gate does that too. Chances are those of Gate.
	GateWithoutLate *fusion.Gate
	// CCE is what cce ranks by, as it was calibrated, and Granularities are the names of
	// the experts that it takes; none: all that have a granularity.
	CCE           fusion.CCEOptions
	Granularities []string
	// Specialists is how many specialists the gate asks, the most familiar with
	// the question. 0: all.
	Specialists int
	// Chances are the calibrated confidences of the gate's answers; nil: nobody
	// calibrated them.
	Chances fusion.Chances
	// ChancesBasis says where the Chances come from; (BasisCalibrated).
	ChancesBasis string
	// Answerability is how verdicts are reached on the gate's answers; nil: there are none.
	Answerability *learned.Answerability
	// ConfidenceAUROC is, by method, the chance that of a right and a wrong first passage
	// the right one has the higher confidence; a method that is not named: not known.
	ConfidenceAUROC map[string]float64
	// Reliability is how often the first passage of the gate's answers was right, by
	// confidence, the lowest first; nil: not known for this collection.
	Reliability []learned.ReliabilityBin
	// WordsChance is the calibrated chance that BM25's own first hit answers; nil
	// likewise.
	WordsChance learned.Chance
}

// complete fills in what is left out and refuses what cannot work.
func (c *EngineConfig) complete() error {
	if c.Corpus == nil {
		return errors.New("search: a corpus is needed")
	}
	if c.Observer == nil {
		c.Observer = NoObserver{}
	}
	if c.Turns == nil {
		c.Turns = turn.Unlimited{}
	}
	return c.Limits.check()
}

// check refuses limits that let nothing through.
func (l Limits) check() error {
	if min(l.K, l.Candidates, l.QuestionBytes, l.Batch, l.BatchParallel, l.EmbedInputs, l.EmbedBytes, l.AnswerBytes) < 1 {
		return fmt.Errorf("search: limits have to be at least 1: %+v", l)
	}
	return nil
}

// complete fills in what is left out and refuses what cannot work within limits.
func (c *LineUp) complete(l Limits) error {
	d := &c.Defaults
	d.Auto = cmp.Or(d.Auto, fusion.MethodRRF)
	d.Sharpness = cmp.Or(d.Sharpness, fusion.DefaultSharpness)
	d.ChancesBasis = cmp.Or(d.ChancesBasis, reply.BasisCalibrated)
	switch {
	case d.K < 1 || d.K > l.K:
		return fmt.Errorf("search: defaults.k is %d: it has to be from 1 to its limit of %d", d.K, l.K)
	case d.Candidates < 1 || d.Candidates > l.Candidates:
		return fmt.Errorf(
			"search: defaults.candidates is %d: it has to be from 1 to its limit of %d",
			d.Candidates,
			l.Candidates,
		)
	case d.Timeout < time.Millisecond || d.Timeout > l.Timeout:
		return fmt.Errorf("search: defaults.timeout is %v: it has to be from 1ms to its limit of %v", d.Timeout, l.Timeout)
	case !slices.Contains(MethodNames(), d.Fusion):
		return fmt.Errorf("search: defaults.fusion is %q: %s are known", d.Fusion, wording.List(MethodNames()))
	case d.Auto == fusion.MethodGate && d.Gate == nil:
		return errors.New("search: defaults.auto is gate, and there is no gate")
	case !slices.Contains(fusion.MethodNames(nil), d.Auto):
		return fmt.Errorf(
			"search: defaults.auto is %q: one of %s is meant, other than auto",
			d.Auto,
			wording.List(MethodNames()),
		)
	case !slices.Contains(missings(), d.Missing):
		return fmt.Errorf("search: defaults.missing is %q: %s are known", d.Missing, wording.List(missings()))
	case d.Specialists < 0:
		return fmt.Errorf("search: defaults.specialists is %d: it has to be 0 or more", d.Specialists)
	case !(d.Alpha >= 0 && d.Alpha <= fusion.MaxWeight):
		return fmt.Errorf("search: the hybrid's alpha is %v: it has to be from 0 to %g", d.Alpha, float64(fusion.MaxWeight))
	}
	for _, g := range []*fusion.Gate{d.Gate, d.GateWithoutLate} {
		if g == nil {
			continue
		}
		if err := g.Check(); err != nil {
			return fmt.Errorf("search: %w", err)
		}
	}
	return c.checkExperts()
}

func (c *LineUp) checkExperts() error {
	names := map[string]bool{}
	for i := range c.Experts {
		x := &c.Experts[i]
		switch {
		case x.Name == "":
			return fmt.Errorf("search: expert %d has no name", i+1)
		case x.Name == reply.WordSource || x.Name == reply.PhraseSource:
			return fmt.Errorf(
				"search: an expert is called %q, which is BM25's name (%s over words, %s over pairs of them)",
				x.Name,
				reply.WordSource,
				reply.PhraseSource,
			)
		case names[x.Name]:
			return fmt.Errorf("search: two experts are called %q", x.Name)
		case x.Encoder == nil:
			return fmt.Errorf("search: expert %q has no question encoder", x.Name)
		}
		names[x.Name] = true
		x.Info.Name = x.Name
		if x.Info.Kind != reply.KindSparse {
			x.Info.Kind = reply.KindDense
		}
		if x.Head != nil {
			x.Info.Domains = x.Head.Domains()
		}
		if x.Ensemble != nil {
			x.Info.EnsembleMembers = x.Ensemble.EnsembleMembers()
		}
		if cal := x.Info.Calibration; cal != nil {
			if !(cal.Temperature > 0) || math.IsInf(cal.Temperature, 0) || cal.Depth < 2 {
				return fmt.Errorf(
					"search: expert %q is calibrated with temperature %v and depth %d: they have to be above 0 and at least 2",
					x.Name,
					cal.Temperature,
					cal.Depth,
				)
			}
		}
	}
	if x := c.Late; x != nil {
		late := *x
		late.Info.Name = late.Name
		late.Info.Kind = reply.KindLate
		c.Late = &late
		if x.Encoder == nil {
			return fmt.Errorf("search: expert %q has no question encoder", x.Name)
		}
	}
	return c.checkReference()
}

// checkReference refuses representatives that the reference cannot be compared
// with.
func (c *LineUp) checkReference() error {
	if c.Reference == "" {
		return nil
	}
	at := slices.IndexFunc(c.Experts, func(x learned.Expert) bool { return x.Name == c.Reference })
	if at < 0 {
		return fmt.Errorf("search: the reference %q is not among the experts", c.Reference)
	}
	if c.Experts[at].Head != nil {
		return fmt.Errorf(
			"search: the reference %q has a head: familiarity is measured with the vectors of an encoder's run",
			c.Reference,
		)
	}
	d := c.Experts[at].Info.Dimension
	for _, x := range c.Experts {
		if len(x.Representatives) > 0 && (d < 1 || len(x.Representatives)%d != 0) {
			return fmt.Errorf(
				"search: expert %q has representatives of %d numbers, which are no vectors of the reference's %d",
				x.Name,
				len(x.Representatives),
				d,
			)
		}
	}
	return nil
}
