package extract

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// A Shingled text is the set of all runs of four consecutive words (shingle) of a text, whatever their case, as hashes
// in ascending order. Words are runs of letters and digits. A shorter text has one run of all its words, an empty one
// none.
type Shingled []uint64

// Shingle returns the runs of a text. Two different runs have one hash once in 10^19 pairs.
func Shingle(text string) Shingled {
	words := make([]uint64, 0, len(text)/5)
	for word := uint64(0); len(text) > 0; {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			word = mix(word + uint64(unicode.ToLower(r)) + 1)
		} else if word != 0 {
			words = append(words, word)
			word = 0
		}
		if len(text) == 0 && word != 0 {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return nil
	}
	size := min(shingle, len(words))
	runs := make(Shingled, 0, len(words)-size+1)
	for i := size; i <= len(words); i++ {
		run := uint64(0)
		for _, w := range words[i-size : i] {
			run = mix(run ^ w)
		}
		runs = append(runs, run)
	}
	slices.Sort(runs)
	return slices.Compact(runs)
}

// mix returns a number that depends on all bits of x, a different one for each x (Steele, Lea and Flood 2014,
// "Fast splittable pseudorandom number generators", its finaliser).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Repeats reports whether two texts are near copies: the longer one has at least the share repeated of the runs of the
// shorter one. It returns false if one is empty.
func (a Shingled) Repeats(b Shingled) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			shared++
			i++
			j++
		}
	}
	return len(a) > 0 && float64(shared) >= repeated*float64(len(a))
}

// shingle is the number of words in a run. Texts on one subject share few runs of four words.
const shingle = 4

// repeated is the share of a text's runs that another has to have to be a near copy.
const repeated = 0.5
