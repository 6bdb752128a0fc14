package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
)

// Generator writes an answer to a question from passages.
type Generator interface {
	// Generate writes at most w.MaxTokens tokens. The error may have a method Advice() string,
	// which says what a caller can do about it.
	Generate(ctx context.Context, w Writing) (Generation, error)
}

// Writing is what a generator is asked for.
type Writing struct {
	Question string
	// Before are the questions of the same person before it, which it may refer to, the last one last.
	Before    []string
	Passages  []corpus.Passage
	MaxTokens int
	// Each is told the text so far whenever it is longer.
	Each func(text string)
	// Sentence is told each sentence once it is whole and compared with what it cites, before
	// Each is told more than it. A generator that compares nothing does not call it.
	Sentence func(s WrittenSentence)
}

// Generation is what a generator wrote.
type Generation struct {
	Text     string
	Complete bool // the model ended it, not MaxTokens
	Tokens   int
	// LogProbability is that of the tokens, given question and passages; nil: the model does not say.
	LogProbability *float64
	// Shares is how the attention of the answer is spread over the passages, in their
	// order; they add up to 1. nil: the model does not say.
	Shares []float64
	// Sentences are what was written, compared with the passages; nil: it cites none.
	Sentences []WrittenSentence
	// Dropped are the sentences that were left out of Text, since no passage supports them.
	Dropped []WrittenSentence
	// Refused says that the model found no answer in the passages.
	Refused bool
	// Cut says why the text ends early, for people; "": it does not.
	Cut string
}

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

// What a generator reads and writes where a request does not say.
const (
	UsuallyGenerated = 32 // tokens
	UsuallyFused     = 20 // passages
)

const (
	mostGenerated = 8192
	mostSupport   = 3
)

// ReaderAuto is the reader that stands for both: one that marks, and a generator that writes, as far
// as there are any.
const ReaderAuto = "auto"

// RefusedText is what is answered where a generator found no answer in the passages.
const RefusedText = "The passages do not answer this question."

// planGenerated checks what is asked of a generator and fills in the defaults. A reader that marks
// reads the first passages too, for their order and the verdict.
func (p *plan) planGenerated(o AnswerOptions, wrong *fault.Problems) {
	x := p.writer
	p.inquiry.Writes = x.Info.TimeoutMS == 0
	p.inquiry.Writing = time.Duration(x.Info.TimeoutMS) * time.Millisecond
	p.answer.Passages = wrong.Count("/answer/passages", o.Passages, cmp.Or(x.Passages, UsuallyFused), MostRead)
	p.answer.MaxTokens = wrong.Count(
		"/answer/max_tokens", o.MaxTokens, cmp.Or(x.Tokens, UsuallyGenerated), mostGenerated)
	if p.reader != nil {
		p.marked = min(usuallyRead, p.answer.Passages)
		return
	}
	p.inquiry.Reads = false
	for option, given := range map[string]bool{"combine": o.Combine != "", "min_chance": o.MinChance != nil} {
		if given {
			wrong.Add(
				"unused_option",
				"/answer/"+option,
				"%s is for readers that mark words, and %s writes its answer: leave it out",
				option,
				wording.Quote(x.Name),
			)
		}
	}
}

// WritingTime returns how long a request's generator may write, beside the request's own time.
func WritingTime(r Request, readers []ReaderInfo) time.Duration {
	if !r.Answer.Wanted {
		return 0
	}
	for i, x := range readers {
		if x.Name == r.Answer.Reader || r.Answer.Reader == "" && i == 0 || r.Answer.Reader == ReaderAuto && x.Generates {
			return time.Duration(x.TimeoutMS) * time.Millisecond
		}
	}
	return 0
}

type watchKey struct{}

// Watching is told of an answer while it is made.
type Watching struct {
	// Found is told the response before an answer is generated. Its error ends the
	// search.
	Found func(Response) error
	// Written is told the generated text so far, whenever it is longer.
	Written func(text string)
	// Sentence is told each sentence as Writing.Sentence is; nil: nobody is.
	Sentence func(s WrittenSentence)
}

// Watched lets w follow the search of a context. It is called from Search's own
// goroutine.
func Watched(ctx context.Context, w Watching) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

func watchingOf(ctx context.Context) Watching {
	w, _ := ctx.Value(watchKey{}).(Watching)
	return w
}

// generate lets a generator answer from the passages that were found. If the generator
// fails or runs out of time, a note under Degraded says so.
func (a *answer) generate(ctx context.Context) error {
	watching := watchingOf(ctx)
	if watching.Found != nil {
		if err := watching.Found(a.response); err != nil {
			return err
		}
	}
	writer := a.plan.writer
	if writer == nil || len(a.toRead) == 0 {
		return nil
	}
	if a.response.Verdict == VerdictNotFound {
		a.response.Notes = append(a.response.Notes, fmt.Sprintf(
			"%s was not asked for an answer: the passages do not answer the question (verdict %s)", writer.Name, VerdictNotFound))
		return nil
	}
	items, passages, err := a.texts(ctx, a.toRead[:min(a.plan.answer.Passages, len(a.toRead))])
	if err != nil || len(passages) == 0 {
		return err
	}
	if watching.Written == nil {
		watching.Written = func(string) {}
	}
	if watching.Sentence == nil {
		watching.Sentence = func(WrittenSentence) {}
	}
	within, cancel := leaveTimeToFetch(ctx)
	defer cancel()
	w := Writing{Question: a.asked, Passages: passages, MaxTokens: a.plan.answer.MaxTokens,
		Each: watching.Written, Sentence: watching.Sentence}
	if a.plan.inquiry.Writing > 0 { // a model that reads a conversation as one
		w.Question, w.Before = a.found.Inquiry.Question, a.found.Inquiry.Before
		defer wait(ctx)()
	}
	var wrote Generation
	err = run.Guard(func() (err error) {
		wrote, err = writer.Generator.Generate(within, w)
		if err == nil && wrote.Shares != nil && len(wrote.Shares) != len(passages) {
			err = fmt.Errorf("the generator attended to %d passages of %d", len(wrote.Shares), len(passages))
		}
		return err
	})
	if err != nil {
		if run.CheckCaller(ctx) != nil {
			return err
		}
		before := len(a.degraded)
		a.noteLate(ctx, writer.Name, err, "written an answer", "there is none")
		a.response.Degraded = append(a.response.Degraded, a.degraded[before:]...)
		return nil
	}
	if err := run.CheckCaller(ctx); err != nil {
		return err
	}
	if wrote.Cut != "" {
		a.response.Degraded = append(a.response.Degraded, Missing{Source: writer.Name, Reason: wrote.Cut})
	}
	of := make([]string, len(items))
	for i, item := range items {
		of[i] = a.found.View.CollectionOf(item.Ordinal)
	}
	a.response.Generated = generated(writer.Name, passages, of, wrote)
	return nil
}

// generated returns what was written from passages, which are of these collections.
func generated(name string, passages []corpus.Passage, of []string, g Generation) *Generated {
	out := &Generated{
		Text:      g.Text,
		Generated: true,
		Reader:    name,
		Complete:  g.Complete,
		Tokens:    g.Tokens,
		Support:   []Support{},
		Refused:   g.Refused,
		Sentences: g.Sentences,
		Dropped:   g.Dropped,
	}
	if g.LogProbability != nil {
		out.Score = run.Printed(math.Exp(*g.LogProbability))
	}
	order := make([]int, len(g.Shares))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.Shares[b], g.Shares[a]) })
	for _, i := range order[:min(mostSupport, len(order))] {
		p := &passages[i]
		s := Support{Passage: p.ID, Collection: of[i], Share: run.Printed(g.Shares[i]), Place: PlaceOf(p)}
		out.Support = append(out.Support, s)
	}
	var cited []int
	for _, s := range g.Sentences {
		cited = append(cited, s.Citations...)
	}
	slices.Sort(cited)
	for _, n := range slices.Compact(cited) {
		p := &passages[n-1]
		c := Citation{Number: n, Passage: p.ID, Collection: of[n-1], Title: p.Title, Place: PlaceOf(p)}
		out.Citations = append(out.Citations, c)
	}
	return out
}
