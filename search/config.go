package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"conclave/corpus"
	"conclave/fusion"
)

// Config is what an Engine is made of.
type Config struct {
	LineUp   // to begin with
	Corpus   Corpus
	Limits   Limits   // zero values: DefaultLimits
	Observer Observer // nil: nobody listens
	Turns    Turns    // nil: everybody computes at once
}

// Limits bound what one request may ask for.
type Limits struct {
	K             int // results
	Candidates    int // hits of each source
	QuestionBytes int // length of a question in UTF-8
	FilterTags    int // tags of each list of a filter
	// FilterTagBytes is the length of one of them; no passage has a longer one
	// than corpus.MaxTagBytes.
	FilterTagBytes int
	Timeout        time.Duration // of a search; Embed has this much
	Batch          int           // searches of a batch
	BatchParallel  int           // searches of a batch that run at once
	EmbedInputs    int           // texts of an Embed
	EmbedBytes     int           // length of one of them in UTF-8
	AnswerBytes    int           // of an answer, as answerBytes counts
}

// DefaultLimits are the limits of a Config that sets none.
func DefaultLimits() Limits {
	return Limits{
		K: 1000, Candidates: 1000, QuestionBytes: 8 << 10, Timeout: 10 * time.Second,
		FilterTags: 64, FilterTagBytes: corpus.MaxTagBytes,
		Batch: 100, BatchParallel: 8, EmbedInputs: 256, EmbedBytes: 64 << 10,
		AnswerBytes: 32 << 20,
	}
}

// Defaults are what a request gets that does not say otherwise.
type Defaults struct {
	K          int
	Candidates int
	Timeout    time.Duration
	Fusion     string
	Missing    string
	// Hybrid is DPR-BM25's weights; a request's "weights" for BM25 replaces
	// Alpha. The Missing of a request replaces Hybrid.Missing.
	Hybrid *fusion.HybridOptions
	// Auto is the method behind "auto": what calibration wrote for the
	// collection, and "rrf" before there is any.
	Auto string
	// Gate weighs sources by question for the method "gate"; nil refuses the method.
	Gate *fusion.Gate
	// GateWithoutLate takes Gate's place where late interaction takes no part in
	// an answer; nil: Gate does that too. Chances are those of Gate.
	GateWithoutLate *fusion.Gate
	// Specialists is how many specialists fusion.MethodGate asks, the most familiar with
	// the question. 0: all.
	Specialists int
	// Chances are the calibrated confidences of the gate's answers; nil: nobody
	// calibrated them.
	Chances fusion.Chances
	// ChancesBasis says whence the Chances come; "": BasisCalibrated.
	ChancesBasis string
	// WordsChance is the calibrated chance that BM25's own first hit answers; nil
	// likewise.
	WordsChance Chance
}

// DefaultDefaults are the defaults of a Config that sets none. The α is for
// unit vectors beside Lucene's BM25; DPR's inner products near 80 need 1.3.
func DefaultDefaults() Defaults {
	return Defaults{
		K: 10, Candidates: 100, Timeout: 2 * time.Second,
		Fusion: MethodAuto, Missing: string(fusion.Exact),
		Hybrid: &fusion.HybridOptions{Alpha: 0.03}, Auto: fusion.MethodRRF,
	}
}

// complete fills in what is left out and refuses what cannot work.
func (c *Config) complete() error {
	if c.Corpus == nil {
		return errors.New("search: a corpus is needed")
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Turns == nil {
		c.Turns = everybody{}
	}
	l, dl := &c.Limits, DefaultLimits()
	if l.Timeout == 0 {
		l.Timeout = dl.Timeout
	}
	if l.Timeout < time.Millisecond {
		return fmt.Errorf("search: limits.timeout is %v: 1ms is the least", l.Timeout)
	}
	return fill(
		number{"limits.k", &l.K, dl.K}, number{"limits.candidates", &l.Candidates, dl.Candidates},
		number{"limits.question_bytes", &l.QuestionBytes, dl.QuestionBytes},
		number{"limits.filter_tags", &l.FilterTags, dl.FilterTags}, number{"limits.filter_tag_bytes", &l.FilterTagBytes, dl.FilterTagBytes},
		number{"limits.batch", &l.Batch, dl.Batch}, number{"limits.batch_parallel", &l.BatchParallel, dl.BatchParallel},
		number{"limits.embed_inputs", &l.EmbedInputs, dl.EmbedInputs}, number{"limits.embed_bytes", &l.EmbedBytes, dl.EmbedBytes},
		number{"limits.answer_bytes", &l.AnswerBytes, dl.AnswerBytes},
	)
}

// number is one that has to be at least 1; 0 means the fallback.
type number struct {
	name     string
	value    *int
	fallback int
}

func fill(numbers ...number) error {
	for _, n := range numbers {
		if *n.value == 0 {
			*n.value = n.fallback
		}
		if *n.value < 1 {
			return fmt.Errorf("search: %s is %d: it must be at least 1", n.name, *n.value)
		}
	}
	return nil
}

// complete fills in what is left out and refuses what cannot work within limits.
func (c *LineUp) complete(l Limits) error {
	d, dd := &c.Defaults, DefaultDefaults()
	if err := fill(
		number{"defaults.k", &d.K, min(dd.K, l.K)}, number{"defaults.candidates", &d.Candidates, min(dd.Candidates, l.Candidates)},
	); err != nil {
		return err
	}
	if d.Timeout == 0 {
		d.Timeout = min(dd.Timeout, l.Timeout)
	}
	if d.Timeout < time.Millisecond {
		return fmt.Errorf("search: defaults.timeout is %v: 1ms is the least", d.Timeout)
	}
	if d.Fusion == "" {
		d.Fusion = dd.Fusion
	}
	if d.Missing == "" {
		d.Missing = dd.Missing
	}
	if d.Auto == "" {
		d.Auto = dd.Auto
	}
	if d.ChancesBasis == "" {
		d.ChancesBasis = BasisCalibrated
	}
	if d.Hybrid == nil {
		d.Hybrid = dd.Hybrid
	}
	switch {
	case d.K > l.K:
		return fmt.Errorf("search: defaults.k is %d, above its limit of %d", d.K, l.K)
	case d.Candidates > l.Candidates:
		return fmt.Errorf("search: defaults.candidates is %d, above its limit of %d", d.Candidates, l.Candidates)
	case d.Timeout > l.Timeout:
		return fmt.Errorf("search: defaults.timeout is %v, above its limit of %v", d.Timeout, l.Timeout)
	case !known(MethodNames(), d.Fusion):
		return fmt.Errorf("search: defaults.fusion is %q: %s are known", d.Fusion, list(MethodNames()))
	case d.Auto == fusion.MethodGate && d.Gate == nil:
		return errors.New("search: defaults.auto is gate, and there is no gate")
	case d.Auto == MethodAuto || !known(MethodNames(), d.Auto):
		return fmt.Errorf("search: defaults.auto is %q: one of %s is meant, other than auto", d.Auto, list(MethodNames()))
	case !known(missingNames(), d.Missing):
		return fmt.Errorf("search: defaults.missing is %q: %s are known", d.Missing, list(missingNames()))
	case d.Specialists < 0:
		return fmt.Errorf("search: defaults.specialists is %d: it must be 0 or more", d.Specialists)
	case !(d.Hybrid.Alpha >= 0 && d.Hybrid.Alpha <= fusion.MaxWeight):
		return fmt.Errorf("search: the hybrid's alpha is %v: it must be between 0 and %g", d.Hybrid.Alpha, float64(fusion.MaxWeight))
	case d.Hybrid.Normalisation != "" && !known(normalisationNames(), string(d.Hybrid.Normalisation)):
		return fmt.Errorf("search: the hybrid's normalisation is %q: %s are known", d.Hybrid.Normalisation, list(normalisationNames()))
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
	const others = 3 // BM25, phrases, late interaction
	if len(c.Experts)+others > fusion.MaxSources {
		return fmt.Errorf("search: %d experts, at most %d are possible", len(c.Experts), fusion.MaxSources-others)
	}
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
		switch {
		case x.Name == "" || x.Name == WordSource || x.Name == PhraseSource || names[x.Name]:
			return fmt.Errorf("search: late interaction is called %q: a name that no other source has is needed", x.Name)
		case x.Encoder == nil:
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
	d := c.Experts[at].Info.Dimension
	for _, x := range c.Experts {
		if len(x.Representatives) > 0 && (d < 1 || len(x.Representatives)%d != 0) {
			return fmt.Errorf("search: expert %q has representatives of %d numbers, which are no vectors of the reference's %d", x.Name, len(x.Representatives), d)
		}
	}
	return nil
}
