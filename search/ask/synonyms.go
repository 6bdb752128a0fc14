package ask

import (
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/storage"
)

// Synonyms are words or phrases that mean the same in a collection. They are added to a question when it is asked, so
// that a changed list needs no indexing.
type Synonyms struct {
	// Words are synonyms of each other: a question with one is also searched for the others. From and To, given in the
	// place of Words, work one way: a question with one of From is also searched for all of To.
	Words []string `json:"words,omitempty" yaml:"words,omitempty"`
	From  []string `json:"from,omitempty"  yaml:"from,omitempty"`
	To    []string `json:"to,omitempty"    yaml:"to,omitempty"`
}

// Check returns the first thing that is wrong with the entry, as a sentence for users; "" if nothing is.
func (s *Synonyms) Check() string {
	switch all := append(append(append([]string{}, s.Words...), s.From...), s.To...); {
	case len(s.Words) > 0 && len(s.From)+len(s.To) > 0:
		return "an entry has either words, which stand for each other, or from and to, for one direction: give one of the two"
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

// MostSynonyms is the greatest number of synonyms that are added to a question.
const MostSynonyms = 64
