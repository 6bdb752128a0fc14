package wordpiece

import (
	"slices"
	"unicode/utf8"
)

// Range is bytes of a text, from Begin up to End.
type Range struct{ Begin, End int }

// Located returns the ids that Encode gives for a text, without special tokens and at most limit, and for each the
// range of the word that it belongs to. Words are runs between spaces, with every punctuation mark and ideograph a
// word by itself. The error is the one that Encode returns.
func (t *Tokenizer) Located(text string, limit int) (ids []int32, words []Range, err error) {
	for at := 0; at < len(text) && len(ids) < limit; {
		begin := at + t.prefixOf(text[at:], func(k class) bool { return k == space })
		end := begin + t.prefixOf(text[begin:], func(k class) bool { return k != space })
		ids, words, err = t.locatePieces(ids, words, text, Range{begin, end}, limit-len(ids))
		if err != nil {
			return nil, nil, err
		}
		at = end
	}
	n := min(len(ids), limit)
	return ids[:n:n], words[:n:n], nil
}

// prefixOf returns the length in bytes of the longest prefix of text whose characters satisfy is.
func (t *Tokenizer) prefixOf(text string, is func(class) bool) (n int) {
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !is(t.classes.classify(r)) {
			break
		}
		n += size
	}
	return n
}

// locatePieces appends the ids and words of the part between of a text, which lies between two spaces, at most room of
// them, and returns the results. That part is split at punctuation and ideographs; if this would give other ids than
// the whole, it is one word. It fails if a word cannot be split.
func (t *Tokenizer) locatePieces(
	ids []int32, words []Range, text string, between Range, room int,
) ([]int32, []Range, error) {
	first := len(ids)
	whole, err := t.appendPieces(nil, text[between.Begin:between.End], room)
	if err != nil {
		return nil, nil, err
	}
	alone := func(k class) bool { return k == punctuation || k == ideograph }
	for at := between.Begin; at < between.End && len(ids) < first+room; {
		end := at + t.prefixOf(text[at:between.End], func(k class) bool { return !alone(k) })
		if end == at {
			_, size := utf8.DecodeRuneInString(text[at:])
			end += size
		}
		before := len(ids)
		ids, err = t.appendPieces(ids, text[at:end], min(len(ids)+len(whole)+1, first+room))
		if err != nil {
			return nil, nil, err
		}
		for range len(ids) - before {
			words = append(words, Range{at, end})
		}
		at = end
	}
	if !slices.Equal(ids[first:], whole) {
		ids = append(ids[:first], whole...)
		words = words[:first]
		for range whole {
			words = append(words, between)
		}
	}
	return ids, words, nil
}
