package reply

// Correction is a word of a question that was taken for mistyped, and the word that was
// asked for in its place.
type Correction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Expansion says which words of a question were searched for by others, too.
type Expansion struct {
	Word string   `json:"word"` // as the question has it
	As   []string `json:"as"`
}
