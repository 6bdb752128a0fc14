package assembly

import (
	"context"
	"fmt"

	"example.org/conclave/calibration"
	"example.org/conclave/search"
)

// calibrationUse is the calibration that the line-up was made with, and why a newer one is not used.
type calibrationUse struct {
	accepted *calibration.Record // the one in use; nil: what is shipped
	refused  string              // why the one that lies there was not taken; "": it was, or there is none
}

// readRecord returns the collection's calibration; nil if it has none. It fails if the file cannot be read or parsed.
func (a *Assembly) readRecord() (*calibration.Record, error) {
	text, err := a.Store.Calibration()
	if len(text) == 0 || err != nil {
		return nil, err
	}
	record, err := calibration.ParseRecord(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Store.CalibrationAt(), err)
	}
	return record, nil
}

// Calibrate stores a calibration with the collection, in place of the one before, and returns where. Searches of
// this process use it after Renew. After an error at is "" and the one before may be kept or replaced.
func (a *Assembly) Calibrate(ctx context.Context, record *calibration.Record) (at string, err error) {
	at = a.Store.CalibrationAt()
	text, err := record.Text()
	if err == nil {
		err = a.Store.Calibrate(ctx, text)
	}
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", at, err)
	}
	return at, nil
}

// FitOptions returns the options to calibrate the collection with: the shipped fits to begin with, the experts'
// fingerprints, and how to try a record. reading is nil if no reader is loaded, and reranking empty if no reranker
// is; it sets reading.Towards to the shipped fit if that is of this reader. Call it after Start. It fails if a
// shipped fit is invalid.
func (a *Assembly) FitOptions(
	reading *calibration.ReadingOptions,
	reranking []calibration.RerankingOptions,
) (o calibration.FitOptions, err error) {
	shipped := a.lineUp.Defaults
	o = calibration.FitOptions{
		Reading:      reading,
		Reranking:    reranking,
		Towards:      shipped.Gate,
		WithoutLate:  shipped.GateWithoutLate,
		Fingerprints: a.Experts.Fingerprints(),
		Try:          a.TryRecord,
	}
	if reading != nil {
		towards, err := shippedReading()
		if err != nil {
			return o, err
		}
		if towards.Of(reading.Reader) {
			reading.Towards = towards
		}
	}
	o.Prior, err = shippedPrior()
	if err != nil {
		return o, err
	}
	o.Verdict, err = shippedVerdict()
	if err != nil {
		return o, err
	}
	o.Foreign, err = a.foreignPriors(&a.lineUp)
	return o, err
}

// newLineUp returns the line-up with the collection's calibration. If the open experts cannot use that, it takes the
// last one that they could, or the shipped one, and notes why (Refused). It fails if the calibration cannot be read
// while the collection is being opened, since answers would differ from those before.
func (a *Assembly) newLineUp() (search.LineUp, error) {
	if a.options.Uncalibrated {
		return a.lineUpWith(nil)
	}
	c := &a.calibration
	record, refused := a.readRecord()
	if refused != nil && a.Engine == nil {
		return search.LineUp{}, refused
	}
	var choices []*calibration.Record
	switch {
	case refused != nil:
		choices = append(choices, c.accepted)
	case record != nil:
		choices = append(choices, record, c.accepted)
	}
	for _, record := range choices {
		if record == nil { // none was accepted yet
			continue
		}
		made, err := a.lineUpWith(record)
		if err == nil {
			c.accepted = record
			a.noteRefusal(refused)
			return made, nil
		}
		if refused == nil {
			refused = err
		}
	}
	c.accepted = nil
	a.noteRefusal(refused)
	return a.lineUpWith(nil)
}

// noteRefusal sets a.calibration.refused to a message that says why the collection's own calibration is not used and
// what is used instead, and logs it as a warning if it is new. With nil it clears the message: the calibration is used,
// or there is none. a.calibration.accepted must be set before.
func (a *Assembly) noteRefusal(why error) {
	before := a.calibration.refused
	a.calibration.refused = ""
	if why == nil {
		return
	}
	instead := "the shipped one is used"
	if a.calibration.accepted != nil {
		instead = "the one before is used"
	}
	a.calibration.refused = fmt.Sprintf("the calibration %s cannot be used, %s: %v", a.Store.CalibrationAt(), instead, why)
	if a.calibration.refused != before {
		a.options.Log.Warn(a.calibration.refused)
	}
}
