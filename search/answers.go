package search

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/sources"
)

// AnswerOptions ask for the words that answer the question, which a reader marks in
// the first passages of the ranking. In JSON they are true, false or an object; the
// zero value asks for nothing.
type AnswerOptions struct {
	Wanted   bool
	Reader   string // "": the first
	Passages int    // number of first passages to read; 0: 5, however many are returned
	// Combine is CombineBest ("") or CombineSum.
	Combine string
	// MaxTokens bounds what a generator writes; 0: 32.
	MaxTokens int
	// MinChance is the least chance of an answer that is returned; nil: usualChance, if
	// chances are known.
	MinChance *float64
}

// How answers of several passages are combined.
const (
	CombineBest = "best" // a passage's best words count for themselves
	CombineSum  = "sum"  // equal words of several passages count together
)

// OriginRead is the origin of a contribution that a reader made.
const OriginRead = "read"

// answerObject is AnswerOptions as an object.
type answerObject struct {
	Reader    string   `json:"reader,omitempty"`
	Passages  int      `json:"passages,omitempty"`
	Combine   string   `json:"combine,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	MinChance *float64 `json:"min_chance,omitempty"`
}

// MarshalJSON writes true where nothing is chosen.
func (o AnswerOptions) MarshalJSON() ([]byte, error) {
	object := answerObject{o.Reader, o.Passages, o.Combine, o.MaxTokens, o.MinChance}
	if !o.Wanted || object == (answerObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object; null is false.
func (o *AnswerOptions) UnmarshalJSON(data []byte) error {
	*o = AnswerOptions{}
	if string(data) == "null" {
		return nil
	}
	if json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object answerObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = AnswerOptions{true, object.Reader, object.Passages, object.Combine, object.MaxTokens, object.MinChance}
	return nil
}

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
	Place
	// At is where the words begin in the document's text, counted as Start; nil where that is
	// not known.
	At *int `json:"at,omitempty"`

	// Signals are the inputs of Chance, which calibration reads; see AnswerSignals.
	Signals []float64 `json:"-"`
	// Reading is the place of the passage among those that were read.
	Reading int `json:"-"`
}

// Reader marks the words of passages that answer a question.
type Reader interface {
	// Read returns a Reading for each passage, in their order.
	Read(ctx context.Context, question string, passages []corpus.Passage) ([]Reading, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// Reading is what a reader says of one passage.
type Reading struct {
	Select float64 // the logit that the passage answers
	Spans  []Span  // the best first
	// Starts and Ends are the logarithms of the sums of exp(logit) over all places
	// where an answer may start and end.
	Starts, Ends float64
	Cut          bool // the end of the text was not read: it is too long
}

// A Span is a run of words of a passage's text, in bytes, and the sum of the logits of its
// start and its end.
type Span struct {
	Start, End int
	Score      float64
}

// LoadedReader is a Reader or a Generator with its name.
type LoadedReader struct {
	Reader    // nil: a generator
	Generator Generator
	Rewriter  question.Rewriter // nil: messages are asked as they are
	// Passages and Tokens are how many a generator reads and writes where a request does not
	// say; 0: UsuallyFused and UsuallyGenerated.
	Passages, Tokens int
	Name             string // unique among readers
	Info             ReaderInfo
	// Chance is calibrated for this reader; nil: there is no calibration. Confidence
	// turns ReadSignals into the probability that the first passage answers, where the
	// gate ranks; nil: it is what it is without the reader.
	Chance, Confidence sources.Chance
	// Answerability turns ReadSignals, with the chance without the reader in the place of the
	// confidence, into a verdict, where the gate ranks; nil: it is what it is without the reader.
	Answerability *Answerability
	// Ranking is what the gate's scores count beside the reader's selections, for the
	// order of the passages and for the answers: see Read.Weigh. 0: neither knows of the
	// other.
	Ranking float64
}

// ReaderInfo describes a loaded reader.
type ReaderInfo struct {
	Name        string         `json:"name"`
	Fingerprint string         `json:"fingerprint"`
	Provider    string         `json:"provider"`
	Precision   string         `json:"precision"`
	MaxTokens   map[string]int `json:"max_tokens"`             // "question", "title", and of all together "pair"
	LongestSpan int            `json:"longest_span,omitempty"` // of what it marks
	Generates   bool           `json:"generates,omitempty"`    // it writes an answer, and marks none
	Calibrated  bool           `json:"calibrated"`
	// TimeoutMS is how many milliseconds a model behind an interface may write, beside the time of the
	// search; 0: a model of this process, which has a part of that.
	TimeoutMS int `json:"timeout_ms,omitempty"`
}

const (
	// MostRead is how many passages a request may have read.
	MostRead    = 50
	usuallyRead = 5
	usualChance = 0.1
)

// planAnswer checks what is asked of a reader and fills in the defaults.
func (l *lineUp) planAnswer(r *Request, p *plan, wrong *fault.Problems) {
	o := r.Answer
	if !o.Wanted {
		return
	}
	p.answer, p.inquiry.Reads = o, true
	if p.listed {
		wrong.Add(
			"not_one_ranking",
			"/answer",
			"answers are read in one ranking, and fusion is a list of methods: name one method, or leave out answer",
		)
	}
	p.reader, p.writer = l.readersFor(o.Reader, wrong)
	if p.writer != nil {
		p.planGenerated(o, wrong)
		p.answer.Combine = fault.OneOf(wrong, "/answer/combine", o.Combine, CombineBest, []string{CombineBest, CombineSum})
		checkLeastChance(wrong, o.MinChance)
		return
	}
	p.answer.Passages = wrong.Count("/answer/passages", o.Passages, usuallyRead, MostRead)
	if o.Passages == 0 && p.groupBy == "" {
		p.mostMarked = p.k - p.offset
	}
	p.marked = p.answer.Passages
	p.answer.Combine = fault.OneOf(wrong, "/answer/combine", o.Combine, CombineBest, []string{CombineBest, CombineSum})
	checkLeastChance(wrong, o.MinChance)
	if o.MaxTokens != 0 && p.reader != nil {
		wrong.Add(
			"unused_option",
			"/answer/max_tokens",
			"max_tokens is for readers that write, and %s marks words: leave it out",
			wording.Quote(p.reader.Name),
		)
	}
}

// checkLeastChance checks a min_chance, which may be nil.
func checkLeastChance(w *fault.Problems, least *float64) {
	if least != nil && !(*least >= 0 && *least <= 1) {
		w.Add("out_of_range", "/answer/min_chance", "min_chance is %v: it has to be from 0 to 1", *least)
	}
}

// readersFor returns the reader that marks and the generator that writes for a name: a generator has
// the first that marks beside it, if there is one. nil: there is none.
func (l *lineUp) readersFor(name string, wrong *fault.Problems) (marks, writes *LoadedReader) {
	first := func(generates bool) *LoadedReader {
		at := slices.IndexFunc(l.readers, func(x LoadedReader) bool { return (x.Generator != nil) == generates })
		if at < 0 {
			return nil
		}
		return &l.readers[at]
	}
	if name == ReaderAuto && len(l.readers) > 0 {
		return first(false), first(true)
	}
	x := l.readerFor(name, wrong)
	if x == nil || x.Generator == nil {
		return x, nil
	}
	return first(false), x
}

// readerFor returns the reader of a name, or the first if the name is empty.
func (l *lineUp) readerFor(name string, wrong *fault.Problems) *LoadedReader {
	if len(l.readers) == 0 {
		wrong.Add("needs_reader", "/answer", "answers are marked by a reader, and none is loaded")
		return nil
	}
	if name == "" {
		return &l.readers[0]
	}
	names := make([]string, len(l.readers))
	for i := range l.readers {
		names[i] = l.readers[i].Name
		if names[i] == name {
			return &l.readers[i]
		}
	}
	wrong.Add(
		"unknown_reader",
		"/answer/reader",
		"there is no reader %s: the readers are %s",
		wording.Quote(name),
		wording.List(names),
	)
	return nil
}

// candidate is a run of words of a passage that may be the answer.
type candidate struct {
	passage int // into those that were read
	Span
	words string // normalised
	// within is the probability of the words in their passage, P_start·P_end, and
	// joint that times the probability of the passage, P_select (Karpukhin et al. 2020,
	// DPR, section 6.1).
	within, joint float64
	total         float64 // of joint, over the spans of all passages with equal words
}

// mostAnswers is how many answers there are at most, of different words.
const mostAnswers = 3

// spansOf returns all spans of all passages, with their probabilities.
func spansOf(passages []corpus.Passage, readings []Reading) []candidate {
	largest := math.Inf(-1)
	sum := 0.0
	for _, r := range readings {
		largest = max(largest, r.Select)
	}
	for _, r := range readings {
		sum += math.Exp(r.Select - largest)
	}
	var all []candidate
	totals := map[string]float64{}
	for i, r := range readings {
		for _, s := range r.Spans {
			c := candidate{
				passage: i,
				Span:    s,
				words:   NormaliseAnswer(passages[i].Text[s.Start:s.End]),
				within:  math.Exp(s.Score - r.Starts - r.Ends),
			}
			if c.words == "" { // punctuation
				continue
			}
			c.joint = c.within * math.Exp(r.Select-largest) / sum
			totals[c.words] += c.joint
			all = append(all, c)
		}
	}
	for i := range all {
		all[i].total = totals[all[i].words]
	}
	return all
}

// chooseAnswers returns the likeliest answers with different words, in descending probability.
// CombineBest takes the best words of each passage. CombineSum adds up equal words of
// several passages; the answer's place is that of the likeliest of them.
func chooseAnswers(passages []corpus.Passage, readings []Reading, combine string) []candidate {
	all := spansOf(passages, readings)
	score := func(c candidate) float64 { return c.joint }
	if combine == CombineSum {
		score = func(c candidate) float64 { return c.total }
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(score(b), score(a)), cmp.Compare(b.joint, a.joint))
	})
	var out []candidate
	for _, c := range all {
		if len(out) < mostAnswers &&
			!slices.ContainsFunc(
				out,
				func(o candidate) bool { return o.words == c.words || combine == CombineBest && o.passage == c.passage },
			) {
			out = append(out, c)
		}
	}
	return out
}

// NormaliseAnswer makes answers comparable as SQuAD's script does (Rajpurkar et al.
// 2016, section 6.1): lower case, without ASCII punctuation and articles, single spaces.
func NormaliseAnswer(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	var out strings.Builder
	for len(text) > 0 {
		word := len(text) - len(strings.TrimLeftFunc(text, isWord))
		if word == 0 {
			word = len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return !isWord(r) }))
			out.WriteString(text[:word])
		} else if run := text[:word]; run == "a" || run == "an" || run == "the" {
			out.WriteByte(' ')
		} else {
			out.WriteString(run)
		}
		text = text[word:]
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// isWord reports whether a character is part of a word to a regular expression.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
