package question

import (
	"strings"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/reply"
)

// AddSynonyms returns a question followed by the synonyms of its words, for the word index, and which synonyms were
// added for which word. It adds none that the question has already, and at most ask.MostSynonyms.
func AddSynonyms(question string, list []ask.Synonyms) (words string, used []reply.Expansion) {
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
			at, end := content.FindPhrase(in, content.WordsIn(one))
			if at < 0 {
				continue
			}
			use := reply.Expansion{Word: question[in[at].Begin:in[end-1].End]}
			for _, other := range to {
				sought := content.WordsIn(other)
				if there, _ := content.FindPhrase(in, sought); there >= 0 || added[strings.ToLower(other)] ||
					len(added) >= ask.MostSynonyms {
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
