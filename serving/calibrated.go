package serving

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"conclave/calibration"
	shipped "conclave/experts"
	"conclave/fusion"
	"conclave/models"
	"conclave/search"
)

// calibrated brings what was fitted into what is served: the experts'
// temperatures and representatives, and the defaults of "auto".
func (l *Assembly) calibrated(c *search.LineUp, record *calibration.Record) error {
	dense := l.Experts.Dense()
	for i := range c.Experts {
		x := &c.Experts[i]
		representatives, err := dense[i].Bundle.Representatives()
		if err != nil {
			return err
		}
		if representatives != nil {
			if reference := l.referenceFor(representatives); reference == "" || c.Reference != "" && c.Reference != reference {
				l.options.Log.Warn("familiarity is not known: the base of the expert is not loaded", "expert", x.Name)
			} else {
				c.Reference, x.Representatives = reference, representatives.Vectors
			}
		}
		if record == nil {
			continue
		}
		if own := record.Expert(x.Name, x.Info.Fingerprints["question"]); own != nil {
			x.Info.Calibration = &search.CalibrationInfo{Temperature: own.Temperature, Depth: own.Depth,
				ECEBefore: own.Before, ECEAfter: own.After, Questions: questionsOf(record)}
		}
	}
	if record == nil {
		return l.shippedGate(c)
	}
	gateOf(c, record)
	l.sourceChances(c, record)
	if len(record.Chances) > 0 {
		c.Defaults.Chances, c.Defaults.ChancesBasis = record.Chances, search.BasisCalibrated
	}
	if record.Alpha > 0 {
		hybrid := *c.Defaults.Hybrid
		hybrid.Alpha = record.Alpha
		c.Defaults.Hybrid = &hybrid
	}
	return nil
}

// sourceChances gives the sources the chances that were fitted for them: for
// these very encoders.
func (l *Assembly) sourceChances(c *search.LineUp, record *calibration.Record) {
	for i := range record.Sources {
		s := &record.Sources[i]
		if s.Kind == fusion.Lexical {
			c.Defaults.WordsChance = &s.Chance
		}
		for j := range c.Experts {
			if x := &c.Experts[j]; x.Name == s.Name && x.Info.Fingerprints["question"] == s.Fingerprint {
				x.Chance = &s.Chance
			}
		}
	}
}

// shippedGate is what a collection gets that nobody calibrated: the gate's
// coefficients belong to kinds of sources, so they hold for any experts whose
// vectors have unit length. So do the confidences that are shipped with it, where
// the sources are those that they were fitted for.
func (l *Assembly) shippedGate(c *search.LineUp) error {
	dense := l.Experts.Dense()
	if len(dense) == 0 || slices.ContainsFunc(dense, func(e *Expert) bool { return !e.Bundle.Manifest.Normalise }) {
		return nil
	}
	data, err := fs.ReadFile(shipped.FS, calibration.RecordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	record, err := calibration.ParseRecord(data)
	if err != nil {
		return fmt.Errorf("the calibration of the shipped experts: %w", err)
	}
	if record.Auto != search.MethodGate {
		return nil
	}
	gateOf(c, record)
	prior, err := ShippedPrior()
	if prior != nil && c.Late != nil {
		c.Defaults.Chances, c.Defaults.ChancesBasis = prior.Chances, search.BasisShipped
	}
	return err
}

// ShippedPrior is the confidence for collections that nobody calibrated, and that
// calibrations begin with; nil where none is shipped.
func ShippedPrior() (*calibration.Prior, error) {
	data, err := fs.ReadFile(shipped.FS, calibration.PriorFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	prior, err := calibration.ParsePrior(data)
	if err != nil {
		return nil, fmt.Errorf("the confidence that is shipped: %w", err)
	}
	return prior, nil
}

// gateOf brings a record's gate, and whether "auto" stands for it.
func gateOf(c *search.LineUp, r *calibration.Record) {
	d := &c.Defaults
	d.Auto, d.Gate, d.GateWithoutLate, d.Specialists = r.Auto, r.Gate, r.GateWithoutLate, r.Specialists
}

// referenceFor is the loaded expert that is the base itself of these
// representatives, not one that was fine-tuned from it; "" when it is not loaded.
func (l *Assembly) referenceFor(r *models.Representatives) string {
	for _, e := range l.Experts.opened {
		if m := e.Bundle.Manifest; m.Base == nil && m.Lineage.MergedFrom == "" && m.Lineage.SourceSHA256 == r.BaseSHA256 {
			return e.name
		}
	}
	return ""
}

// questionsOf says which questions a record was fitted on.
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
