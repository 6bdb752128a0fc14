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

// EngineConfig is the configuration of an Engine.
type EngineConfig struct {
	LineUp   // the first line-up
	Corpus   storage.Corpus
	Limits   Limits
	Observer Observer   // nil: NoObserver
	Turns    turn.Turns // nil: turn.UnlimitedTurns
}

// Limits are the greatest values that one request may ask for. All have to be at least 1.
type Limits struct {
	K             int           // results, together with Offset
	Candidates    int           // hits of each source
	QuestionBytes int           // the length of a question in UTF-8
	Timeout       time.Duration // of a search; Embed and Rerank always have this much
	Batch         int           // searches in a batch
	BatchParallel int           // searches of a batch that run at once
	EmbedInputs   int           // texts of an Embed or a Rerank
	EmbedBytes    int           // the length of one of them in UTF-8
	AnswerBytes   int           // the estimated size of an answer
}

// Defaults are the values that a request gets if it does not set its own, and the calibration of the collection.
type Defaults struct {
	K          int
	Candidates int
	Timeout    time.Duration
	Fusion     string
	Missing    fusion.Missing
	Correct    bool // misspelt words are corrected
	// Rerank says whether passages are reranked if the request does not say: "true", "false" (""), or ask.RerankAuto.
	Rerank string
	// Synonyms are the synonyms that are added to questions, and Fields the declared types of metadata fields.
	Synonyms []ask.Synonyms
	Fields   conditions.Types
	// Overrides are what administrators decided for some questions: passages that are shown first or not at all.
	Overrides []CollectionOverride
	// Alpha is BM25's weight in the method hybrid; a request's "weights" for BM25 replaces it.
	Alpha float64
	// Sharpness is the power to which the methods muf and hybrid raise the experts' confidences; 0:
	// fusion.DefaultSharpness.
	Sharpness float64
	// Auto is the method that "auto" stands for, which calibration chose for the collection; "": "rrf".
	Auto string
	// Gate is the fitted gate; nil: requests for the method "gate" are refused.
	Gate *fusion.Gate
	// GateWithoutLate is the gate for answers without late interaction; nil: Gate. Chances are those of Gate.
	GateWithoutLate *fusion.Gate
	// CCE are the calibrated options of the method cce, and Granularities the names of the experts that it uses; none:
	// all that have a granularity.
	CCE           fusion.CCEOptions
	Granularities []string
	// Specialists is how many specialists the gate asks, those that are the most familiar with the question; 0: all.
	Specialists int
	// Chances compute the confidences of the gate's answers; nil: they have none.
	Chances fusion.Chances
	// ChancesBasis says where Chances come from: reply.BasisCalibrated or reply.BasisShipped; "": the first.
	ChancesBasis string
	// Answerability computes the verdicts on the gate's answers; nil: they have none.
	Answerability *learned.Answerability
	// Foreign are confidences and verdicts where an encoder for many languages is the only dense source, which take the
	// place of the others there; nil: none were fitted.
	Foreign *learned.ForeignFits
	// ConfidenceAUROC is, by method, the probability that of a right and a wrong first passage the right one has the
	// higher confidence; a method that is missing: it is not known.
	ConfidenceAUROC map[string]float64
	// Reliability is how often the first passage of the gate's answers was right, by confidence, the lowest first; nil:
	// it is not known for this collection.
	Reliability []learned.ReliabilityBin
	// WordsChance is the calibrated probability that BM25's own first hit answers; nil: it is not calibrated.
	WordsChance learned.Chance
}

// complete sets an observer that does nothing and unlimited turns where these are nil. It returns an error if there is
// no corpus or a limit other than Timeout is below 1.
func (c *EngineConfig) complete() error {
	if c.Corpus == nil {
		return errors.New("search: a corpus is needed")
	}
	if c.Observer == nil {
		c.Observer = NoObserver{}
	}
	if c.Turns == nil {
		c.Turns = turn.UnlimitedTurns{}
	}
	return c.Limits.checkBounds()
}

// checkBounds returns an error if a limit, other than Timeout, is below 1.
func (l Limits) checkBounds() error {
	if min(l.K, l.Candidates, l.QuestionBytes, l.Batch, l.BatchParallel, l.EmbedInputs, l.EmbedBytes, l.AnswerBytes) < 1 {
		return fmt.Errorf("search: limits have to be at least 1: %+v", l)
	}
	return nil
}

// complete sets Defaults.Auto, Rerank, Sharpness and ChancesBasis where they are zero, and the ExpertInfo of all
// experts (checkExperts). It returns an error if a default exceeds the limits or is unknown, or if a gate or an expert
// is unusable.
func (c *LineUp) complete(l Limits) error {
	d := &c.Defaults
	d.Auto = cmp.Or(d.Auto, fusion.MethodRRF)
	d.Rerank = cmp.Or(d.Rerank, "false")
	d.Sharpness = cmp.Or(d.Sharpness, fusion.DefaultSharpness)
	d.ChancesBasis = cmp.Or(d.ChancesBasis, reply.BasisCalibrated)
	switch {
	case d.K < 1 || d.K > l.K:
		return fmt.Errorf("search: defaults.k is %d: it has to be from 1 to its limit of %d", d.K, l.K)
	case d.Candidates < 1 || d.Candidates > l.Candidates:
		return fmt.Errorf(
			"search: defaults.candidates is %d: it has to be from 1 to its limit of %d", d.Candidates, l.Candidates,
		)
	case d.Timeout < time.Millisecond || d.Timeout > l.Timeout:
		return fmt.Errorf("search: defaults.timeout is %v: it has to be from 1ms to its limit of %v", d.Timeout, l.Timeout)
	case !slices.Contains(MethodNames(), d.Fusion):
		return fmt.Errorf("search: defaults.fusion is %q: %s are known", d.Fusion, wording.List(MethodNames()))
	case d.Auto == fusion.MethodGate && d.Gate == nil:
		return errors.New("search: defaults.auto is gate, and there is no gate")
	case !slices.Contains(fusion.MethodNames(nil), d.Auto):
		return fmt.Errorf(
			"search: defaults.auto is %q: one of %s is meant, other than auto", d.Auto, wording.List(MethodNames()),
		)
	case !slices.Contains(missingValues(), d.Missing):
		return fmt.Errorf("search: defaults.missing is %q: %s are known", d.Missing, wording.List(missingValues()))
	case !slices.Contains([]string{"true", "false", ask.RerankAuto}, d.Rerank):
		return fmt.Errorf("search: defaults.rerank is %q: true, false and %s are known", d.Rerank, ask.RerankAuto)
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

// checkExperts sets name, kind, domains and ensemble members in the ExpertInfo of all experts, in place. It returns an
// error if an expert has no name, no encoder, the name of another or of BM25, or an impossible calibration, or if the
// reference is unusable.
func (c *LineUp) checkExperts() error {
	names := map[string]bool{}
	for i := range c.Experts {
		x := &c.Experts[i]
		switch {
		case x.Name == "":
			return fmt.Errorf("search: expert %d has no name", i+1)
		case x.Name == reply.WordSource || x.Name == reply.PhraseSource || x.Name == reply.NearSource:
			return fmt.Errorf(
				"search: an expert is called %q, which is the name of another source (%s and %s are BM25 over words and over "+
					"pairs of them, %s is the nearness of words)",
				x.Name,
				reply.WordSource,
				reply.PhraseSource,
				reply.NearSource,
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
					x.Name, cal.Temperature, cal.Depth,
				)
			}
		}
	}
	for i := range c.Late {
		x := &c.Late[i]
		x.Info.Name, x.Info.Kind = x.Name, reply.KindLate
		if x.Encoder == nil {
			return fmt.Errorf("search: expert %q has no question encoder", x.Name)
		}
	}
	return c.checkReference()
}

// checkReference returns an error if the reference is set and is not among the experts or has a head, or if the length
// of an expert's representatives is not a multiple of the reference's dimension.
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
				x.Name, len(x.Representatives), d,
			)
		}
	}
	return nil
}
