package assembly

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"example.org/conclave/ann"
	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/experts"
	"example.org/conclave/models"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/shipped"
)

// lineUpWith returns the line-up of the open experts, readers and rerankers, fitted by this calibration; by the shipped
// one if record is nil. It fails if searches could not use it, for example with two late interaction experts
// for the same languages.
func (a *Assembly) lineUpWith(record *calibration.Record) (made search.LineUp, err error) {
	made.Defaults = defaultsOf(a.options.Config.Search)
	if err := a.addSettings(&made.Defaults); err != nil {
		return made, err
	}
	for _, e := range a.Experts.Searched {
		x := e.SearchedAmong(a.Experts.Searched)
		x.Passages = experts.InWindows(x.Passages)
		x.Foreign = x.Head == nil && !shipped.IsOfBase(&e.Bundle.Manifest)
		if e.Late() {
			for _, other := range made.Late {
				if slices.Equal(other.Languages, x.Languages) {
					return made, &TwoLateError{other.Name, x.Name}
				}
			}
			// Beside any other encoder, late interaction has the fits that are shipped for the base's.
			x.Foreign = x.Foreign && slices.ContainsFunc(a.Experts.Dense(), isMultilingual)
			dimension := e.Dimension()
			x.Similarity = func(question, passage []float32) (float32, error) {
				return ann.Similarity(question, passage, dimension)
			}
			made.Late = append(made.Late, x)
			continue
		}
		if e.Granularity == nil {
			if err := a.addRepresentatives(&made, &x, e); err != nil {
				return made, err
			}
		}
		if record != nil {
			applyRecord(&x, record)
		}
		made.Experts = append(made.Experts, x)
	}
	if err := a.addReaders(&made, record); err != nil {
		return made, err
	}
	shipped, err := shippedReading()
	if err != nil {
		return made, err
	}
	verdict, err := shippedVerdict()
	if err != nil {
		return made, err
	}
	for _, r := range a.Experts.Rerankers() {
		own := r
		if record != nil {
			if fit := record.RerankingOf(own.Info.Fingerprint); fit != nil {
				own.Weight = &fit.Weight
				if fit.Surer() {
					own.Confidence = &fit.First.Chance
				}
			}
		}
		if reading := readingOf(record, shipped); own.Weight == nil && own.Reads && reading.Of(own.Info.Fingerprint) &&
			reading.Ranking > 0 {
			weight := 1 / reading.Ranking
			own.Weight = &weight
			if fit := verdict.ForReranking(own.Info.Fingerprint); fit != nil {
				own.Confidence = &fit.First.Chance
				own.Answerability = &learned.Answerability{Chance: &fit.Answerable.Chance, Thresholds: fit.Answerable.Thresholds}
			}
		}
		made.Rerankers = append(made.Rerankers, own)
	}
	for _, x := range a.Absent {
		if x.Silent {
			continue
		}
		made.Absent = append(made.Absent, reply.Missing{Source: x.Name, Reason: x.reason()})
	}
	if record == nil {
		err = a.shippedGate(&made)
	} else {
		gateOf(&made.Defaults, record)
		chancesOf(&made.Defaults, record)
	}
	if err == nil && hasBaseLate(&made) && made.Defaults.Gate != nil {
		made.Defaults.Answerability, err = answerabilityOf(record)
	}
	if err != nil {
		return made, err
	}
	made.Defaults.Foreign, err = a.foreignFits(&made, record)
	if err != nil {
		return made, err
	}
	return made, made.Check(capacity.Limits(a.options.Config.Limits))
}

// readingOf returns the fit of the reader in a collection's record, or the shipped one if record is nil.
func readingOf(record *calibration.Record, shipped *calibration.ReadingFit) *calibration.ReadingFit {
	if record == nil {
		return shipped
	}
	return record.Reading
}

// addReaders adds the open readers to the line-up, each with the fits that were made for its model: those of
// record, which may be nil, and else the shipped ones. A reader with neither is added without. It fails if a
// shipped fit is invalid.
func (a *Assembly) addReaders(made *search.LineUp, record *calibration.Record) error {
	shipped, err := shippedReading()
	if err != nil {
		return err
	}
	verdict, err := shippedVerdict()
	if err != nil {
		return err
	}
	for _, r := range a.Experts.Readers() {
		own := r
		fit := shipped
		read := verdict.For(own.Info.Fingerprint)
		if read != nil {
			own.Confidence = &read.First.Chance
			own.Answerability = &learned.Answerability{Chance: &read.Answerable.Chance, Thresholds: read.Answerable.Thresholds}
		}
		if record != nil && record.Reading.Of(own.Info.Fingerprint) {
			fit = record.Reading
			if read != nil {
				own.Answerability.Thresholds = fit.Verdict.For(&read.Answerable)
			}
			// A fit that knows less than the confidence without the reader leaves the shipped
			// one, which is of the passage that the reader put first.
			if fit.Surer() {
				own.Confidence = &fit.First.Chance
			}
		}
		if fit.Of(own.Info.Fingerprint) {
			own.Chance = &fit.Words.Chance
			own.Ranking = fit.Ranking
		}
		made.Readers = append(made.Readers, own)
	}
	return nil
}

// TwoLateError is the error of a collection that would be searched by two experts of late interaction for the same
// languages.
type TwoLateError struct{ First, Second string }

// Error names both experts and what to do: configure one of them, or remove one.
func (e *TwoLateError) Error() string {
	return fmt.Sprintf(
		"%s and %s are both experts of late interaction for the same languages, and only one can take part: name the experts to search with under experts in the configuration, or remove one from the collection",
		e.First, e.Second,
	)
}

// addRepresentatives gives x the representatives of the training questions of e, if e's bundle has some and the base
// encoder that made them is loaded, and sets made.Reference to that base. All experts of a line-up have the same base.
// It logs a warning if it adds none because that base is not loaded, or is another one than made.Reference. It fails if
// the bundle's file cannot be read.
func (a *Assembly) addRepresentatives(made *search.LineUp, x *learned.Expert, e *experts.Expert) error {
	r, err := e.Bundle.Representatives()
	if err != nil || r == nil {
		return err
	}
	reference := a.referenceFor(r)
	if reference == "" || made.Reference != "" && made.Reference != reference {
		a.options.Log.Warn("familiarity is not known: the base of the expert is not loaded", "expert", x.Name)
		return nil
	}
	made.Reference = reference
	x.Representatives = r.Vectors
	return nil
}

// referenceFor returns the name of the loaded expert whose encoder is the base that made these representatives, not one
// fine-tuned from it; "" if it is not loaded.
func (a *Assembly) referenceFor(r *models.Representatives) string {
	for _, e := range a.Experts.Searched {
		if e.Granularity == nil && experts.IsBaseItself(e.Bundle, r.BaseSHA256) {
			return e.Name()
		}
	}
	return ""
}

// applyRecord gives an expert the temperature, reliability and chance of a record, if these were fitted for its very
// encoder.
func applyRecord(x *learned.Expert, record *calibration.Record) {
	question := x.Info.Fingerprints["question"]
	if own := record.Expert(x.Name, question); own != nil {
		x.Info.Calibration = &learned.CalibrationInfo{Temperature: own.Temperature, Depth: own.Depth,
			ECEBefore: own.Before, ECEAfter: own.After, Questions: questionsOf(record)}
	}
	for i := range record.Sources {
		if s := &record.Sources[i]; s.Name == x.Name && s.Fingerprint == question {
			x.Info.Reliability = binsOf(s.Reliability)
			x.Chance = &s.Chance
		}
	}
}

// binsOf returns the bins of a calibration in the type of package learned.
func binsOf(reliability []calibration.Bin) (bins []learned.ReliabilityBin) {
	for _, b := range reliability {
		bins = append(bins, learned.ReliabilityBin(b))
	}
	return bins
}

// questionsOf describes the questions that a record was fitted on, such as "120 questions of tales, health".
func questionsOf(r *calibration.Record) string {
	n, names := 0, ""
	for _, q := range r.Questions {
		n += q.Questions
		if names != "" {
			names += ", "
		}
		names += q.Domain
	}
	return fmt.Sprintf("%d questions of %s", n, names)
}

// gateOf sets the gate, and the method that "auto" stands for, from a record.
func gateOf(d *search.Defaults, r *calibration.Record) {
	d.Auto, d.Gate, d.GateWithoutLate, d.Specialists = r.Auto, r.Gate, r.GateWithoutLate, r.Specialists
}

// chancesOf sets from a record what was fitted besides the gate: the chances of words and answers, the weight of
// words in the hybrid method, and the options of the method CCE. It leaves the defaults that the record has nothing
// for.
func chancesOf(d *search.Defaults, r *calibration.Record) {
	for i := range r.Sources {
		if s := &r.Sources[i]; s.Kind == fusion.Lexical {
			d.WordsChance = &s.Chance
		}
	}
	if len(r.Chances) > 0 {
		d.Reliability = binsOf(r.Reliability)
		d.Chances = r.Chances
		d.ChancesBasis = reply.BasisCalibrated
	}
	d.ConfidenceAUROC = r.ConfidenceAUROC
	d.Sharpness = r.Sharpness
	if r.Alpha > 0 {
		d.Alpha = r.Alpha
	}
	if r.CCE != nil {
		d.Granularities = r.CCE.Granularities
		d.CCE = fusion.CCEOptions{Temperature: r.CCE.Temperature}
	}
}

// shippedGate sets the gate in made.Defaults to the shipped one, for a collection without a calibration, and with late
// interaction by the base's states also the shipped confidences, which were fitted with it. It does nothing if there is
// no dense expert, an expert's vectors do not have unit length, for which the gate does not hold, or no gate is
// shipped. It fails if a shipped file is damaged.
func (a *Assembly) shippedGate(made *search.LineUp) error {
	dense := a.Experts.Dense()
	longer := func(e *experts.Expert) bool { return !e.Bundle.Manifest.UnitLength() }
	if len(dense) == 0 || slices.ContainsFunc(dense, longer) {
		return nil
	}
	record, err := parseShipped(calibration.RecordFile, calibration.ParseRecord)
	if record == nil || err != nil || record.Auto != fusion.MethodGate {
		return err
	}
	gateOf(&made.Defaults, record)
	prior, err := shippedPrior()
	if prior != nil && hasBaseLate(made) {
		made.Defaults.Chances, made.Defaults.ChancesBasis = prior.Chances, reply.BasisShipped
	}
	return err
}

// answerabilityOf returns how to decide whether a collection answers a question: the shipped fit, with the thresholds
// of record if that has some for it; nil if none is shipped. record may be nil. It fails if the shipped fit cannot be
// parsed.
func answerabilityOf(record *calibration.Record) (*learned.Answerability, error) {
	verdict, err := shippedVerdict()
	if verdict == nil || err != nil {
		return nil, err
	}
	return answerabilityBy(verdict, record), nil
}

// answerabilityBy returns the decision by a shipped fit, with the thresholds of record if that has some for it. record
// may be nil.
func answerabilityBy(verdict *calibration.VerdictFit, record *calibration.Record) *learned.Answerability {
	out := &learned.Answerability{Chance: &verdict.Answerable.Chance, Thresholds: verdict.Answerable.Thresholds}
	if record != nil {
		out.Thresholds = record.Verdict.For(&verdict.Answerable)
	}
	return out
}

// shippedVerdict returns the shipped fit that decides whether a collection answers a question; nil if the program has
// none. It fails if the file cannot be parsed.
func shippedVerdict() (*calibration.VerdictFit, error) {
	return parseShipped(calibration.VerdictFile, calibration.ParseVerdict)
}

// shippedPrior returns the shipped confidences, which collections without a calibration use and calibrations begin
// with; nil if the program has none. It fails if the file cannot be parsed.
func shippedPrior() (*calibration.Prior, error) {
	return parseShipped(calibration.PriorFile, calibration.ParsePrior)
}

// shippedReading returns the shipped fit of the shipped reader; nil if the program has none. It fails if the fit is
// invalid.
func shippedReading() (*calibration.ReadingFit, error) {
	return parseShipped(calibration.AnswersFile, calibration.ParseReading)
}

// parseShipped returns the file of this name that is built into the program, parsed; nil if there is none. It fails if
// parse does.
func parseShipped[T any](name string, parse func([]byte) (*T, error)) (*T, error) {
	data, err := fs.ReadFile(shipped.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s, which is shipped: %w", name, err)
	}
	return out, nil
}

// Auto describes the method behind "auto" and its sources, such as "gate: base, words, phrases".
func (a *Assembly) Auto() string {
	d := a.Engine.Defaults()
	var parts []string
	dense := a.Dense()
	switch {
	case len(dense) > 3:
		parts = append(parts, fmt.Sprintf("%d experts", len(dense)))
	default:
		for _, x := range dense {
			parts = append(parts, x.Name)
		}
	}
	parts = append(parts, "words")
	if d.Auto == fusion.MethodGate {
		if d.Gate.Phrases > 0 {
			parts = append(parts, "phrases")
		}
		if d.Gate.Near > 0 {
			parts = append(parts, "nearness")
		}
		if len(d.Gate.Late) > 0 && len(a.LineUp().Late) > 0 {
			parts = append(parts, "late interaction")
		}
	}
	return d.Auto + ": " + strings.Join(parts, ", ")
}
