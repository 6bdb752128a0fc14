package reply

import ()

// WrittenSentence is a sentence that a generator wrote, and what the passages say to it.
type WrittenSentence struct {
	Text string `json:"text"` // without its citations at the end
	// Citations are the numbers of the passages that it cites, from 1; Generated.Citations has them. If it is
	// attributed, they are those of the passages that support it.
	Citations []int `json:"citations"`
	// Support is the share of its words that stand in these passages, 0 to 1.
	Support   float64 `json:"support"`
	Supported bool    `json:"supported"` // they say it, as far as words, numbers and names tell
	// Attributed: the generator cited no passage or others than the one that supports it. Its citation was put in.
	Attributed bool `json:"attributed,omitempty"`
	// Unchecked says why it is not compared with passages: "unfinished" (the text ends in it), "other_language" (than
	// the passages'), "introduction" (to a list or a table) or "no_answer" (it says that there is none). "": it is
	// compared.
	Unchecked string `json:"unchecked,omitempty"`
	// Unfounded are numbers and names that stand in none of the passages.
	Unfounded []string `json:"unfounded,omitempty"`
	// Unknown are numbers that it cites and no passage has.
	Unknown []string `json:"unknown,omitempty"`
}

// Thresholds are the chances that the collection answers at all from which a verdict is
// VerdictFound, and from which it is VerdictDoubtful; below it is VerdictNotFound.
type Thresholds struct {
	Found    float64 `json:"found"    yaml:"found"`
	Doubtful float64 `json:"doubtful" yaml:"doubtful"`
}

// Of returns the verdict at a chance.
func (t Thresholds) Of(chance float64) Verdict {
	switch {
	case chance >= t.Found:
		return VerdictFound
	case chance >= t.Doubtful:
		return VerdictDoubtful
	}
	return VerdictNotFound
}
