package search

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// Compare answers one question in several ways, and asks every source only once for all of them. Each response is that
// of a search of its own, so that evaluations compare methods and single sources on the same findings.
//
// The requests may differ in what happens after the sources have answered, and in which sources take part: K, Fusion,
// Experts, BM25, Late, Missing, Weights, Explain, Fields, Normalisation, Sharpness, Weighting, MinConfidence, Offsets,
// Answer, Rerank, Without. If anything else differs, Compare returns a *fault.Error of kind Invalid. It also fails if
// Search would refuse one of the requests or all its sources failed; a source that failed next to others is under
// Degraded of the responses that it would have been in.
//
// Four things differ from separate searches:
//
//  1. A request is reranked only if it says so.
//  2. The deadline is for all sources together.
//  3. Confidence, familiarity and chance of a source are in every response if one of the requests needs them.
//  4. An expert that would have been skipped is there with weight 0 if another request asks it.
//
// The responses are in the order of the requests. The first error ends the comparison; there are no responses then.
func (e *Engine) Compare(ctx context.Context, requests []Request) ([]reply.Response, error) {
	started := time.Now()
	l, err := e.useLineUp()
	if err != nil {
		return nil, err
	}
	defer l.panel.Users.Leave()
	if err := checkComparable(requests); err != nil {
		return nil, err
	}
	plans := make([]*plan.Plan, len(requests))
	for i := range requests {
		r := requests[i]
		r.Rerank.Asked = true // a comparison says for itself what it compares
		p, err := l.plan(&r)
		if err != nil {
			return nil, nameRequest(i, err)
		}
		plans[i] = p
	}
	o, whole, release, err := l.ask(ctx, joinInquiries(plans), started, time.Time{})
	if err != nil {
		return nil, err
	}
	defer release()
	responses := make([]reply.Response, len(plans))
	for i, p := range plans {
		responses[i], err = l.respondToPlan(whole, p, o, started)
		if err != nil {
			return nil, nameRequest(i, err)
		}
	}
	return responses, nil
}

// respondToPlan makes the response to one plan out of the findings for several plans. started is when the comparison
// began. It fails if no source of the plan answered, if ranking or reading passages does, or if the caller has no room
// for the answer.
func (l *lineUp) respondToPlan(
	ctx context.Context,
	p *plan.Plan,
	o *askResult,
	started time.Time,
) (reply.Response, error) {
	a, err := l.rank(ctx, Caller{}, p, o, o.found.FindingsOf(&p.Inquiry))
	if err != nil {
		return reply.Response{}, err
	}
	defer a.Done()
	return l.finish(ctx, Caller{}, a, o, started)
}

// joinInquiries returns one inquiry that asks for everything that any of the plans needs. plans must not be empty and
// must have the same question.
func joinInquiries(plans []*plan.Plan) sources.Inquiry {
	all := plans[0].Inquiry
	all.Wanted = nil
	all.Unused = map[int]string{}
	all.AllLate = true
	for _, p := range plans {
		all.ChosenOnly = all.ChosenOnly && p.Inquiry.ChosenOnly
		all.Wanted = append(all.Wanted, p.Inquiry.Wanted...)
		all.Confidence, all.Reads, all.Writes = all.Confidence ||
			p.Inquiry.Confidence, all.Reads ||
			p.Inquiry.Reads, all.Writes ||
			p.Inquiry.Writes
		all.WritingTime = max(all.WritingTime, p.Inquiry.WritingTime)
		all.Reranks = all.Reranks || p.Inquiry.Reranks
		all.AnyLanguage = all.AnyLanguage || p.Inquiry.AnyLanguage
	}
	slices.Sort(all.Wanted)
	all.Wanted = slices.Compact(all.Wanted)
	for _, at := range all.Wanted {
		for _, p := range plans {
			if slices.Contains(p.Inquiry.Wanted, at) {
				all.Unused[at] = p.Inquiry.Unused[at]
				if all.Unused[at] == "" {
					break
				}
			}
		}
	}
	return all
}

// checkComparable returns a *fault.Error (Invalid) if there are no requests, or one asks something else of the sources
// than the first. Which sources count, how they are fused and what is shown may differ, but not Experts where
// Specialists is set.
func checkComparable(requests []Request) error {
	invalid := func(format string, args ...any) error {
		detail := fmt.Sprintf(format, args...)
		return &fault.Error{Kind: fault.Invalid, Code: "not_comparable", Detail: detail}
	}
	if len(requests) == 0 {
		return invalid("there is nothing to compare")
	}
	asked := func(r Request) Request {
		r.K = 0
		r.Fusion = Methods{}
		r.Experts = nil
		r.BM25 = nil
		r.Late = nil
		r.Missing = ""
		r.Weights = nil
		r.Explain = false
		r.Fields = nil
		r.Normalisation = ""
		r.Sharpness = 0
		r.Weighting = ""
		r.MinConfidence = 0
		r.Offsets = ""
		r.Answer = ask.AnswerOptions{}
		r.Rerank = ask.RerankOptions{}
		r.Without = nil
		return r
	}
	named := func(r Request) []string {
		if r.Experts == nil {
			return nil
		}
		return *r.Experts
	}
	for i, r := range requests[1:] {
		if r.Specialists != 0 &&
			(!slices.Equal(named(r), named(requests[0])) || (r.Experts == nil) != (requests[0].Experts == nil)) {
			return invalid(
				"request %d names other experts than request 1: the most familiar ones would be others too", i+2,
			)
		}
		if !reflect.DeepEqual(asked(r), asked(requests[0])) {
			return invalid(
				"request %d asks the sources for something else than request 1: only what is done with their answers may differ",
				i+2,
			)
		}
	}
	return nil
}

// nameRequest returns err with the number of the request (i+1) before its text. A *fault.Error keeps its kind.
func nameRequest(i int, err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		named := *known
		named.Detail = fmt.Sprintf("request %d: %s", i+1, known.Detail)
		return &named
	}
	return fmt.Errorf("request %d: %w", i+1, err)
}
