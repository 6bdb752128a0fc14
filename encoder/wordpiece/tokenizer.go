// Package wordpiece turns text into the token ids of BERT's WordPiece
// vocabulary, identically to the reference (Hugging Face tokenizers).
//
// Words found here: a vocabulary maps pieces to ids; a piece is a word or a
// part of one, the parts after the first written with ## in front; [CLS]
// opens an input, [SEP] ends each text in it, [UNK] stands for a word that no
// pieces make up.
//
// Text is text: no string in the input ever becomes a special token.
package wordpiece

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	normal  *normaliser
	classes *classes

	first, inner map[string]int32 // pieces that begin a word, and that go on with one (without their ##)
	longest      int              // bytes of a piece
	maxWordRunes int              // a longer word is unknown
	cls, sep     int32
	unk, pad     int32
	scripts      []*unicode.RangeTable // that the vocabulary has the words of
}

// chunkBytes is how much text is normalised at a time, so that a book that
// will be cut to 256 tokens costs no more than its first page.
const chunkBytes = 4096

// Encode is [CLS] text [SEP], cut at the end so that it has at most maxTokens
// ids, the two special ones counted; maxTokens below 2 is an error. Any bytes
// are allowed: broken UTF-8 and control characters are dropped.
func (t *Tokenizer) Encode(text string, maxTokens int) ([]int32, error) {
	if maxTokens < 2 {
		return nil, fmt.Errorf("a limit of %d tokens leaves no room for [CLS] and [SEP]: it must be at least 2", maxTokens)
	}
	ids := make([]int32, 1, min(maxTokens, 2+len(text)/2))
	ids[0] = t.cls
	return append(t.appendPieces(ids, text, maxTokens-1), t.sep), nil
}

// EncodePair is [CLS] first [SEP] second [SEP] in at most maxTokens ids, and
// the place where the second text begins: in a model trained with token
// types, ids from there on have type 1. What is too long is cut
// longest_first, as the reference does: the longer text gives way until both
// are equally long, then both do, an odd token being left to the longer.
func (t *Tokenizer) EncodePair(first, second string, maxTokens int) (ids []int32, boundary int, err error) {
	room := maxTokens - 3
	if room < 0 {
		return nil, 0, fmt.Errorf("a limit of %d tokens leaves no room for [CLS] and two [SEP]: it must be at least 3", maxTokens)
	}
	// One more than fits tells a text that fits from one that does not.
	a, b := t.appendPieces(nil, first, room+1), t.appendPieces(nil, second, room+1)
	lengthA, lengthB := len(a), len(b)
	if lengthA > room && lengthB > room && room%2 == 1 {
		// Only here does it matter which of two texts that are both far too
		// long is the longer.
		lengthA, lengthB = len(t.appendPieces(nil, first, math.MaxInt)), len(t.appendPieces(nil, second, math.MaxInt))
	}
	keepA, keepB := longestFirst(lengthA, lengthB, room)
	ids = make([]int32, 0, keepA+keepB+3)
	ids = append(ids, t.cls)
	ids = append(ids, a[:keepA]...)
	ids = append(ids, t.sep)
	boundary = len(ids)
	ids = append(ids, b[:keepB]...)
	return append(ids, t.sep), boundary, nil
}

// Pad is the id that fills the shorter rows of a batch.
func (t *Tokenizer) Pad() int32 { return t.pad }

// longestFirst is how many tokens of two texts stay when both together may
// have room.
func longestFirst(a, b, room int) (keepA, keepB int) {
	if a+b <= room {
		return a, b
	}
	short := min(a, b)
	long := room - short
	if long < short {
		short = room / 2
		long = room - short
	}
	if a > b {
		return long, short
	}
	return short, long
}

// appendPieces appends the ids of text's pieces until ids has limit entries.
func (t *Tokenizer) appendPieces(ids []int32, text string, limit int) []int32 {
	for len(text) > 0 && len(ids) < limit {
		var chunk string
		chunk, text = nextChunk(text)
		t.classes.words(t.normal.normalise(chunk), func(word string) bool {
			ids = t.appendWord(ids, word)
			return len(ids) < limit
		})
	}
	return ids[:min(len(ids), limit)]
}

// nextChunk cuts text at a space after chunkBytes. A space can be cut at
// because it takes no part in decomposition: what is left and right of it
// normalises by itself.
func nextChunk(text string) (chunk, rest string) {
	if len(text) <= chunkBytes {
		return text, ""
	}
	if at := strings.IndexAny(text[chunkBytes:], " \n\t"); at >= 0 {
		return text[:chunkBytes+at], text[chunkBytes+at:]
	}
	return text, ""
}

// appendWord appends the ids of one word's pieces, greedily the longest first
// (Schuster & Nakajima 2012; Devlin et al. 2019, section 4.1).
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	before := len(ids)
	if len(word) > t.maxWordRunes && utf8.RuneCountInString(word) > t.maxWordRunes {
		return append(ids, t.unk)
	}
	for pieces, rest := t.first, word; rest != ""; pieces = t.inner {
		end := min(len(rest), t.longest)
		id, ok := pieces[rest[:end]]
		for !ok && end > 1 {
			end--
			id, ok = pieces[rest[:end]]
		}
		if !ok {
			return append(ids[:before], t.unk)
		}
		ids, rest = append(ids, id), rest[end:]
	}
	return ids
}
