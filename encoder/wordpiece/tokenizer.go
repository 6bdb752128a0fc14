// Package wordpiece turns text into the token ids of BERT's WordPiece
// vocabulary, identically to the reference (Hugging Face tokenizers).
//
// Words found here: a vocabulary maps pieces to ids; a piece is a word or a
// part of one, the parts after the first written with ## in front; [CLS]
// opens an input, [SEP] ends each text in it (other models of the family call them otherwise, MPNet
// <s> and </s>, of which two stand between the texts of a pair), [UNK] stands for a word that no
// pieces make up. There is one difference: the reference gives [UNK] for any word
// of more than 100 characters, and here it has its pieces (the reference's own with
// a larger max_input_chars_per_word), so that two keys or hashes are not the same.
//
// The model, greedy longest match first (Schuster & Nakajima 2012; Devlin et
// al. 2019, section 4.1), is github.com/sugarme/tokenizer's. What surrounds
// it there is replaced: its normaliser panics on İ and ẞ and loses accents
// and non-ASCII spaces, its pre-tokenizer keeps offsets that are not
// needed here (172 µs a question against 0.6 µs), and it turns "[SEP]" typed by a
// user into the real separator. Here text is text: no string in the input
// ever becomes a special token.
package wordpiece

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/encoder/framing"

	"github.com/sugarme/tokenizer/model/wordpiece"
)

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	normal  *normaliser
	classes *classes
	model   wordpiece.WordPiece

	alphabet    map[rune]struct{} // every character of the vocabulary
	cls, sep    int32
	frame       framing.Frame
	unk, pad    int32
	fingerprint string                // of the vocabulary
	scripts     []*unicode.RangeTable // that it has the words of
	ids         map[string]int        // of the pieces
	longest     int                   // bytes of the longest piece
	strange     []bool                // by id: the piece is [UNK] or of a script that is not covered

	whole func() []string // see WholeWords

	split *splitCache
}

// Behind returns a tokenizer of the same vocabulary and cache that applies form to each text first; nil: texts stay
// as they are. form must leave ASCII alone, and its result for a word must not depend on what is beyond a space.
func (t *Tokenizer) Behind(form func(text string) string) *Tokenizer {
	u, normal := *t, *t.normal
	normal.form = form
	u.normal = &normal
	return &u
}

// chunkBytes is how much text is normalised at a time, so that a book that
// will be cut to 256 tokens costs no more than its first page.
const chunkBytes = 4096

// Encode returns [CLS] text [SEP], cut at the end so that it has at most maxTokens ids, the two special ones
// counted; maxTokens below 2 is an error. Any bytes are allowed: broken UTF-8 and control characters are dropped.
// Another error says that the library's model failed on a word.
func (t *Tokenizer) Encode(text string, maxTokens int) ([]int32, error) {
	if maxTokens < 2 {
		return nil, fmt.Errorf("a limit of %d tokens leaves no room for [CLS] and [SEP]: it must be at least 2", maxTokens)
	}
	ids := make([]int32, 1, min(maxTokens, 2+len(text)/2))
	ids[0] = t.cls
	ids, err := t.appendPieces(ids, text, maxTokens-1)
	if err != nil {
		return nil, err
	}
	return append(ids, t.sep), nil
}

// EncodePair returns [CLS] first [SEP] second [SEP] in at most maxTokens ids, and the index at which the second
// text begins: in a model with token types, ids from there on have type 1. Texts that are too long are cut as the
// reference does (longest_first): the longer one until both are equally long, then both, an odd token being left to
// the longer. It fails if maxTokens leaves no room for the special tokens, or if the library's model fails on a
// word.
func (t *Tokenizer) EncodePair(first, second string, maxTokens int) (ids []int32, boundary int, err error) {
	room := maxTokens - t.frame.Between()
	if room < 0 {
		return nil, 0, fmt.Errorf(
			"a limit of %d tokens leaves no room for [CLS] and two [SEP]: it must be at least %d", maxTokens,
			t.frame.Between(),
		)
	}
	// One more than fits tells a text that fits from one that does not.
	a, err := t.appendPieces(nil, first, room+1)
	if err != nil {
		return nil, 0, err
	}
	b, err := t.appendPieces(nil, second, room+1)
	if err != nil {
		return nil, 0, err
	}
	lengthA, lengthB := len(a), len(b)
	if lengthA > room && lengthB > room && room%2 == 1 {
		// Only here does it matter which of two texts that are both far too
		// long is the longer.
		lengthA, err = t.count(first)
		if err != nil {
			return nil, 0, err
		}
		lengthB, err = t.count(second)
		if err != nil {
			return nil, 0, err
		}
	}
	keepA, keepB := framing.LongestFirst(lengthA, lengthB, room)
	ids = make([]int32, 0, keepA+keepB+t.frame.Between())
	ids = append(ids, t.cls)
	ids = append(ids, a[:keepA]...)
	ids = append(ids, t.sep)
	if t.frame.Twice {
		ids = append(ids, t.sep)
	}
	boundary = len(ids)
	ids = append(ids, b[:keepB]...)
	return append(ids, t.sep), boundary, nil
}

// Pad returns the id that fills the shorter rows of a batch.
func (t *Tokenizer) Pad() int32 { return t.pad }

// CLS returns the id that opens an input.
func (t *Tokenizer) CLS() int32 { return t.cls }

// SEP returns the id that ends a text; see CLS.
func (t *Tokenizer) SEP() int32 { return t.sep }

// count returns the number of pieces of a text, without special tokens. It fails if a word cannot be split.
func (t *Tokenizer) count(text string) (int, error) {
	ids, err := t.appendPieces(nil, text, int(^uint(0)>>1))
	return len(ids), err
}

// appendPieces appends the ids of text's pieces, without special tokens, to ids until that has limit entries, and
// returns the result. It fails if a word cannot be split.
func (t *Tokenizer) appendPieces(ids []int32, text string, limit int) ([]int32, error) {
	var err error
	for len(text) > 0 && len(ids) < limit && err == nil {
		var chunk string
		chunk, text = nextChunk(text)
		t.classes.splitWords(t.normal.normalise(chunk), func(word string) bool {
			ids, err = t.appendWord(ids, word, limit)
			return err == nil && len(ids) < limit
		})
	}
	if err != nil {
		return nil, err
	}
	return ids[:min(len(ids), limit)], nil
}

// nextChunk cuts text at the first space after chunkBytes, which begins rest, or not at all if there is none or the
// text is short. Each side of a space normalises by itself, since a space takes no part in decomposition.
func nextChunk(text string) (chunk, rest string) {
	if len(text) <= chunkBytes {
		return text, ""
	}
	if at := strings.IndexAny(text[chunkBytes:], " \n\t"); at >= 0 {
		return text[:chunkBytes+at], text[chunkBytes+at:]
	}
	return text, ""
}

// appendWord appends the ids of one word and returns the result: the word itself if the vocabulary has it, otherwise
// its pieces. If the word is longer than longestWord, it stops when the result has limit ids; otherwise the result may
// have a few more. It fails if a word cannot be split.
func (t *Tokenizer) appendWord(ids []int32, word string, limit int) ([]int32, error) {
	if len(word) > longestWord && utf8.RuneCountInString(word) > longestWord {
		return t.appendLong(ids, word, limit), nil
	}
	if id, ok := t.model.TokenToId(word); ok {
		return append(ids, int32(id)), nil
	}
	if pieces, ok := t.split.get(word); ok {
		return append(ids, pieces...), nil
	}
	pieces, err := t.splitWord(word)
	if err != nil {
		return nil, err
	}
	t.split.put(word, pieces)
	return append(ids, pieces...), nil
}

// appendLong appends the ids of a word that is too long for the library's model, which takes time with the square
// of its length: the same greedy longest matches, until ids has limit entries; [UNK] alone if no piece fits at some
// place.
func (t *Tokenizer) appendLong(ids []int32, word string, limit int) []int32 {
	first := len(ids)
	piece := make([]byte, 0, len(continuation)+t.longest)
	for at := 0; at < len(word) && len(ids) < limit; {
		piece = piece[:0]
		if at > 0 {
			piece = append(piece, continuation...)
		}
		mark := len(piece)
		piece = append(piece, word[at:min(at+t.longest, len(word))]...)
		id, found := 0, false
		for len(piece) > mark && !found {
			id, found = t.ids[string(piece)]
			if !found {
				_, size := utf8.DecodeLastRune(piece)
				piece = piece[:len(piece)-size]
			}
		}
		if !found {
			return append(ids[:first], t.unk)
		}
		ids = append(ids, int32(id))
		at += len(piece) - mark
	}
	return ids
}

// splitWord returns the ids of a word's pieces, as the library finds them; [UNK] alone if no piece has one of the
// word's characters. A panic of the library, which a strange word may cause, becomes an error.
func (t *Tokenizer) splitWord(word string) (pieces []int32, err error) {
	for _, r := range word {
		if _, ok := t.alphabet[r]; !ok {
			// No piece has this character. The model finds that out in
			// quadratic time, which is a way to make a server busy.
			return []int32{t.unk}, nil
		}
	}
	defer func() {
		if failure := recover(); failure != nil {
			pieces = nil
			err = fmt.Errorf("tokenizing %q: the WordPiece model panicked: %v", word, failure)
		}
	}()
	tokens, err := t.model.Tokenize(word)
	if err != nil {
		return nil, fmt.Errorf("tokenizing %q: %w", word, err)
	}
	pieces = make([]int32, len(tokens))
	for i, token := range tokens {
		pieces[i] = int32(token.Id)
	}
	return pieces, nil
}
