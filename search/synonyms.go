package search

import (
	"strings"
	"unicode"

	"example.org/conclave/search/storage"
)

// Synonyms are words, or several words, that mean the same to a collection. They are applied to the words
// of a question when it is asked, so that another list needs no indexing.
type Synonyms struct {
	// Words stand for each other; From, where it is given, are what To is searched for beside, and
	// not the other way.
	Words []string `json:"words,omitempty" yaml:"words,omitempty"`
	From  []string `json:"from,omitempty"  yaml:"from,omitempty"`
	To    []string `json:"to,omitempty"    yaml:"to,omitempty"`
}

// Used says which words of a question were searched for by others, too.
type Used struct {
	Word string   `json:"word"` // as the question has it
	As   []string `json:"as"`
}

// mostSynonyms is how many words are searched for beside those of a question.
const mostSynonyms = 64

// Check returns what is wrong with synonyms; "" for nothing.
func (s *Synonyms) Check() string {
	switch all := append(append(append([]string{}, s.Words...), s.From...), s.To...); {
	case len(s.Words) > 0 && len(s.From)+len(s.To) > 0:
		return "words stand for each other, and from and to are for one way: give one of the two"
	case len(s.Words) == 1 || len(s.Words) == 0 && (len(s.From) == 0 || len(s.To) == 0):
		return "an entry needs at least two words, or from and to"
	default:
		for _, word := range all {
			if len(wordsIn(word)) == 0 || len(word) > storage.MaxWordingBytes {
				return "an entry has an empty word, or one that is too long: " + word
			}
		}
	}
	return ""
}

// wordIn is a word of a text: in lower case, and where it stands.
type wordIn struct {
	lower      string
	begin, end int
}

// wordsIn returns the words of a text: letters and digits that stand together.
func wordsIn(text string) (out []wordIn) {
	begin := -1
	for i, r := range text + " " {
		inside := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		if inside && begin < 0 {
			begin = i
		}
		if !inside && begin >= 0 {
			out = append(out, wordIn{strings.ToLower(text[begin:i]), begin, i})
			begin = -1
		}
	}
	return out
}

// synonymous returns a question for the words' index: with what its words stand for behind it, and which
// were used. What the question has already is not added.
func synonymous(question string, list []Synonyms) (words string, used []Used) {
	if len(list) == 0 {
		return question, nil
	}
	in := wordsIn(question)
	added := map[string]bool{}
	words = question
	for i := range list {
		from, to := list[i].From, list[i].To
		if len(list[i].Words) > 0 {
			from = list[i].Words
			to = list[i].Words
		}
		for _, one := range from {
			at, end := standsIn(in, wordsIn(one))
			if at < 0 {
				continue
			}
			use := Used{Word: question[in[at].begin:in[end-1].end]}
			for _, other := range to {
				sought := wordsIn(other)
				if there, _ := standsIn(in, sought); there >= 0 || added[strings.ToLower(other)] || len(added) >= mostSynonyms {
					continue
				}
				added[strings.ToLower(other)] = true
				use.As = append(use.As, other)
				words += " " + other
			}
			if use.As != nil {
				used = append(used, use)
			}
		}
	}
	return words, used
}

// standsIn returns where some words stand one after the other among others; -1: nowhere.
func standsIn(all, some []wordIn) (at, end int) {
	for at := 0; len(some) > 0 && at+len(some) <= len(all); at++ {
		same := true
		for i := range some {
			same = same && all[at+i].lower == some[i].lower
		}
		if same {
			return at, at + len(some)
		}
	}
	return -1, -1
}
