package convert

import (
	"errors"
	"fmt"
	"os"

	"example.org/conclave/models"
)

// UndecidedError is the error of a checkpoint that leaves open a setting on which every vector depends. It is not
// guessed: with a wrong one, vectors find much less.
type UndecidedError struct {
	Setting string // one of the constants above
	Reason  string
}

// Error names the setting that is not known, and the reason.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("the %s is not known: %s", e.Setting, e.Reason)
}

// Assumption is an assumption of an import about a setting that the checkpoint leaves open, with the alternatives.
type Assumption struct {
	Setting string // as UndecidedError.Setting
	Text    string
}

// KindError is the error of a model of a kind that cannot be imported as an expert; Possible says what can be done
// instead.
type KindError struct{ What, Possible string }

// Error returns two sentences: what the folder holds instead of an expert, and what is possible.
func (e *KindError) Error() string { return fmt.Sprintf("this is %s. %s", e.What, e.Possible) }

const sparsePossible = "Sparse encoders are imported from their weights: a BertForMaskedLM or DistilBertForMaskedLM with max pooling of log(1 + relu), as naver's SPLADE models are"

// poolingOf returns the pooling: that of o, which is not checked, else the checkpoint's. It returns an
// *UndecidedError if neither has one.
func (c *checkpoint) poolingOf(o Options) (string, error) {
	switch {
	case o.Pooling != "":
		return o.Pooling, nil
	case c.pooling != "":
		return c.pooling, nil
	}
	return "", &UndecidedError{
		Setting: models.SettingPooling,
		Reason:  c.dir + " has no 1_Pooling/config.json that says how the tokens' vectors become one; the model's card does: cls (the first token's), mean, or pooler",
	}
}

// unitLength reports whether vectors are scaled to unit length: by o, else by the checkpoint, else true, which it
// tells o.Tell: inner products are then cosines, for which nearly all models were trained.
func (c *checkpoint) unitLength(o Options) bool {
	known := c.normalise
	if o.Normalise != nil {
		known = o.Normalise
	}
	if known != nil {
		return *known
	}
	o.tell(
		models.SettingNormalise,
		c.dir+" does not say how vectors are compared: they are scaled to unit length, which compares them by their cosine. A model that was trained for the inner product of vectors of any length needs these lengths",
	)
	return true
}

// tell reports an assumption to o.Tell, if that is set.
func (o *Options) tell(setting, text string) {
	if o.Tell != nil {
		o.Tell(Assumption{Setting: setting, Text: text})
	}
}

// exists reports whether there is a file or folder at path, also one that cannot be examined.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}
