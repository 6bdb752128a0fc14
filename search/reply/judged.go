package reply

import ()

// WrittenSentence is a sentence that a generator wrote, with what the comparison with the passages found.
type WrittenSentence struct {
	Text string `json:"text"` // without its citations at the end
	// Citations are the numbers, from 1, of the passages that the sentence cites (Generated.Citations). If Attributed
	// is set, they are those of the passages that support it.
	Citations []int `json:"citations"`
	// Support is the share, from 0 to 1, of the sentence's words that are in these passages.
	Support   float64 `json:"support"`
	Supported bool    `json:"supported"` // the passages have its words, numbers and names
	// Attributed says that the generator cited no passage, or not the one that supports the sentence, and that the
	// citation was added.
	Attributed bool `json:"attributed,omitempty"`
	// Unchecked says why the sentence was not compared with passages: "unfinished" (the text ends in it),
	// "other_language" (than the passages'), "introduction" (to a list or a table) or "no_answer" (it says that there
	// is none). "": it was compared.
	Unchecked string `json:"unchecked,omitempty"`
	// Unfounded are the numbers and names of the sentence that are in none of the passages.
	Unfounded []string `json:"unfounded,omitempty"`
	// Unknown are the cited numbers that no passage has.
	Unknown []string `json:"unknown,omitempty"`
}

// Thresholds are the least probabilities that the collection answers at which a verdict is VerdictFound, and at which
// it is VerdictDoubtful; below, it is VerdictNotFound.
type Thresholds struct {
	Found    float64 `json:"found"    yaml:"found"`
	Doubtful float64 `json:"doubtful" yaml:"doubtful"`
}

// Of returns the verdict for the probability that the collection answers.
func (t Thresholds) Of(chance float64) Verdict {
	switch {
	case chance >= t.Found:
		return VerdictFound
	case chance >= t.Doubtful:
		return VerdictDoubtful
	}
	return VerdictNotFound
}
