package questions

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed nonsense.txt
var nonsense string

// NonsenseDomain is the name of Nonsense.
const NonsenseDomain = "nonsense"

// Nonsense returns texts that ask nothing: letters, numbers, strings of letters, function
// words, and what people say to a chatbot. No passage answers them, whatever it is about.
func Nonsense() Domain {
	var all []Question
	for i, text := range strings.Split(strings.TrimSpace(nonsense), "\n") {
		all = append(all, Question{ID: fmt.Sprint(i + 1), Text: text, Unanswerable: true})
	}
	return NewDomain(NonsenseDomain, all, 0)
}
