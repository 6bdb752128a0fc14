package search

import (
	"cmp"
	"time"

	"example.org/conclave/internal/wording"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/learned"
)

// mostGenerated is the greatest max_tokens of a request.
const (
	mostGenerated = 8192
)

// RefusedText is the text of a generated answer if the generator found no answer in the passages.
const RefusedText = "The passages do not answer this question."

// planGenerated checks Request.Answer for the plan's generator and fills in the defaults. If the plan also has a
// reader, that reads the first passages for their order and the verdict.
func planGenerated(p *plan.Plan, o ask.AnswerOptions, wrong *fault.Problems) {
	x := p.Writer
	p.Inquiry.Writes = x.Info.TimeoutMS == 0
	p.Inquiry.WritingTime = time.Duration(x.Info.TimeoutMS) * time.Millisecond
	p.Answer.Passages = wrong.Count("/answer/passages", o.Passages, cmp.Or(x.Passages, learned.UsuallyFused), MostRead)
	p.Answer.MaxTokens = wrong.Count(
		"/answer/max_tokens", o.MaxTokens, cmp.Or(x.Tokens, learned.UsuallyGenerated), mostGenerated)
	if p.Reader != nil {
		p.Marked = min(usuallyRead, p.Answer.Passages)
		return
	}
	p.Inquiry.Reads = false
	for option, given := range map[string]bool{"combine": o.Combine != "", "min_chance": o.MinChance != nil} {
		if given {
			wrong.Add(
				"unused_option", "/answer/"+option,
				"%s is for readers that mark words, and %s writes its answer: leave it out", option,
				wording.Quote(x.Name),
			)
		}
	}
}

// WritingTime returns how long the generator of a request may write in addition to the request's own time. It is 0 if
// the request asks for no answer, or the generator is not on another machine.
func WritingTime(r Request, readers []learned.ReaderInfo) time.Duration {
	if !r.Answer.Wanted {
		return 0
	}
	for i, x := range readers {
		if x.Name == r.Answer.Reader || r.Answer.Reader == "" && i == 0 || r.Answer.Reader == ask.ReaderAuto && x.Generates {
			return time.Duration(x.TimeoutMS) * time.Millisecond
		}
	}
	return 0
}
