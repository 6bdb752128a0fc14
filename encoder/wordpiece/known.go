package wordpiece

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words counts how much of a text the vocabulary knows: text in another language
// than its own, and gibberish, fall into many pieces or none.
type Words struct {
	All     int // words of the text; punctuation is none
	Whole   int // that are a piece of the vocabulary as they are, in a script that it covers
	Unknown int // that no pieces make up, or that are in a script that the vocabulary does not cover
	// Characters are those of all words, and Read of those that are not Unknown: some
	// scripts put no spaces between words.
	Characters, Read int
}

// Readable returns the share of the words' characters that belong to words that are not Unknown, 0 to 1. It is 1 for a
// text without words, such as punctuation.
func (w Words) Readable() float64 {
	if w.Characters == 0 {
		return 1
	}
	return float64(w.Read) / float64(w.Characters)
}

// coveredScript is the least share of a vocabulary's words that a script must have to
// count as covered. BERT's English one has 21,830 Latin words, 244 Han characters
// and some dozen letters of every other script: it can spell them and knows none.
const coveredScript = .02

// Words counts the words of a text, or of its first few thousand bytes if it is longer than any question.
func (t *Tokenizer) Words(text string) (w Words) {
	text, _ = nextChunk(text)
	text = text[:min(len(text), 2*chunkBytes)] // a word may have no end
	t.classes.splitWords(t.normal.normalise(text), func(word string) bool {
		first, _ := utf8.DecodeRuneInString(word)
		if t.classes.classify(first) == punctuation {
			return true
		}
		w.All++
		characters := utf8.RuneCountInString(word)
		w.Characters += characters
		_, whole := t.model.TokenToId(word)
		switch {
		case unicode.IsLetter(first) && !t.coversScript(first), !whole && t.isUnknown(word):
			w.Unknown++
			return true
		case whole:
			w.Whole++
		}
		w.Read += characters
		return true
	})
	return w
}

// isUnknown reports whether no pieces make up a word, or splitting it fails.
func (t *Tokenizer) isUnknown(word string) bool {
	pieces, err := t.appendWord(nil, word, math.MaxInt)
	return err != nil || len(pieces) == 1 && pieces[0] == t.unk
}

// coversScript reports whether the vocabulary covers the script of a letter (coveredScripts). It returns true for
// letters that belong to no script, such as ʻ.
func (t *Tokenizer) coversScript(letter rune) bool {
	for _, table := range t.scripts {
		if unicode.Is(table, letter) {
			return true
		}
	}
	return unicode.In(letter, unicode.Common, unicode.Inherited)
}

// Unknown reports whether an id is [UNK], which stands for any word that no pieces
// make up.
func (t *Tokenizer) Unknown(id int32) bool { return id == t.unk }

// Strange reports whether an id is [UNK] or a piece in a script that the vocabulary does
// not cover. A text without strange pieces is read as a whole.
func (t *Tokenizer) Strange(id int32) bool {
	return id >= 0 && int(id) < len(t.strange) && t.strange[id]
}

// strangePieces returns a list that has, for each id, whether the piece is [UNK] or in a script that the vocabulary
// does not cover. Ids that are far beyond the number of pieces are left out.
func (t *Tokenizer) strangePieces() []bool {
	most := 0
	for _, id := range t.ids {
		most = max(most, id)
	}
	if most > 4*len(t.ids)+1024 { // not the ids of a vocabulary
		most = 4*len(t.ids) + 1024
	}
	strange := make([]bool, most+1)
	for piece, id := range t.ids {
		first, _ := utf8.DecodeRuneInString(strings.TrimPrefix(piece, continuation))
		if id <= most {
			strange[id] = int32(id) == t.unk || unicode.IsLetter(first) && !t.coversScript(first)
		}
	}
	return strange
}

// coveredScripts returns the scripts that at least coveredScript of the vocabulary's words begin with, in any
// order.
func (v *vocabulary) coveredScripts() (covered []*unicode.RangeTable) {
	counts := map[*unicode.RangeTable]int{}
	words := 0
	var last *unicode.RangeTable // most pieces have the script of the one before
	for piece := range v.ids {
		first, _ := utf8.DecodeRuneInString(piece)
		if !unicode.IsLetter(first) || strings.HasPrefix(piece, continuation) {
			continue
		}
		if last == nil || !unicode.Is(last, first) {
			last = scriptOf(first)
		}
		counts[last]++
		words++
	}
	for script, n := range counts {
		if script != nil && float64(n) >= coveredScript*float64(words) {
			covered = append(covered, script)
		}
	}
	return covered
}

// scriptOf returns the script of a letter, nil for one without.
func scriptOf(letter rune) *unicode.RangeTable {
	for _, table := range unicode.Scripts {
		if unicode.Is(table, letter) {
			return table
		}
	}
	return nil
}
