package configs

// Memory is what a server may have in memory at most under whatever load, in
// bytes, beside the files of the collection that are mapped and the models. Each
// part is a product of limits of the configuration.
type Memory struct {
	// Answers: limits.concurrency answers of limits.answer_bytes, each as its
	// passages and as the text that is sent.
	Answers int64
	// Bodies: limits.concurrency bodies or lines; a buffer doubles as it fills.
	Bodies int64
	// Writing: changes that wait (ingest.backlog, about 150 bytes each) and what
	// indexing them takes.
	Writing int64
	// Encoders: the activations of a pass of encoder.batch_tokens through each
	// expert, and the encoder.cache_entries of question vectors.
	Encoders int64
}

// ExpertSize is what of an expert decides the memory that it takes.
type ExpertSize struct {
	Width     int // numbers of a token's vector inside of the encoder
	MaxTokens int // of a passage
}

const (
	changeBytes = 150       // of a change that waits: collection.pending
	flushBytes  = 32 << 20  // texts of a flush: collection.flushBytes
	wordBytes   = 512 << 20 // postings before they go to a file: collection.BuildOptions.WordMemory
	// collected is how much larger the heap gets than what is in use before it is
	// collected (GOGC=100).
	collected = 2
)

// Memory adds up the limits for some experts.
func (cfg Config) Memory(experts []ExpertSize) Memory {
	l := cfg.Limits
	m := Memory{
		Answers: collected * 2 * int64(l.Concurrency) * int64(l.AnswerBytes),
		Bodies:  collected * 2 * int64(l.Concurrency) * int64(max(l.BodyBytes, l.LineBytes)),
	}
	if !cfg.ReadOnly {
		m.Writing = collected * (changeBytes*int64(cfg.Ingest.Backlog) + 2*flushBytes + wordBytes)
	}
	for _, x := range experts {
		// BERT has a head for each 32 to 64 numbers. Between two layers there are
		// the input, queries, keys, values, the context and the four times as wide
		// layer before and after its activation, and the scores of each head
		// before and after the softmax; a number has 4 bytes.
		heads := int64(x.Width+31) / 32
		token := 4 * (16*int64(x.Width) + 2*heads*int64(x.MaxTokens))
		m.Encoders += int64(cfg.Encoder.BatchTokens)*token + collected*int64(cfg.Encoder.CacheEntries)*(4*int64(x.Width)+int64(changeBytes))
	}
	return m
}

// Total is all of it.
func (m Memory) Total() int64 { return m.Answers + m.Bodies + m.Writing + m.Encoders }
