package encoder

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"

	"example.org/conclave/encoder/subword"
	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/normalise"
	"example.org/conclave/models"
)

// questionTokens is a tokenizer that several encoders share, with a cache of the tokens
// of recent questions: experts of one base need those of the same question at the same
// moment.
type questionTokens struct {
	textTokenizer
	words *wordpiece.Tokenizer // the same where it is one of BERT's; else nil

	mu    sync.Mutex
	known map[questionKey]*tokenisedText
	order [rememberedQuestions]questionKey // the oldest at next
	next  int

	runs atomic.Int64 // of the tokenizer, for questions
}

// textTokenizer turns texts into ids; see wordpiece.Tokenizer.
type textTokenizer interface {
	Encode(text string, maxTokens int) ([]int32, error)
	EncodePair(first, second string, maxTokens int) (ids []int32, boundary int, err error)
	Words(text string) wordpiece.Words
	WholeWords() []string
	Unknown(id int32) bool
	Strange(id int32) bool
	CLS() int32
	SEP() int32
	Pad() int32
	SelfTest() error
}

// openTokenizer opens the tokenizer of a bundle: a WordPiece vocabulary, or a tokenizer.json of a supported type. form
// is applied to each text before it is split; nil: texts stay as they are. It fails if the file cannot be read or its
// type is not supported.
func openTokenizer(b *models.Bundle, form func(string) string) (*questionTokens, error) {
	m := &b.Manifest
	path := b.Path(m.Tokenizer)
	kind := "WordPiece"
	var data []byte
	if filepath.Ext(path) == ".json" {
		var err error
		data, err = disk.ReadRegular(path, mostTokenizer)
		if err == nil {
			kind, err = subword.Kind(data)
		}
		if err != nil {
			return nil, fmt.Errorf("tokenizer %s: %w", path, err)
		}
	}
	if kind == "WordPiece" {
		words, err := wordpiece.Open(path, m.LowerCase)
		if err != nil {
			return nil, err
		}
		if form != nil {
			words = words.Behind(form)
		}
		return &questionTokens{textTokenizer: words, words: words, known: map[questionKey]*tokenisedText{}}, nil
	}
	pieces, err := subword.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	if form != nil {
		pieces = pieces.Behind(form)
	}
	return &questionTokens{textTokenizer: pieces, known: map[questionKey]*tokenisedText{}}, nil
}

// Located returns the first limit word pieces of a text and the ranges of its words (wordpiece.Tokenizer.Located). It
// fails if the tokenizer is not BERT's WordPiece.
func (q *questionTokens) Located(text string, limit int) (ids []int32, words []wordpiece.Range, err error) {
	if q.words == nil {
		return nil, nil, errors.New("the words of a text can be located by BERT's WordPiece alone")
	}
	return q.words.Located(text, limit)
}

// rememberedQuestions is more than can be under way at once on most machines;
// one that is forgotten too early is tokenised again.
const rememberedQuestions = 256

type questionKey struct {
	text  string
	limit int
}

// tokenisedText is a question's tokens, at most the limit: not to be changed.
type tokenisedText struct {
	once sync.Once
	ids  []int32
	cut  bool    // the question is longer
	read float64 // see Encoder.Readable
	err  error
}

// tokensOf returns the tokens of a question, at most limit with the special ones. Equal questions share the result,
// which must not be changed. A failure is in its err.
func (q *questionTokens) tokensOf(text string, limit int) *tokenisedText {
	t := q.entryFor(questionKey{text, limit})
	t.once.Do(func() {
		q.runs.Add(1)
		t.ids, t.err = q.Encode(text, limit+1)
		if t.err == nil && len(t.ids) > limit {
			// What is cut is cut before the closing token.
			last := t.ids[limit]
			t.cut = true
			t.ids = append(t.ids[:limit-1], last)
		}
		t.read = vectorWeight(q.Words(text).Readable())
	})
	return t
}

// entryFor returns the remembered entry of a question, or a new one in the place of the oldest.
func (q *questionTokens) entryFor(key questionKey) *tokenisedText {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t, ok := q.known[key]; ok {
		return t
	}
	delete(q.known, q.order[q.next])
	q.order[q.next] = key
	q.next = (q.next + 1) % rememberedQuestions
	t := new(tokenisedText)
	q.known[key] = t
	return t
}

// tokenizers are those that a runtime has opened, by their files' sums. Experts of
// one base have the same.
type tokenizers struct {
	mu   sync.Mutex
	open map[tokenizerKey]*questionTokens
}

type tokenizerKey struct {
	sha256    string
	lowerCase bool
}

// loadTokenizer returns the tokenizer of a bundle, which bundles with the same file share. It normalises texts
// first (normalise.Text). The error is that of opening the file.
func (t *tokenizers) loadTokenizer(b *models.Bundle) (*questionTokens, error) {
	m := &b.Manifest
	key := tokenizerKey{m.Files[m.Tokenizer], m.LowerCase}
	t.mu.Lock()
	defer t.mu.Unlock()
	if q, ok := t.open[key]; ok && key.sha256 != "" {
		return q, nil
	}
	q, err := openTokenizer(b, normalise.Text)
	if err != nil {
		return nil, err
	}
	if t.open == nil {
		t.open = map[tokenizerKey]*questionTokens{}
	}
	t.open[key] = q
	return q, nil
}
