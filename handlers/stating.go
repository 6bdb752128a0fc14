package handlers

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
)

// costOf returns the cost of searches of which atOnce run at a time: that of the most
// expensive ones. The cost of one follows from its results or its candidates,
// whichever are more. An ordinary search is the unit.
func costOf(requests []search.Request, atOnce int, d search.Defaults) int {
	costs := make([]int, len(requests))
	for i, r := range requests {
		results := (cmp.Or(r.K, d.K) + r.Offset) * max(len(r.Fusion.Names), 1) * (1 + 2*max(r.Around, 0))
		if r.GroupBy != "" {
			results *= cmp.Or(max(r.GroupSize, 0), 3)
		}
		costs[i] = (max(results, cmp.Or(r.Candidates, d.Candidates)) + resultsAPlace - 1) / resultsAPlace
		if r.Answer.Wanted {
			costs[i] += costOfTexts(cmp.Or(r.Answer.Passages, cmp.Or(r.K, d.K)))
		}
	}
	slices.Sort(costs)
	total := 0
	for _, cost := range costs[max(len(costs)-atOnce, 0):] {
		total += cost
	}
	return total
}

// costOfTexts returns what it costs to encode so many texts.
func costOfTexts(n int) int { return (n + textsAPlace - 1) / textsAPlace }

// timeoutOf returns how long a search may take, with what a generator may write beside it.
func timeoutOf(r search.Request, e Engine) time.Duration {
	writing := search.WritingTime(r, e.Readers())
	if r.TimeoutMS > 0 {
		return time.Duration(r.TimeoutMS)*time.Millisecond + writing
	}
	return e.Defaults().Timeout + writing
}

// encodeInTurn writes an answer as JSON when a processor is free: that of a
// thousand passages takes milliseconds.
func (a *API) encodeInTurn(ctx context.Context, into *bytes.Buffer, answer any) error {
	done, err := a.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	into.Reset()
	return schema.Encode(into, answer)
}

// resultsAPlace is the number of results, or of candidates of each source, that a search may ask for at a cost of 1.
const resultsAPlace = 100

// textsAPlace is the number of texts that are embedded at a cost of 1.
const textsAPlace = 16
