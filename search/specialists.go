package search

import (
	"context"
	"fmt"
	"slices"

	"conclave/fusion"
)

// preselects reports whether only the specialists are asked that are the most
// familiar with the question.
func (e *lineUp) preselects(p *plan) bool {
	return p.chosenOnly && e.referenceExpert >= 0 && len(e.specialistsOf(p)) > p.specialists
}

// specialistsOf are the positions of the plan's experts that have a domain.
func (e *lineUp) specialistsOf(p *plan) []int {
	var positions []int
	for position, expert := range p.experts {
		if len(e.experts[expert].Representatives) > 0 && p.unused[expert] == "" {
			positions = append(positions, position)
		}
	}
	return positions
}

// askFamiliar asks every expert without a domain, and of those with one the
// few that are the most familiar with the question: the reference encodes it
// first, which tells. The others are skipped. Two encoder passes one after the
// other take less time than eight that share the machine.
//
// When the reference fails nobody knows who is familiar, and all are asked; when
// its queue is full, or time is up, the specialists share its fate: to ask more
// than usual is the last thing that a full server needs.
func (e *lineUp) askFamiliar(ctx context.Context, p *plan, view *pinned, answers chan<- finding) {
	reference := &e.experts[e.referenceExpert]
	encoder := e.encoderOf[e.referenceExpert]
	specialists := e.specialistsOf(p)
	var known []int // positions that the reference's vector serves
	for _, group := range e.shared(p, except(everyone(len(p.experts)), specialists)) {
		if e.encoderOf[p.experts[group[0]]] == encoder {
			known = group
			continue
		}
		e.start(view, func() { e.askExperts(ctx, p, view, group, answers) })
	}
	encoded := e.encode(ctx, p, reference)
	if len(known) > 0 {
		e.start(view, func() { e.searchAll(ctx, p, view, known, encoded, answers) })
	}
	asked := specialists
	switch {
	case encoded.cause == nil:
		answers <- finding{source: aside, vector: encoded.vector}
		asked = e.chooseFamiliar(p, encoded.vector, specialists, answers)
	case ctx.Err() != nil || overloaded(encoded.cause):
		reason := fmt.Sprintf("%s, which tells who is familiar with the question, could not encode it in time", reference.Name)
		if ctx.Err() == nil {
			reason = fmt.Sprintf("the queue of %s, which tells who is familiar with the question, is full; try again in a moment", reference.Name)
		}
		for _, position := range specialists {
			answers <- finding{source: position, name: e.sourceName(p, position), cause: encoded.cause, reason: reason}
		}
		return
	case len(known) == 0: // no source says it
		e.observer.Source(ctx, reference.Name, StatusFailed, fmt.Errorf("encoding the question for familiarity: %w", encoded.cause))
	}
	for _, group := range e.shared(p, asked) {
		if e.encoderOf[p.experts[group[0]]] == encoder && encoded.cause == nil {
			e.start(view, func() { e.searchAll(ctx, p, view, group, encoded, answers) })
			continue
		}
		e.start(view, func() { e.askExperts(ctx, p, view, group, answers) })
	}
}

// chooseFamiliar are the specialists to ask; the others are reported as
// skipped.
func (e *lineUp) chooseFamiliar(p *plan, question []float32, specialists []int, answers chan<- finding) []int {
	observed := make([]fusion.Observed, len(specialists))
	for i, position := range specialists {
		observed[i] = fusion.Observed{Column: position, Kind: fusion.Specialist,
			Familiarity: familiarity(question, e.experts[p.experts[position]].Representatives)}
	}
	var asked []int
	for _, o := range fusion.MostFamiliar(observed, p.specialists) {
		asked = append(asked, o.Column)
	}
	for _, o := range observed {
		if !slices.Contains(asked, o.Column) {
			answers <- finding{source: o.Column, name: e.sourceName(p, o.Column), status: StatusSkipped, familiarity: ptr(o.Familiarity)}
		}
	}
	return asked
}

// except are the positions that are not among the others.
func except(positions, others []int) []int {
	return slices.DeleteFunc(slices.Clone(positions), func(p int) bool { return slices.Contains(others, p) })
}
