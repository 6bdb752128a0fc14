package reply

// Extract is an answer in the words of a passage: words that a reader marked, or a row or cell of a table.
type Extract struct {
	Text    string `json:"text"`
	Passage string `json:"passage"` // its id
	// Collection is the name of the passage's collection, if several were searched.
	Collection string `json:"collection,omitempty"`
	// Start and End are the position of the words in the passage's text, in the unit of Request.Offsets: bytes of
	// UTF-8, unless it names another.
	Start int `json:"start"`
	End   int `json:"end"`
	// Score is the probability of passage and words by the reader alone, over all that it read. With ask.CombineSum it
	// is the sum over equal words in all passages.
	Score float64 `json:"score"`
	// Chance is the calibrated probability that these words are right; null: it is not known.
	Chance *float64 `json:"chance"`
	// Headline says that the words can be shown alone as the answer. Otherwise they have to be shown within their
	// sentence or row.
	Headline bool `json:"headline"`
	// Row is the row of a table that the words stand in; nil if they do not.
	Row *TableRow `json:"row,omitempty"`
	Place
	// At is where the words begin in the document's text, in the unit of Start; nil: it is not known.
	At *int `json:"at,omitempty"`

	// Signals are the inputs of Chance, for calibration (extract.AnswerSignals).
	Signals []float64 `json:"-"`
	// Reading is the index of the passage among those that were read.
	Reading int `json:"-"`
}

// TableRow is a row of a table, with the table's header.
type TableRow struct {
	Header []string `json:"header"`
	Cells  []string `json:"cells"`
	// Column is the index of the cell that answers; nil: it is not known.
	Column *int `json:"column,omitempty"`
}

// Generated is an answer that a generator wrote.
type Generated struct {
	Text string `json:"text"`
	// Generated is always true: it tells those who show the answer that a model wrote it.
	Generated bool   `json:"generated"`
	Reader    string `json:"reader"`
	Complete  bool   `json:"complete"` // the model ended the text, rather than max_tokens
	Tokens    int    `json:"tokens"`
	// Score is the probability of these tokens by the model alone; 0: it is not known.
	Score float64 `json:"score"`
	// Support are the passages that have the most of the model's attention; empty: it is not known.
	Support []Support `json:"support"`
	// Refused says that the model found no answer in the passages, which Text says too.
	Refused bool `json:"refused,omitempty"`
	// Sentences, Dropped and Citations are nil unless the generator cites passages. Dropped are sentences that were
	// removed from Text, since no passage supports them.
	Sentences []WrittenSentence `json:"sentences,omitempty"`
	Dropped   []WrittenSentence `json:"dropped,omitempty"`
	Citations []Citation        `json:"citations,omitempty"`
}

// Support is a passage that a generator attended to, and its share of the attention, from 0 to 1, among the passages
// that it read.
type Support struct {
	Passage string `json:"passage"` // its id
	// Collection is the name of the passage's collection, if several were searched.
	Collection string  `json:"collection,omitempty"`
	Share      float64 `json:"share"`
	Place
}

// Citation is a passage that a generated answer cites.
type Citation struct {
	Number     int    `json:"number"`               // as in the text: 2 for [2]
	Passage    string `json:"passage"`              // its id
	Collection string `json:"collection,omitempty"` // the name of its collection, if several were searched
	Title      string `json:"title,omitempty"`
	Place
}
