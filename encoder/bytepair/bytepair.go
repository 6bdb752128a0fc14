// Package bytepair turns text into the token ids of a byte-level BPE vocabulary, as RoBERTa has
// one, identically to the reference (Hugging Face tokenizers).
//
// A text is split into words by GPT-2's rule, a word is the bytes of its UTF-8, each written as
// one printable character, and neighbours are merged in the order of the vocabulary's merges
// (Sennrich et al. 2016, section 3.2; Radford et al. 2019, section 2.2).
//
// The model of github.com/sugarme/tokenizer is not used: its rule for words has no look-ahead, so
// that the last of several spaces is not the next word's, it takes time with the square of a
// word's length, and it prints and panics where it does not know a character. And text is text
// here: no string in the input ever becomes a special token.
package bytepair

import (
	"container/heap"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"example.org/conclave/encoder/framing"
)

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	Frame  framing.Frame
	IDs    map[string]int // of the pieces and of the special tokens
	prefix bool           // a space is put before a text
	bytes  [256]int32     // ids of single bytes
	merges map[[2]int32]merge
}

// merge is the piece that two adjacent pieces become; the pair with the least rank is merged first.
type merge struct {
	rank int
	id   int32
}

// file is what a tokenizer.json says, as far as it decides about ids.
type file struct {
	AddedTokens []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer *struct {
		Type   string `json:"type"`
		Prefix bool   `json:"add_prefix_space"`
		Regex  *bool  `json:"use_regex"`
	} `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         struct {
		Type         string            `json:"type"`
		Dropout      *float64          `json:"dropout"`
		Prefix       *string           `json:"continuing_subword_prefix"`
		Suffix       *string           `json:"end_of_word_suffix"`
		IgnoreMerges bool              `json:"ignore_merges"`
		Vocabulary   map[string]int    `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
	} `json:"model"`
}

// Parse reads a tokenizer.json with a byte-level BPE model, in the form of RoBERTa's. The error says what it has
// that would split text in a way that this package does not know, or what is missing.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	m := &f.Model
	given := func(s *string) bool { return s != nil && *s != "" }
	switch p := f.PreTokenizer; {
	case m.Type != "BPE":
		return nil, fmt.Errorf("model.type is %q; only BPE is read", m.Type)
	case m.Dropout != nil && *m.Dropout != 0 || given(m.Prefix) || given(m.Suffix) || m.IgnoreMerges:
		return nil, errors.New("model has a dropout, prefixes, suffixes or ignore_merges; RoBERTa's has none")
	case len(f.Normalizer) > 0 && string(f.Normalizer) != "null":
		return nil, errors.New("normalizer is set; byte-level BPE without one is supported")
	case p == nil || p.Type != "ByteLevel" || p.Regex != nil && !*p.Regex:
		return nil, errors.New("pre_tokenizer is not the ByteLevel of GPT-2 and RoBERTa; no other is read")
	}
	t := &Tokenizer{IDs: m.Vocabulary, prefix: f.PreTokenizer.Prefix, merges: make(map[[2]int32]merge, len(m.Merges))}
	var err error
	t.Frame, err = framing.Parse(f.PostProcessor)
	if err != nil {
		return nil, err
	}
	for piece, id := range m.Vocabulary {
		if id < 0 || id > math.MaxInt32 {
			return nil, fmt.Errorf("piece %q has the id %d, which is outside 0 to %d", piece, id, math.MaxInt32)
		}
	}
	for b, r := range byteAlphabet() {
		id, ok := m.Vocabulary[string(r)]
		if !ok {
			return nil, fmt.Errorf("model.vocab has no piece %q for the byte 0x%02X; a byte-level vocabulary has one for each", r, b)
		}
		t.bytes[b] = int32(id)
	}
	for rank, text := range m.Merges {
		pair, err := parseMerge(text)
		if err != nil {
			return nil, fmt.Errorf("model.merges[%d]: %w", rank, err)
		}
		a, okA := m.Vocabulary[pair[0]]
		b, okB := m.Vocabulary[pair[1]]
		both, ok := m.Vocabulary[pair[0]+pair[1]]
		if !ok || !okA || !okB {
			return nil, fmt.Errorf("model.merges[%d]: %q are not all in the vocabulary", rank, pair)
		}
		t.merges[[2]int32{int32(a), int32(b)}] = merge{rank, int32(both)}
	}
	for _, a := range f.AddedTokens {
		if !a.Special {
			return nil, fmt.Errorf("added_tokens has %q, which is no special token; words added to a vocabulary are not supported", a.Content)
		}
		t.IDs[a.Content] = a.ID
	}
	return t, nil
}

// parseMerge returns the two pieces of a merge, written "a b" in older files and ["a", "b"] in newer ones. It fails
// for anything else.
func parseMerge(data json.RawMessage) (pair [2]string, err error) {
	var text string
	if json.Unmarshal(data, &text) != nil {
		err = json.Unmarshal(data, &pair)
		return pair, err
	}
	var ok bool
	pair[0], pair[1], ok = strings.Cut(text, " ")
	if !ok {
		return pair, fmt.Errorf("%q is no pair", text)
	}
	return pair, nil
}

// byteAlphabet returns the character that stands for each byte in pieces: the byte itself if it is printable in
// Latin-1, else one from U+0100 on.
func byteAlphabet() (all [256]rune) {
	next := rune(256)
	for b := range all {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			all[b] = rune(b)
			continue
		}
		all[b] = next
		next++
	}
	return all
}

// Decoder returns a function that returns the text of a piece, which may be a part of a character. Characters of
// the piece that stand for no byte stay as they are.
func Decoder() func(piece string) string {
	byCharacter := map[rune]byte{}
	for b, r := range byteAlphabet() {
		byCharacter[r] = byte(b)
	}
	return func(piece string) string {
		var out []byte
		for _, r := range piece {
			if b, ok := byCharacter[r]; ok {
				out = append(out, b)
				continue
			}
			out = utf8.AppendRune(out, r)
		}
		return string(out)
	}
}

// Append appends the ids of a text's pieces to ids and returns the result, cut to limit entries, including those
// that ids had. Special tokens are not added. Any bytes are allowed: broken UTF-8 is dropped.
func (t *Tokenizer) Append(ids []int32, text string, limit int) []int32 {
	text = strings.ToValidUTF8(text, "")
	if t.prefix && text != "" && text[0] != ' ' {
		text = " " + text
	}
	for text != "" && len(ids) < limit {
		n := nextWord(text)
		ids = t.appendWord(ids, text[:n])
		text = text[n:]
	}
	return ids[:min(len(ids), limit)]
}

// symbol is a piece of a word while it is merged: a list by places.
type symbol struct {
	id         int32
	prev, next int // -1: none; next is -2 where the symbol is gone
}

// appendWord appends the ids of a word: it merges its bytes, always the pair with the least rank, of equal ones the
// first. The word must not be empty.
func (t *Tokenizer) appendWord(ids []int32, word string) []int32 {
	symbols := make([]symbol, len(word))
	for i := range len(word) {
		symbols[i] = symbol{t.bytes[word[i]], i - 1, i + 1}
	}
	symbols[len(word)-1].next = -1
	var queue candidates
	offer := func(left int) {
		if left < 0 || symbols[left].next < 0 {
			return
		}
		pair := [2]int32{symbols[left].id, symbols[symbols[left].next].id}
		if m, ok := t.merges[pair]; ok {
			heap.Push(&queue, candidate{m, left, pair})
		}
	}
	for i := range symbols {
		offer(i)
	}
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		left := &symbols[c.left]
		if left.next < 0 || left.id != c.pair[0] || symbols[left.next].id != c.pair[1] {
			continue // one of the two was merged otherwise
		}
		gone := left.next
		left.id = c.id
		left.next = symbols[gone].next
		symbols[gone] = symbol{-1, -1, -2}
		if left.next >= 0 {
			symbols[left.next].prev = c.left
		}
		offer(left.prev)
		offer(c.left)
	}
	for at := 0; at >= 0; at = symbols[at].next {
		ids = append(ids, symbols[at].id)
	}
	return ids
}

// candidate is a pair that may be merged.
type candidate struct {
	merge
	left int
	pair [2]int32
}

// candidates is a heap with the least rank first, of equal ones the first in the word.
type candidates []candidate

// Len implements heap.Interface.
func (c candidates) Len() int { return len(c) }

// Less implements heap.Interface: by rank, then by the place in the word.
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].left < c[j].left
}

// Swap implements heap.Interface.
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }

// Push implements heap.Interface: it appends a candidate; heap.Push calls it.
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }

// Pop implements heap.Interface: it removes and returns the last candidate; heap.Pop calls it.
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
