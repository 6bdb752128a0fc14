package search

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"conclave/fusion"
)

// EngineConfig is what an Engine is made of.
type EngineConfig struct {
	LineUp   // to begin with
	Corpus   Corpus
	Limits   Limits   // zero values: see Limits
	Observer Observer // nil: nobody listens
	Turns    Turns    // nil: everybody computes at once
}

// MaxFilterTags is the most tags of each list of a filter; no passage has a longer one
// than corpus.MaxTagBytes.
const MaxFilterTags = 64

// Limits bound what one request may ask for; in parentheses what a zero means.
type Limits struct {
	K             int           // results (1000)
	Candidates    int           // hits of each source (1000)
	QuestionBytes int           // length of a question in UTF-8 (8 KiB)
	Timeout       time.Duration // of a search; Embed has this much (10 s)
	Batch         int           // searches of a batch (100)
	BatchParallel int           // searches of a batch that run at once (8)
	EmbedInputs   int           // texts of an Embed (256)
	EmbedBytes    int           // length of one of them in UTF-8 (64 KiB)
	AnswerBytes   int           // of an answer, as answerBytes counts (32 MiB)
}

// Defaults are what a request gets that does not say otherwise; in parentheses what a
// zero means, which is never more than the limit.
type Defaults struct {
	K          int           // (10)
	Candidates int           // (100)
	Timeout    time.Duration // (2 s)
	Fusion     string        // ("auto")
	Missing    fusion.Missing
	// Alpha is BM25's weight in the hybrid; a request's "weights" for BM25 replaces it.
	// Nil: 0.03, which is for unit vectors beside Lucene's BM25; DPR's inner products
	// near 80 need 1.3.
	Alpha *float64
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
	// ConfidenceAUROC is, by method, the chance that of a right and a wrong first passage
	// the right one has the higher confidence; a method that is not named: not known.
	ConfidenceAUROC map[string]float64
	// Reliability is how often the first passage of the gate's answers was right, by
	// confidence, the lowest first; nil: not known for this collection.
	Reliability []ReliabilityBin
	// WordsChance is the calibrated chance that BM25's own first hit answers; nil
	// likewise.
	WordsChance Chance
}

// complete fills in what is left out and refuses what cannot work.
func (c *EngineConfig) complete() error {
	if c.Corpus == nil {
		return errors.New("search: a corpus is needed")
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Turns == nil {
		c.Turns = everybody{}
	}
	l := &c.Limits
	return errors.Join(
		fill("limits.k", &l.K, 1000), fill("limits.candidates", &l.Candidates, 1000), fill("limits.question_bytes", &l.QuestionBytes, 8<<10),
		fill("limits.timeout", &l.Timeout, 10*time.Second),
		fill("limits.batch", &l.Batch, 100), fill("limits.batch_parallel", &l.BatchParallel, 8),
		fill("limits.embed_inputs", &l.EmbedInputs, 256), fill("limits.embed_bytes", &l.EmbedBytes, 64<<10), fill("limits.answer_bytes", &l.AnswerBytes, 32<<20),
	)
}

// fill puts the fallback in the place of 0, and refuses what is too small.
func fill[T int | time.Duration](name string, value *T, fallback T) error {
	least := T(1)
	if _, long := any(least).(time.Duration); long {
		least = T(time.Millisecond)
	}
	if *value = cmp.Or(*value, fallback); *value < least {
		return fmt.Errorf("search: %s is %v: it must be at least %v", name, *value, least)
	}
	return nil
}

// complete fills in what is left out and refuses what cannot work within limits.
func (c *LineUp) complete(l Limits) error {
	d := &c.Defaults
	if err := errors.Join(fill("defaults.k", &d.K, min(10, l.K)), fill("defaults.candidates", &d.Candidates, min(100, l.Candidates)),
		fill("defaults.timeout", &d.Timeout, min(2*time.Second, l.Timeout))); err != nil {
		return err
	}
	d.Fusion, d.Auto, d.Sharpness = cmp.Or(d.Fusion, MethodAuto), cmp.Or(d.Auto, fusion.MethodRRF), cmp.Or(d.Sharpness, fusion.DefaultSharpness)
	d.Missing, d.ChancesBasis = cmp.Or(d.Missing, fusion.Exact), cmp.Or(d.ChancesBasis, BasisCalibrated)
	if d.Alpha == nil {
		d.Alpha = ptr(.03)
	}
	switch {
	case d.K > l.K:
		return fmt.Errorf("search: defaults.k is %d, above its limit of %d", d.K, l.K)
	case d.Candidates > l.Candidates:
		return fmt.Errorf("search: defaults.candidates is %d, above its limit of %d", d.Candidates, l.Candidates)
	case d.Timeout > l.Timeout:
		return fmt.Errorf("search: defaults.timeout is %v, above its limit of %v", d.Timeout, l.Timeout)
	case !slices.Contains(MethodNames(), d.Fusion):
		return fmt.Errorf("search: defaults.fusion is %q: %s are known", d.Fusion, list(MethodNames()))
	case d.Auto == fusion.MethodGate && d.Gate == nil:
		return errors.New("search: defaults.auto is gate, and there is no gate")
	case !slices.Contains(fusion.MethodNames(nil), d.Auto):
		return fmt.Errorf("search: defaults.auto is %q: one of %s is meant, other than auto", d.Auto, list(MethodNames()))
	case !slices.Contains(missings(), d.Missing):
		return fmt.Errorf("search: defaults.missing is %q: %s are known", d.Missing, list(missings()))
	case d.Specialists < 0:
		return fmt.Errorf("search: defaults.specialists is %d: it must be 0 or more", d.Specialists)
	case !(*d.Alpha >= 0 && *d.Alpha <= fusion.MaxWeight):
		return fmt.Errorf("search: the hybrid's alpha is %v: it must be between 0 and %g", *d.Alpha, float64(fusion.MaxWeight))
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
		case x.Name == WordSource || x.Name == PhraseSource:
			return fmt.Errorf("search: an expert is called %q, which is BM25's name (%s over words, %s over pairs of them)", x.Name, WordSource, PhraseSource)
		case names[x.Name]:
			return fmt.Errorf("search: two experts are called %q", x.Name)
		case x.Encoder == nil:
			return fmt.Errorf("search: expert %q has no question encoder", x.Name)
		}
		names[x.Name] = true
		x.Info.Name, x.Info.Kind = x.Name, KindDense
		if x.Head != nil {
			x.Info.Domains = x.Head.Domains()
		}
		if x.Ensemble != nil {
			x.Info.EnsembleMembers = x.Ensemble.EnsembleMembers()
		}
		if cal := x.Info.Calibration; cal != nil {
			if !(cal.Temperature > 0) || math.IsInf(cal.Temperature, 0) || cal.Depth < 2 {
				return fmt.Errorf("search: expert %q is calibrated with temperature %v and depth %d: they must be above 0 and at least 2",
					x.Name, cal.Temperature, cal.Depth)
			}
		}
	}
	if x := c.Late; x != nil {
		late := *x
		late.Info.Name, late.Info.Kind, c.Late = late.Name, KindLate, &late
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
	at := slices.IndexFunc(c.Experts, func(x Expert) bool { return x.Name == c.Reference })
	if at < 0 {
		return fmt.Errorf("search: the reference %q is not among the experts", c.Reference)
	}
	if c.Experts[at].Head != nil {
		return fmt.Errorf("search: the reference %q has a head: familiarity is measured with the vectors of an encoder's run", c.Reference)
	}
	d := c.Experts[at].Info.Dimension
	for _, x := range c.Experts {
		if len(x.Representatives) > 0 && (d < 1 || len(x.Representatives)%d != 0) {
			return fmt.Errorf("search: expert %q has representatives of %d numbers, which are no vectors of the reference's %d", x.Name, len(x.Representatives), d)
		}
	}
	return nil
}
