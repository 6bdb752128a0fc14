package question

import (
	"strings"

	"example.org/conclave/search/internal/content"
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

// Expansion says which words of a question were searched for by others, too.
type Expansion struct {
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
			if len(content.WordsIn(word)) == 0 || len(word) > storage.MaxWordingBytes {
				return "an entry has an empty word, or one that is too long: " + word
			}
		}
	}
	return ""
}

// AddSynonyms returns a question for the words' index: with what its words stand for behind it, and which
// were used. What the question has already is not added.
func AddSynonyms(question string, list []Synonyms) (words string, used []Expansion) {
	if len(list) == 0 {
		return question, nil
	}
	in := content.WordsIn(question)
	added := map[string]bool{}
	words = question
	for i := range list {
		from, to := list[i].From, list[i].To
		if len(list[i].Words) > 0 {
			from = list[i].Words
			to = list[i].Words
		}
		for _, one := range from {
			at, end := content.StandsIn(in, content.WordsIn(one))
			if at < 0 {
				continue
			}
			use := Expansion{Word: question[in[at].Begin:in[end-1].End]}
			for _, other := range to {
				sought := content.WordsIn(other)
				if there, _ := content.StandsIn(in, sought); there >= 0 || added[strings.ToLower(other)] ||
					len(added) >= mostSynonyms {
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
