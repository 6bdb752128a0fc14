package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"conclave/corpus"
)

// read lets the reader mark answers in the first passages. If the reader fails or runs
// out of time, the response has passages without answers and a note under Degraded. The
// error is for a passage that cannot be read from the corpus.
func (a *answer) read(ctx context.Context) error {
	a.extracts = []Extract{}
	reader := a.plan.reader
	if words, _, unknown := reader.KnownWords(a.question); words == 0 || 2*unknown > words || len(a.toRead) == 0 {
		return nil // the question is in a script that the reader was not trained on
	}
	passages, err := a.texts(ctx, a.toRead)
	if err != nil {
		return err
	}
	within, cancel := beforeFetching(ctx)
	defer cancel()
	var readings []Reading
	err = guard(func() (err error) {
		if readings, err = reader.Read(within, a.question, passages); err == nil && len(readings) != len(passages) {
			err = fmt.Errorf("the reader read %d passages of %d", len(readings), len(passages))
		}
		return err
	})
	if err != nil {
		a.unread(ctx, err)
		return nil
	}
	a.extracts = a.extract(passages, readings)
	return nil
}

// beforeFetching returns a context that ends early enough for fetching: it leaves half
// of the time that is reserved after the sources.
func beforeFetching(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/reserved, reservedMost/2)))
}

// unread notes why there are no answers.
func (a *answer) unread(ctx context.Context, cause error) {
	read, marked := "read the passages", "no answers are marked"
	if a.plan.writes {
		read, marked = "written an answer", "there is none"
	}
	status, reason := StatusFailed, "it failed, so "+marked+"; the server's log says why"
	switch advice := adviceOf(cause); {
	case advice != "":
		reason = advice
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		status, reason = StatusDeadline, fmt.Sprintf("it had not %s in time, so %s (timeout_ms is %d)", read, marked, a.timeout.Milliseconds())
	case overloaded(cause):
		status, reason = StatusOverloaded, "its queue is full, so "+marked+"; try again in a moment"
	}
	a.observer.Source(ctx, a.plan.reader.Name, status, cause)
	a.degraded = append(a.degraded, Missing{Source: a.plan.reader.Name, Reason: reason})
}

// extract returns the answers that are sure enough. It returns all of them if chances
// are not known and the request sets no minimum.
func (a *answer) extract(passages []corpus.Passage, readings []Reading) []Extract {
	all := Extracts(passages, readings, a.plan.answer.Combine, a.rankings[0].Confidence, a.plan.reader.Chance)
	return slices.DeleteFunc(all, func(e Extract) bool { return !a.sureEnough(e.Chance) })
}

// Extracts returns the answers in the readings of passages, which are in the order of
// their ranking. confidence is that of the ranking, nil if not known; chance may be nil.
func Extracts(passages []corpus.Passage, readings []Reading, combine string, confidence *float64, chance Chance) []Extract {
	found := chosen(passages, readings, combine)
	out := make([]Extract, len(found))
	for i, c := range found {
		p := &passages[c.passage]
		e := Extract{Text: p.Text[c.Start:c.End], Passage: p.ID, Start: c.Start, End: c.End, Score: printed(c.joint),
			Signals: signalsOf(found, i, readings, confidence)}
		if combine == CombineSum {
			e.Score = printed(c.total)
		}
		if chance != nil {
			if x, err := chance.Of(e.Signals); err == nil { // an error says that it was calibrated otherwise
				e.Chance = ptr(printed(x))
			}
		}
		out[i] = e
	}
	return out
}

func (a *answer) sureEnough(chance *float64) bool {
	least := a.plan.answer.MinChance
	switch {
	case chance == nil:
		return least == nil || *least == 0
	case least == nil:
		return *chance >= usualChance
	}
	return *chance >= *least
}

// AnswerSignals names what is known of an answer, in the order of Extract.Signals. Its
// chance is a function of these.
func AnswerSignals() []string {
	return []string{"select", "within", "passage", "total", "lead", "rank", "position", "confidence"}
}

// signalsOf are the signals of the answer at among those found.
func signalsOf(found []candidate, at int, readings []Reading, confidence *float64) []float64 {
	const least = 1e-6 // of a probability
	log := func(p float64) float64 { return math.Log(max(p, least)) }
	c, next := found[at], 0.0
	for i, other := range found {
		if i != at {
			next = max(next, other.total)
		}
	}
	sure := 0.0 // as likely as not, where it is not known
	if confidence != nil {
		p := min(max(*confidence, 1e-3), 1-1e-3)
		sure = math.Log(p / (1 - p))
	}
	return []float64{
		readings[c.passage].Select, log(c.within), log(c.joint) - log(c.within), log(c.total), log(c.total) - log(next),
		math.Log1p(float64(at)), math.Log1p(float64(c.passage)), sure,
	}
}
