package spelling

import "math"

// Language is a language's words in the order of their frequency, from the vocabulary of an encoder. It does not
// change.
type Language struct {
	*Lexicon         // with frequencies for counts
	letters  letters // of the words
}

// frequencies are those of the most frequent word and of the others: of word n, from 0, in
// proportion to 1/(n+headless), as Zipf's law has it (Mandelbrot 1953).
const (
	frequencies = 1 << 24
	headless    = 3
)

// NewLanguage returns a Language that has a word list with frequencies estimated from the order of words, and the
// probabilities of their letters. words are in lower case, the most frequent first; of a repeated word the first place
// counts.
func NewLanguage(words []string) *Language {
	counts := make(map[string]uint32, len(words))
	for n, word := range words {
		if counts[word] == 0 {
			counts[word] = frequencies / uint32(n+headless)
		}
	}
	x := &Language{Lexicon: NewLexicon(counts)}
	x.letters.countLetters(words)
	return x
}

// letters has the logarithms of the probabilities that a letter follows two others; index 0 stands for the beginning
// and the end of a word, 1 to 26 for a to z.
type letters [27][27][27]float64

// What the counts of three letters, of two, and of one are worth.
const (
	ofThree = .7
	ofTwo   = .25
	ofOne   = 1 - ofThree - ofTwo
)

// foreign is the logarithm of the probability of a letter outside a to z.
const foreign = -3.5

// letterIndex returns the index of a letter in letters; 0 for a rune other than a to z.
func letterIndex(r rune) int {
	if 'a' <= r && r <= 'z' {
		return int(r-'a') + 1
	}
	return 0
}

// countLetters sets l to the logarithms of the probabilities of each letter after the two letters before it, or the
// beginning, as they occur in words. The end of a word and all characters other than a to z count as one letter
// (letterIndex).
func (l *letters) countLetters(words []string) {
	var three [27][27][27]float64
	var two [27][27]float64
	var one [27]float64
	for _, word := range words {
		a, b := 0, 0
		for _, r := range word + " " {
			c := letterIndex(r)
			three[a][b][c]++
			two[b][c]++
			one[c]++
			a, b = b, c
		}
	}
	share := func(counts *[27]float64, at int, more float64) float64 {
		sum := 0.
		for _, n := range counts {
			sum += n + more
		}
		if sum == 0 {
			return 0
		}
		return (counts[at] + more) / sum
	}
	for a := range l {
		for b := range l[a] {
			for c := range l[a][b] {
				l[a][b][c] = math.Log(ofThree*share(&three[a][b], c, 0) + ofTwo*share(&two[b], c, 0) + ofOne*share(&one, c, 1))
			}
		}
	}
}

// logProbability returns the natural logarithm of the probability of a word in lower case, by its letters. The
// longer the word, the lower it is.
func (l *letters) logProbability(word string) float64 {
	sum, a, b := 0., 0, 0
	for _, r := range word + " " {
		c := letterIndex(r)
		if c == 0 && r != ' ' {
			sum += foreign
		} else {
			sum += l[a][b][c]
		}
		a, b = b, c
	}
	return sum
}

// What is assumed of people who type. Corrections are judged by the product of two
// probabilities: that a word was meant, and that it was typed so (Kernighan, Church and
// Gale 1990, "A spelling correction program based on a noisy channel model"). Against them
// stands that the word is right and nobody knows it.
const (
	mistyped = .03 // the probability of an edit of a word
	unheard  = .02 // the share of words that neither collection nor language has
)

// Unheard returns the natural logarithm of the probability that a word is right as it is typed, though neither the
// collection nor the language has it.
func (x *Language) Unheard(word string) float64 {
	return math.Log(unheard) + x.letters.logProbability(word)
}

// Typed returns the natural logarithm of the probability that a word with this number of letters is typed with these
// edits: each letter is equally likely to be left out, to be replaced or preceded by any of 25 others, or to change
// places with the next one.
func (e Edits) Typed(letters int) float64 {
	n := float64(max(letters, 2))
	missing, swapped := math.Log(4*n), math.Log(4*(n-1))
	added, replaced := math.Log(4*26*(n+1)), math.Log(4*25*n)
	sum := float64(e.Total()) * math.Log(mistyped)
	return sum - float64(e.Missing)*missing - float64(e.Swapped)*swapped - float64(e.Added)*added -
		float64(e.Replaced)*replaced
}
