package models

import (
	"bytes"
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// CalibrationFile is the name of the calibration in a bundle's folder.
const CalibrationFile = "calibration.yaml"

// Calibration says how an expert's ensemble is read as a confidence. It is fitted
// after the encoder is trained. So it is no part of the fingerprint, and no manifest
// lists it.
type Calibration struct {
	// Temperature divides the members' scores before the softmax; it is
	// MUF's τ (dpr-muf, equations 2 and 3).
	Temperature float64 `yaml:"temperature"`
	// Depth is the number of the expert's first hits over which mutual
	// information is computed.
	Depth int `yaml:"depth"`
	// ECEBefore and ECEAfter are expected calibration errors, 0…1, with
	// temperature 1 and with Temperature.
	ECEBefore float64 `yaml:"ece_before"`
	ECEAfter  float64 `yaml:"ece_after"`
	// Questions says which questions it was fitted on, and how many.
	Questions     string `yaml:"questions"`
	QuestionCount int    `yaml:"question_count"`
	// Encoder is the fingerprint of the question side it was fitted for.
	Encoder string `yaml:"encoder"`
}

// ParseCalibration returns the calibration in a calibration.yaml. It fails for a wrong checksum on the last line,
// unknown keys and impossible values. It does not compare Encoder with an encoder.
func ParseCalibration(data []byte) (Calibration, error) {
	var c Calibration
	if err := verifySealed(data); err != nil {
		return c, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// Validate returns an error that names the first key with an impossible value, as in calibration.yaml; nil if there
// is none.
func (c *Calibration) Validate() error {
	share := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case !(c.Temperature > 0) || math.IsInf(c.Temperature, 0):
		return fmt.Errorf("temperature: %v is not a positive number", c.Temperature)
	case c.Depth < 2:
		return fmt.Errorf("depth: %d; mutual information needs at least 2 hits", c.Depth)
	case !share(c.ECEBefore):
		return fmt.Errorf("ece_before: %v is not between 0 and 1", c.ECEBefore)
	case !share(c.ECEAfter):
		return fmt.Errorf("ece_after: %v is not between 0 and 1", c.ECEAfter)
	case c.QuestionCount < 0:
		return fmt.Errorf("question_count: %d is negative", c.QuestionCount)
	case !hashPattern.MatchString(c.Encoder):
		return fmt.Errorf("encoder: %q is no fingerprint", c.Encoder)
	}
	return nil
}

// WriteCalibration replaces the calibration in the bundle's folder and b.Calibration by c, with Encoder set to the
// fingerprint of the bundle's question side. A reader sees the old file or the new. It fails, and changes nothing,
// for impossible values.
func (b *Bundle) WriteCalibration(c Calibration) error {
	c.Encoder = b.Fingerprint(Question)
	if err := c.Validate(); err != nil {
		return fmt.Errorf("calibration of %s: %w", b.Manifest.Name, err)
	}
	data, err := sealed(c)
	if err != nil {
		return err
	}
	if err := replaceFile(b.Path(CalibrationFile), data); err != nil {
		return fmt.Errorf("writing the calibration of %s: %w", b.Manifest.Name, err)
	}
	b.Calibration = &c
	return nil
}

// readCalibration returns the calibration in the bytes of a calibration.yaml; it does not set b.Calibration. It fails
// for a wrong checksum on the last line, unknown keys, impossible values, and if the calibration was fitted for another
// question encoder than b's.
func (b *Bundle) readCalibration(data []byte) (*Calibration, error) {
	c, err := ParseCalibration(data)
	if err != nil {
		return nil, err
	}
	if own := b.Fingerprint(Question); c.Encoder != own {
		what := "encoder"
		if b.Manifest.Delta != "" {
			what = "delta"
		}
		return nil, fmt.Errorf(
			"it was fitted for another %s (%.12s, this one is %.12s): calibrate again, or delete the file", what,
			c.Encoder, own,
		)
	}
	return &c, nil
}
