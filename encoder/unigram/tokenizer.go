// Package unigram turns text into the token ids of a SentencePiece Unigram vocabulary,
// as T5 and XLM-RoBERTa have one, and ids into text, identically to the reference (Hugging Face
// tokenizers).
//
// Words found here: a piece is a part of a word; ▁ (U+2581) stands for the space before
// a word; each piece has a score, the logarithm of its probability, and a word is split
// into the pieces whose scores have the largest sum (Kudo 2018, section 3.2).
//
// The map of characters (SentencePiece's precompiled_charsmap) is searched by
// github.com/sugarme/tokenizer. What surrounds it there deviates from the reference and
// is replaced: its normaliser writes combining characters as "U+0301", keeps characters
// that the map deletes, and looks each character of a cluster up at the cluster's
// first byte; its model adds 0.1 a byte to each score, knows no piece longer
// than 20 bytes, and starts a goroutine that nothing ends; its pre-tokenizer takes all
// white space for spaces. And like the project's other tokenizer this one takes text as
// text: no string in the input ever becomes a special token.
package unigram

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/encoder/framing"
)

// space stands for a space in pieces.
const space = "▁"

// unknownPenalty is how far the score of a character that no piece has lies below the
// lowest score of a piece.
const unknownPenalty = 10

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	pieces []string
	scores []float64
	hidden []bool           // by id: the piece is special: no part of a word is this piece, and Decode leaves it out
	ids    map[string]int32 // of the others
	// longest is the longest piece, in bytes.
	longest      int
	unknown, end int32
	unknownScore float64
	frame        framing.Frame

	chars *charMap    // nil: none
	ascii [128]string // what chars makes of single characters
	// strip: white space at the end is cut. squeezed: what several spaces become; "": what they
	// are. words: all white space parts words; otherwise spaces alone do.
	strip, words bool
	squeezed     string
}

// Pieces returns how many pieces there are; ids are below it.
func (t *Tokenizer) Pieces() int { return len(t.pieces) }

// Frame returns what stands around texts.
func (t *Tokenizer) Frame() framing.Frame { return t.frame }

// IDs returns a new map of the ids of all pieces, the special ones among them; of equal pieces that of the last.
func (t *Tokenizer) IDs() map[string]int {
	all := make(map[string]int, len(t.pieces))
	for id, piece := range t.pieces {
		all[piece] = id
	}
	return all
}

// End returns the id that ends a text.
func (t *Tokenizer) End() int32 { return t.end }

// Unknown returns the id of characters that no piece has.
func (t *Tokenizer) Unknown() int32 { return t.unknown }

// Encode returns the ids of text and End, at most maxTokens with End; the end of the text is cut. Frame().Start is
// not put before it. It fails for maxTokens below 1, or if the map of characters is damaged. Any bytes are allowed:
// broken UTF-8 is dropped.
func (t *Tokenizer) Encode(text string, maxTokens int) (ids []int32, err error) {
	if maxTokens < 1 {
		return nil, fmt.Errorf("a limit of %d tokens leaves no room for the one that ends a text", maxTokens)
	}
	ids, err = t.Append(nil, text, maxTokens-1)
	if err != nil {
		return nil, err
	}
	return append(ids, t.end), nil
}

// Append appends the ids of a text's pieces, without special tokens, to ids. It returns the result, cut to limit
// entries, including those that ids had. It fails if the map of characters is damaged.
func (t *Tokenizer) Append(ids []int32, text string, limit int) (_ []int32, err error) {
	defer func() {
		// The library indexes by what a map of characters says.
		if failure := recover(); failure != nil {
			err = fmt.Errorf("tokenizing a text of %d bytes: the map of characters led to a panic: %v", len(text), failure)
		}
	}()
	text = t.normalise(strings.ToValidUTF8(text, ""))
	for _, part := range t.splitSpaces(text) {
		for part != "" && len(ids) < limit {
			// Each ▁ begins a word, which is split by itself.
			end := len(part)
			if at := strings.Index(part[1:], space); at >= 0 {
				end = at + 1
			}
			ids = t.appendWord(ids, part[:end])
			part = part[end:]
		}
	}
	return ids[:min(len(ids), limit)], nil
}

// normalise returns text with its characters mapped and, if the file says so, without spaces at its end and with runs
// of spaces replaced.
func (t *Tokenizer) normalise(text string) string {
	if t.chars != nil {
		text = t.mapCharacters(text)
	}
	if t.strip {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	if t.squeezed == "" {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		plain := strings.Index(text, "  ")
		if plain < 0 {
			plain = len(text)
		}
		b.WriteString(text[:plain])
		text = text[plain:]
		if text != "" {
			text = strings.TrimLeft(text, " ")
			b.WriteString(t.squeezed)
		}
	}
	return b.String()
}

// splitSpaces returns the parts of text that are split by themselves: each word, if t.words, or all of it. Spaces
// become ▁, and each part begins with one.
func (t *Tokenizer) splitSpaces(text string) []string {
	parts := []string{text}
	if t.words {
		parts = strings.FieldsFunc(text, unicode.IsSpace)
	}
	for i, part := range parts {
		part = strings.ReplaceAll(part, " ", space)
		if part != "" && !strings.HasPrefix(part, space) {
			part = space + part
		}
		parts[i] = part
	}
	return parts
}

// appendWord appends the ids of a word and returns the result. It finds the split with the greatest sum of scores
// by the Viterbi algorithm, of equal ones the first. Characters in a row that no piece has are one unknown token.
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	type node struct {
		score float64
		start int
		id    int32
	}
	best := make([]node, len(word)+1)
	for i := range best {
		best[i].start = -1
	}
	for start := 0; start < len(word); {
		_, width := utf8.DecodeRuneInString(word[start:])
		single := false
		reach := func(end int, score float64, id int32) {
			score += best[start].score
			if best[end].start < 0 || score > best[end].score {
				best[end] = node{score, start, id}
			}
		}
		for end := start + width; end <= len(word) && end-start <= t.longest; {
			if id, ok := t.ids[word[start:end]]; ok {
				reach(end, t.scores[id], id)
				single = single || end == start+width
			}
			_, next := utf8.DecodeRuneInString(word[end:])
			end += max(next, 1)
		}
		if !single {
			reach(start+width, t.unknownScore, t.unknown)
		}
		start += width
	}
	var back []int32
	for end := len(word); end > 0; end = best[end].start {
		id := best[end].id
		if id == t.unknown && len(back) > 0 && back[len(back)-1] == id {
			continue // unknown characters in a row are one token
		}
		back = append(back, id)
	}
	for i := len(back) - 1; i >= 0; i-- {
		ids = append(ids, back[i])
	}
	return ids
}

// Decode returns the text of ids, without a space before its first word. Special pieces and impossible ids are left
// out.
func (t *Tokenizer) Decode(ids []int32) string {
	var b strings.Builder
	first := true
	for _, id := range ids {
		if id < 0 || int(id) >= len(t.pieces) || t.hidden[id] {
			continue
		}
		piece := t.pieces[id]
		if first {
			b.WriteString(strings.ReplaceAll(piece, space, ""))
		} else {
			b.WriteString(strings.ReplaceAll(piece, space, " "))
		}
		first = false
	}
	return b.String()
}
