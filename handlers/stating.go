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

// costOf returns the admission cost of searches of which atOnce run at a time: the sum of the atOnce most expensive
// ones. The cost of a search grows with its results or its candidates, whichever are more; an ordinary search costs 1.
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

// costOfTexts returns the admission cost of encoding n texts.
func costOfTexts(n int) int { return (n + textsAPlace - 1) / textsAPlace }

// timeoutOf returns the time limit of a search: the request's or the default, plus the time that a generator gets.
func timeoutOf(r search.Request, e Engine) time.Duration {
	writing := search.WritingTime(r, e.Readers())
	if r.TimeoutMS > 0 {
		return time.Duration(r.TimeoutMS)*time.Millisecond + writing
	}
	return e.Defaults().Timeout + writing
}

// encodeInTurn replaces the content of into by an answer as one line of JSON, encoded when a processor is free: a
// thousand passages take milliseconds. It fails if ctx ends while it waits, or the answer cannot be encoded.
func (a *API) encodeInTurn(ctx context.Context, into *bytes.Buffer, answer any) error {
	done, err := a.options.Admission.Turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	into.Reset()
	return schema.Encode(into, answer)
}

// resultsAPlace is the most results, or candidates of each source, that a search may ask for at a cost of 1.
const resultsAPlace = 100

// textsAPlace is the most texts that are encoded at a cost of 1.
const textsAPlace = 16
