// Package corpus holds passages: it reads the formats that people have (DPR's
// psgs_w100.tsv, JSON Lines, BEIR folders) and stores passages so that an
// ordinal fetches its text.
package corpus

// Passage is a piece of text that can be an answer, usually 40 to 200 words.
type Passage struct {
	ID       string         `json:"id"`
	Title    string         `json:"title,omitempty"`
	Text     string         `json:"text"`
	Tags     []string       `json:"tags,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"` // flat: strings, numbers, booleans
}
