package encoder

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// paraphrasesFile holds questions, or statements, of everyday matters, and with each a passage
// that answers it, or says the same, in other words; in some languages.
//
//go:embed paraphrases.json
var paraphrasesFile []byte

// ParaphraseResult is how well an encoder tells the paraphrases of one language from unrelated texts.
type ParaphraseResult struct {
	Language string
	// First is for how many of the Pairs the paraphrase is nearer than the passages of all others.
	Pairs, First int
	// Separation is how far the similarity of paraphrases lies above that of unrelated texts,
	// on average, in standard deviations of the latter.
	Separation float64
	// Unknown is the share of the words of which the vocabulary has not even the pieces, 0 to 1.
	Unknown float64
}

// Share returns the share of the paraphrases that are the nearest passage, 0 to 1; NaN for the zero value.
func (p ParaphraseResult) Share() float64 { return float64(p.First) / float64(p.Pairs) }

// TryParaphrases encodes the paraphrases of a language that ship with this package and returns how well they are
// told from unrelated texts. language is its English name; "": the language in which that is best, of equal ones
// the first. An encoder that is used as it was trained finds nearly all in a language that it knows. It fails for a
// language that has no paraphrases, or if encoding fails.
func (e *Encoder) TryParaphrases(ctx context.Context, language string) (best ParaphraseResult, err error) {
	var file struct {
		Languages []struct {
			Language string
			Pairs    [][2]string
		}
	}
	if err := json.Unmarshal(paraphrasesFile, &file); err != nil {
		return best, fmt.Errorf("reading the paraphrases: %w", err)
	}
	var all []ParaphraseResult
	for _, l := range file.Languages {
		if language != "" && l.Language != language {
			continue
		}
		p, err := e.measureParaphrases(ctx, l.Pairs)
		if err != nil {
			return best, err
		}
		p.Language = l.Language
		all = append(all, p)
	}
	if len(all) == 0 {
		return best, fmt.Errorf("there are no paraphrases in %q", language)
	}
	return slices.MaxFunc(all, func(a, b ParaphraseResult) int { return cmp.Compare(a.Share(), b.Share()) }), nil
}

// measureParaphrases encodes the first text of each pair as a question and the second as a passage, and returns how
// well the inner products tell a question's own passage from the passages of the other pairs. It leaves p.Language
// empty; p.Separation is 0 if all other passages are equally near. It fails if encoding does.
func (e *Encoder) measureParaphrases(ctx context.Context, pairs [][2]string) (p ParaphraseResult, err error) {
	p.Pairs = len(pairs)
	var texts []Text
	words, unknown := 0, 0
	for _, pair := range pairs {
		texts = append(texts, Text{Text: pair[1]})
		for _, text := range pair {
			n, _, un := e.KnownWords(text)
			words, unknown = words+n, unknown+un
		}
	}
	p.Unknown = float64(unknown) / float64(max(words, 1))
	passages, err := e.EncodePassages(ctx, texts)
	if err != nil {
		return p, err
	}
	var own, others []float64
	for i, pair := range pairs {
		question, err := e.EncodeQuestion(ctx, pair[0])
		if err != nil {
			return p, err
		}
		similarity := e.innerProduct(question, passages[i])
		nearest := true
		for j := range passages {
			if j != i {
				other := e.innerProduct(question, passages[j])
				others = append(others, other)
				nearest = nearest && other < similarity
			}
		}
		own = append(own, similarity)
		if nearest {
			p.First++
		}
	}
	related, _ := meanAndDeviation(own)
	unrelated, deviation := meanAndDeviation(others)
	if deviation > 0 {
		p.Separation = (related - unrelated) / deviation
	}
	return p, nil
}

// innerProduct returns the inner product of two vectors of the encoder's kind, also of sparse ones.
func (e *Encoder) innerProduct(a, b []float32) float64 {
	if e.Sparse() {
		return pairsProduct(a, b)
	}
	return innerProduct(a, b)
}

// innerProduct returns the inner product of a and b, which must not be shorter than a.
func innerProduct(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// meanAndDeviation returns the mean and the standard deviation of values; 0 and 0 without any.
func meanAndDeviation(values []float64) (mean, deviation float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	for _, x := range values {
		deviation += (x - mean) * (x - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}
