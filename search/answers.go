package search

import (
	"slices"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/learned"
)

const (
	// MostRead is the greatest number of passages that a request may let a reader, generator or reranker read.
	MostRead    = 50
	usuallyRead = 5 // what a reader reads if the request does not say
)

// planAnswer checks Request.Answer and sets the plan's reader and generator, with defaults filled in. It adds problems
// to wrong. It does nothing if no answer is wanted.
func (l *lineUp) planAnswer(r *Request, p *plan.Plan, wrong *fault.Problems) {
	o := r.Answer
	if !o.Wanted {
		return
	}
	p.Answer, p.Inquiry.Reads = o, true
	if p.Listed {
		wrong.Add(
			"not_one_ranking", "/answer",
			"answers are read in one ranking, and fusion is a list of methods: name one method, or leave out answer",
		)
	}
	p.Reader, p.Writer = l.readersFor(o.Reader, wrong)
	if p.Writer != nil {
		planGenerated(p, o, wrong)
		p.Answer.Combine = fault.OneOf(
			wrong, "/answer/combine", o.Combine, ask.CombineBest, []string{ask.CombineBest, ask.CombineSum},
		)
		checkLeastChance(wrong, o.MinChance)
		return
	}
	p.Answer.Passages = wrong.Count("/answer/passages", o.Passages, usuallyRead, MostRead)
	p.MarkedOnPage = o.Passages == 0
	p.Marked = p.Answer.Passages
	p.Answer.Combine = fault.OneOf(
		wrong, "/answer/combine", o.Combine, ask.CombineBest, []string{ask.CombineBest, ask.CombineSum},
	)
	checkLeastChance(wrong, o.MinChance)
	if o.MaxTokens != 0 && p.Reader != nil {
		wrong.Add(
			"unused_option", "/answer/max_tokens",
			"max_tokens is for readers that write, and %s marks words: leave it out", wording.Quote(p.Reader.Name),
		)
	}
}

// checkLeastChance adds a problem to w if min_chance is set and not from 0 to 1.
func checkLeastChance(w *fault.Problems, least *float64) {
	if least != nil && !(*least >= 0 && *least <= 1) {
		w.Add("out_of_range", "/answer/min_chance", "min_chance is %v: it has to be from 0 to 1", *least)
	}
}

// readersFor returns the reader that marks words (marks) and the generator (writes) for the name of a reader in a
// request:
//  1. ask.ReaderAuto: the first of each.
//  2. The name of a generator: that one, and the first reader that marks words.
//  3. The name of another reader: that one alone.
//  4. The empty name: as for the name of the first of all.
//
// Either is nil if there is none. It adds a problem to wrong if the name is unknown or nothing is loaded.
func (l *lineUp) readersFor(name string, wrong *fault.Problems) (marks, writes *learned.LoadedReader) {
	first := func(generates bool) *learned.LoadedReader {
		at := slices.IndexFunc(l.readers, func(x learned.LoadedReader) bool { return (x.Generator != nil) == generates })
		if at < 0 {
			return nil
		}
		return &l.readers[at]
	}
	if name == ask.ReaderAuto && len(l.readers) > 0 {
		return first(false), first(true)
	}
	x := l.readerFor(name, wrong)
	if x == nil || x.Generator == nil {
		return x, nil
	}
	return first(false), x
}

// readerFor returns the reader or generator with a name, or the first one if the name is empty. If there is none, it
// returns nil and adds a problem to wrong.
func (l *lineUp) readerFor(name string, wrong *fault.Problems) *learned.LoadedReader {
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
		"unknown_reader", "/answer/reader", "there is no reader %s: the readers are %s", wording.Quote(name),
		wording.List(names),
	)
	return nil
}
