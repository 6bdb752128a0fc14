package encoder

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/models"
)

// SettingTokenizer names the tokenizer in DoubtError.Setting. Unlike models.SettingPooling and models.SettingPrefix, it
// is not a setting of an import.
const SettingTokenizer = "tokenizer"

// DoubtError says that an encoder does not tell paraphrases from unrelated texts as well as it
// could, and which setting is probably wrong.
type DoubtError struct {
	Setting string // models.SettingPooling, models.SettingPrefix, SettingTokenizer
	Better  string // what would be better, where that was tried
	Reason  string
}

// Error says what was measured and which setting is probably wrong.
func (e *DoubtError) Error() string {
	return fmt.Sprintf("%s: probably the %s is wrong", e.Reason, e.Setting)
}

const (
	// leastParaphrases is the share of paraphrases that an encoder has to find in its best
	// language. all-MiniLM-L6-v2 finds all sixteen, one with random weights two.
	leastParaphrases = 0.5
	// clearlyBetter is the least ratio of the separations of paraphrases by which another
	// setting counts as the right one. all-MiniLM-L6-v2 separates 1.9 times as far with its
	// own pooling as with the other.
	clearlyBetter = 1.25
	// mostUnknown is the greatest share of words that the model's own vocabulary may lack in
	// a language that the model knows.
	mostUnknown = 0.05
)

// CheckImported returns a *DoubtError unless the expert of a new bundle tells paraphrases from unrelated texts, in
// the language in which it does that best, and there better than with another pooling and than without its
// prefixes. another makes the same bundle with another pooling; nil: the pooling is certain. It opens each of these
// on the processor and closes it again; other errors are those of opening, another and encoding. It returns nil for
// a bundle that is not dense, and for a delta.
func (r *Runtime) CheckImported(
	ctx context.Context,
	b *models.Bundle,
	another func(pooling string) (*models.Bundle, error),
) error {
	if m := &b.Manifest; m.Kind != models.KindDense || m.Delta != "" {
		return nil
	}
	own, err := r.measureBundle(ctx, b, "")
	if err != nil {
		return err
	}
	found := func(p ParaphraseResult) string {
		return fmt.Sprintf(
			"%d of %d paraphrases in %s are nearer than unrelated texts (separation %.1f)", p.First, p.Pairs,
			p.Language, p.Separation,
		)
	}
	if another != nil {
		for _, pooling := range []string{models.PoolingMean, models.PoolingCLS} {
			if pooling == b.Manifest.Vectors.Pooling {
				continue
			}
			made, err := another(pooling)
			if err != nil {
				return err
			}
			other, err := r.measureBundle(ctx, made, own.Language)
			if err != nil {
				return err
			}
			if isBetter(other, own) {
				return &DoubtError{Setting: models.SettingPooling, Better: pooling,
					Reason: fmt.Sprintf(
						"with pooling %s %s, and with pooling %s %s", b.Manifest.Vectors.Pooling, found(own), pooling,
						found(other),
					)}
			}
		}
	}
	if b.Manifest.Vectors.Prefix != (models.Prefix{}) {
		bare := *b
		bare.Manifest = b.Manifest.Clone()
		bare.Manifest.Vectors.Prefix = models.Prefix{}
		other, err := r.measureBundle(ctx, &bare, own.Language)
		if err != nil {
			return err
		}
		if isBetter(other, own) {
			return &DoubtError{Setting: models.SettingPrefix,
				Reason: fmt.Sprintf(
					"with the prefixes %q and %q %s, and without them %s", b.Manifest.Vectors.Prefix.Question,
					b.Manifest.Vectors.Prefix.Passage, found(own), found(other),
				)}
		}
	}
	switch {
	case own.Unknown > mostUnknown:
		return &DoubtError{
			Setting: SettingTokenizer + ", or whether it lower-cases,",
			Reason:  fmt.Sprintf("%s, and the vocabulary lacks %.0f of 100 of their words", found(own), 100*own.Unknown),
		}
	case own.Share() >= leastParaphrases:
		return nil
	case another == nil && b.Manifest.Vectors.Pooling != models.PoolingGraph:
		return &DoubtError{
			Setting: models.SettingPooling + ", the " + models.SettingPrefix + " or the " + SettingTokenizer,
			Reason:  found(own),
		}
	}
	return &DoubtError{
		Setting: SettingTokenizer + ", a missing " + models.SettingPrefix + ", or the model itself, which was not trained to compare texts,",
		Reason:  found(own) + ", with either pooling",
	}
}

// isBetter reports whether an encoder with the results a is clearly better than one with the results b.
func isBetter(a, b ParaphraseResult) bool {
	return a.Share() >= leastParaphrases && a.Separation > clearlyBetter*b.Separation && a.First >= b.First
}

// measureBundle opens a bundle on the CPU, returns the result of TryParaphrases in a language ("": the best one) and
// closes it. It fails if the bundle cannot be opened, or its encoder fails.
func (r *Runtime) measureBundle(
	ctx context.Context, b *models.Bundle, language string,
) (p ParaphraseResult, err error) {
	e, err := r.Open(b, Running{Provider: CPU})
	if err != nil {
		return p, err
	}
	p, err = e.TryParaphrases(ctx, language)
	return p, errors.Join(err, e.Close())
}
