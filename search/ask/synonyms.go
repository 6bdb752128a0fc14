package ask

import (
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

// MostSynonyms is how many words are searched for beside those of a question.
const MostSynonyms = 64
