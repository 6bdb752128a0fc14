package reply

// An Extract is a run of words of a passage that answers the question.
type Extract struct {
	Text    string `json:"text"`
	Passage string `json:"passage"` // its id
	// Collection is what the passage is of, where several were searched.
	Collection string `json:"collection,omitempty"`
	// Start and End are where the words lie in the passage's text, in what Request.Offsets
	// counts: bytes of UTF-8, unless it says otherwise.
	Start int `json:"start"`
	End   int `json:"end"`
	// Score is the probability of passage and words by the reader alone, over all that
	// it read. With CombineSum it is the sum over all equal words.
	Score float64 `json:"score"`
	// Chance is the calibrated probability that these words are right; null if it is not
	// known.
	Chance *float64 `json:"chance"`
	// Headline says that the words may stand by themselves as the answer. Otherwise they are to be shown in their
	// sentence or row.
	Headline bool `json:"headline"`
	// Row is the row of a table that the words stand in; nil if they do not.
	Row *TableRow `json:"row,omitempty"`
	Place
	// At is where the words begin in the document's text, counted as Start; nil where that is
	// not known.
	At *int `json:"at,omitempty"`

	// Signals are the inputs of Chance, which calibration reads; see AnswerSignals.
	Signals []float64 `json:"-"`
	// Reading is the place of the passage among those that were read.
	Reading int `json:"-"`
}

// TableRow is a row of a table with the table's header.
type TableRow struct {
	Header []string `json:"header"`
	Cells  []string `json:"cells"`
	// Column is which of the cells answers, from 0; nil: it is not known.
	Column *int `json:"column,omitempty"`
}

// Generated is an answer in a generator's words.
type Generated struct {
	Text string `json:"text"`
	// Generated is true: it says to whoever shows the answer that a model wrote it.
	Generated bool   `json:"generated"`
	Reader    string `json:"reader"`
	Complete  bool   `json:"complete"` // it ended by itself, and not at max_tokens
	Tokens    int    `json:"tokens"`
	// Score is the probability of these tokens by the model alone; 0: it does not say.
	Score float64 `json:"score"`
	// Support are the passages that have the most of the model's attention; none where that is
	// not known.
	Support []Support `json:"support"`
	// Refused says that the model found no answer in the passages, which Text says too.
	Refused bool `json:"refused,omitempty"`
	// Sentences, Dropped and Citations are of a model that cites passages.
	Sentences []WrittenSentence `json:"sentences,omitempty"`
	Dropped   []WrittenSentence `json:"dropped,omitempty"`
	Citations []Citation        `json:"citations,omitempty"`
}

// Support is a passage that a generated answer attends to, and how much of its
// attention that has, 0 to 1, among the passages that were read.
type Support struct {
	Passage string `json:"passage"` // its id
	// Collection is what the passage is of, where several were searched.
	Collection string  `json:"collection,omitempty"`
	Share      float64 `json:"share"`
	Place
}

// Citation is a passage that a generated answer cites.
type Citation struct {
	Number     int    `json:"number"` // in the text, [2]
	Passage    string `json:"passage"`
	Collection string `json:"collection,omitempty"` // where several were searched
	Title      string `json:"title,omitempty"`
	Place
}
