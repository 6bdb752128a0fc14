package completion

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/internal/normalise"
	"example.org/conclave/internal/spelling"
)

// Completion is a text that was perhaps meant by what was typed.
type Completion struct {
	Entry
	// Corrected says that a word was typed otherwise.
	Corrected bool
}

const (
	mostTypedWords = 16 // words that are looked at, from the end
	leastCorrected = 4  // letters of a word that may be mistyped
	longest        = spelling.LongestWord + 8
)

// Complete returns at most so many completions (most) of what was typed: first the texts that begin with it, then those
// in which it begins at another word, then those that have its words in another order, each of the most frequent first.
// Where there are fewer, words that complete a single one follow, if several texts have them. If nothing has a word
// that begins as one that was typed, that word counts as mistyped. It returns nil for a text without words.
func (x *Index) Complete(typed string, most int) []Completion {
	text := normalise.Fold(typed)
	if text == "" || most < 1 {
		return nil
	}
	words := strings.Fields(text)
	words = words[max(0, len(words)-mostTypedWords):]
	out := x.complete(words, most)
	if len(out) > 0 {
		return out
	}
	corrected, ok := x.correct(words)
	if !ok {
		return nil
	}
	out = x.complete(corrected, most)
	for i := range out {
		out[i].Corrected = true
	}
	return out
}

// complete is Complete for folded words, the last of which may go on.
func (x *Index) complete(words []string, most int) []Completion {
	found := x.inOrder(strings.Join(words, " "), most)
	if len(found) < most && len(words) > 1 {
		found = append(found, x.inAnyOrder(words, found, most-len(found))...)
	}
	out := make([]Completion, 0, most)
	for _, i := range found {
		out = append(out, Completion{Entry: x.entries[i]})
	}
	last := len(words) - 1
	if last > 0 {
		return out // words that stand in no text together say nothing
	}
	for _, w := range mostFrequent(x.wordsOf(words[last]), most+1) {
		if len(out) == most {
			break
		}
		text := strings.Join(append(slices.Clone(words[:last]), w.text), " ")
		same := func(c Completion) bool { return normalise.Fold(c.Text) == text }
		if w.entries > 1 && w.text != words[last] && !slices.ContainsFunc(out, same) {
			out = append(out, Completion{Entry: Entry{Text: text, Kind: Word, Passages: w.passages}})
		}
	}
	return out
}

// mostFrequent returns at most so many words (most), those of the most passages first, and of equally many in
// alphabetical order. words are in that order; it does not change them.
func mostFrequent(words []word, most int) []word {
	best := make([]word, 0, most+1)
	for _, w := range words {
		if len(best) == most && w.passages <= best[most-1].passages {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, w, func(a, b word) int {
			return cmp.Or(cmp.Compare(b.passages, a.passages), cmp.Compare(a.text, b.text))
		})
		best = slices.Insert(best, at, w)
		best = best[:min(len(best), most)]
	}
	return best
}

// inOrder returns at most so many entries (most) that have text at the beginning of a word: those that begin with it,
// then the others, each with the lowest numbers first.
func (x *Index) inOrder(text string, most int) []uint32 {
	best := make([]uint64, 0, most+1) // an entry, above all others if it does not begin with the text
	for _, s := range x.startsOf(text) {
		key := uint64(s.entry)
		if s.at > 0 {
			key |= 1 << 32
		}
		if len(best) == most && key >= best[most-1] {
			continue
		}
		if slices.ContainsFunc(best, func(k uint64) bool { return uint32(k) == s.entry && k <= key }) {
			continue
		}
		best = slices.DeleteFunc(best, func(k uint64) bool { return uint32(k) == s.entry })
		at, _ := slices.BinarySearch(best, key)
		best = slices.Insert(best, at, key)
		best = best[:min(len(best), most)]
	}
	out := make([]uint32, len(best))
	for i, key := range best {
		out[i] = uint32(key)
	}
	return out
}

// inAnyOrder returns at most so many entries (most) that have all words, the last of them at the beginning of one;
// those with the lowest numbers, and none of those in but.
func (x *Index) inAnyOrder(words []string, but []uint32, most int) []uint32 {
	rarest := x.startsOf(words[len(words)-1])
	for _, w := range words[:len(words)-1] {
		if some := x.startsOf(w); len(some) < len(rarest) {
			rarest = some
		}
	}
	seen := map[uint32]bool{}
	for _, i := range but {
		seen[i] = true
	}
	var out []uint32
	for _, s := range rarest {
		if !seen[s.entry] && x.hasAll(s.entry, words) {
			out = append(out, s.entry)
		}
		seen[s.entry] = true
	}
	slices.Sort(out)
	return out[:min(len(out), most)]
}

// hasAll reports whether an entry has all words, the last of them at the beginning of one.
func (x *Index) hasAll(entry uint32, words []string) bool {
	text := " " + x.folded[entry] + " "
	for i, w := range words {
		if i < len(words)-1 {
			w += " "
		}
		if !strings.Contains(text, " "+w) {
			return false
		}
	}
	return true
}

// correct returns the words with those replaced that no word of the entries begins with, by the most frequent of the
// nearest words. ok is false if a word has none, or all are known.
func (x *Index) correct(words []string) (corrected []string, ok bool) {
	corrected = slices.Clone(words)
	for i, w := range words {
		if len(x.wordsOf(w)) > 0 {
			continue
		}
		near := x.nearest(w, i == len(words)-1)
		if near == "" {
			return nil, false
		}
		corrected[i] = near
		ok = true
	}
	return corrected, ok
}

// nearest returns the beginning of a word, or, unless goesOn, the whole word, that is the fewest edits away from what
// was typed: at most spelling.MostEdits. Of equally near ones it is that of the word in the most passages. It returns
// "" if there is none. The first letter has to be right.
func (x *Index) nearest(typed string, goesOn bool) string {
	length := utf8.RuneCountInString(typed)
	allowed := spelling.MostEdits(length)
	if length < leastCorrected || length > spelling.LongestWord {
		return ""
	}
	_, size := utf8.DecodeRuneInString(typed)
	var best string
	least := allowed + 1
	passages := 0
	letters := []rune(typed)
	for _, w := range x.wordsOf(typed[:size]) {
		n, edits := prefixEdits([]rune(w.text), letters, allowed, goesOn)
		if edits < least || edits == least && edits <= allowed && w.passages > passages {
			best = string([]rune(w.text)[:n])
			least = edits
			passages = w.passages
		}
	}
	return best
}

// prefixEdits returns the fewest edits (spelling.Between) from a beginning of a word to what was typed, and the length
// of the longest such beginning; from the whole word unless goesOn. If there are more than most, the edits are more
// than most and the length means nothing.
func prefixEdits(meant, typed []rune, most int, goesOn bool) (length, edits int) {
	if !goesOn && len(meant) > len(typed)+most || len(meant) < len(typed)-most {
		return 0, most + 1
	}
	meant = meant[:min(len(meant), len(typed)+most)]
	var rows [3][longest]int // by the number of letters typed, modulo three; by the number of letters meant
	for j := range meant {
		rows[0][j+1] = j + 1
	}
	for i := 1; i <= len(typed); i++ {
		row, before, before2 := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = i
		least := i
		for j := 1; j <= len(meant); j++ {
			replaced := before[j-1]
			if typed[i-1] != meant[j-1] {
				replaced++
			}
			row[j] = min(replaced, before[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && typed[i-1] == meant[j-2] && typed[i-2] == meant[j-1] {
				row[j] = min(row[j], before2[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most+1 { // a swap may undo one
			return 0, most + 1
		}
	}
	row := &rows[len(typed)%3]
	length = len(meant)
	edits = row[length]
	if goesOn {
		for n := len(meant) - 1; n > 0; n-- {
			if row[n] < edits {
				length = n
				edits = row[n]
			}
		}
	}
	return length, edits
}
