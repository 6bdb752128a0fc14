package reply

// Correction is a misspelt word of a question and the word that was searched for in its place.
type Correction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Expansion is a word of a question and the synonyms that were searched for in addition.
type Expansion struct {
	Word string   `json:"word"` // as the question has it
	As   []string `json:"as"`
}
