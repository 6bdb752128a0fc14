package encoder

import (
	"fmt"

	"example.org/conclave/internal/normalise"
	"example.org/conclave/models"
)

// Text is a passage to encode. Without a title the template has no effect.
type Text struct{ Title, Text string }

// QuestionTokens returns how many tokens of a question EncodeQuestion reads, special ones included; 0 if it cannot
// be tokenised. cut says that the question is longer than the bundle's limit, so that its end is not read.
func (e *Encoder) QuestionTokens(text string) (read int, cut bool) {
	t := e.tokenizer.tokensOf(e.withPrefix(text), e.bundle.Manifest.Vectors.MaxTokens.Question)
	return len(t.ids), t.cut
}

// KnownWords returns how many words a text has, how many of these the encoder's vocabulary has whole, and how many
// it cannot read at all. It counts the beginning of a text that is longer than any question.
func (e *Encoder) KnownWords(text string) (words, whole, unknown int) {
	w := e.tokenizer.Words(text)
	return w.All, w.Whole, w.Unknown
}

// WholeWords returns the words of letters that the encoder's vocabulary has whole, in lower case, those first that
// its training met most often. The list must not be changed.
func (e *Encoder) WholeWords() []string { return e.tokenizer.WholeWords() }

// PassageTokens returns how many tokens of a passage in its template are read, and whether its end is not read. It
// returns 0 and false for a passage that cannot be tokenised.
func (e *Encoder) PassageTokens(t Text) (read int, cut bool) {
	ids, cut, _ := e.passageRow(t)
	return len(ids), cut
}

// passageRow returns the tokens of a passage that are encoded, special ones included; cut says that its end is left
// out. The error is that of the tokenizer.
func (e *Encoder) passageRow(t Text) (ids []int32, cut bool, err error) {
	limit := e.bundle.Manifest.Vectors.MaxTokens.Passage
	ids, err = e.passageTokens(t, limit+1)
	if err == nil && len(ids) > limit {
		cut = true
		ids, err = e.passageTokens(t, limit)
	}
	return ids, cut, err
}

// WordTokens returns the number of tokens of a word, without special ones and at most what a passage may have; 0 if
// it cannot be tokenised.
func (e *Encoder) WordTokens(word string) int {
	ids, err := e.tokenizer.Encode(word, e.bundle.Manifest.Vectors.MaxTokens.Passage)
	if err != nil {
		return 0
	}
	return len(ids) - 2 // without those that begin and end a text
}

// withPrefix returns a question after the bundle's prefix for questions.
func (e *Encoder) withPrefix(text string) string {
	return e.bundle.Manifest.Vectors.Prefix.Question + text
}

// passageTokens returns the first limit tokens of a passage, special ones included, with the bundle's prefix and in its
// template. Token types are zero in all templates: DPR was trained so, also for pairs. It fails if the text cannot be
// tokenised.
func (e *Encoder) passageTokens(t Text, limit int) ([]int32, error) {
	prefix := e.bundle.Manifest.Vectors.Prefix.Passage
	switch template := e.bundle.Manifest.Vectors.Template; {
	case template == models.TemplatePair && t.Title != "":
		ids, _, err := e.tokenizer.EncodePair(prefix+t.Title, t.Text, limit)
		return ids, err
	case template == models.TemplateTitleDotText && t.Title != "":
		return e.tokenizer.Encode(prefix+t.Title+". "+t.Text, limit)
	default:
		return e.tokenizer.Encode(prefix+t.Text, limit)
	}
}

// normalisedMark is appended to the fingerprint of a passage encoder that normalises
// texts (normalise.Text). Vectors of ASCII texts are the same with and without.
const normalisedMark = "+nfkc-"

// Normalised returns the fingerprint of a passage encoder that normalises texts first. own is that of the encoder
// itself.
func Normalised(own string) string {
	return fmt.Sprintf("%s%s%d", own, normalisedMark, normalise.Version)
}
