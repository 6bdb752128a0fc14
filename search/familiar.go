package search

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
)

// nearestQuestions is how many representatives of an expert a question is
// compared with: the mean over the ten nearest is its familiarity.
const nearestQuestions = 10

// familiarities are how familiar a question is to the experts of a line-up: to those
// that are not asked too, so that a chance does not depend on who is.
type familiarities struct {
	observed []fusion.Observed // by number, and then of a source without a domain; nil: nobody asks
	known    bool              // the question is known as the reference encodes it
}

// rival returns the highest familiarity of the other experts; number -1 is a source that is
// no expert.
func (q *familiarities) rival(number int) float64 {
	if len(q.observed) == 0 {
		return 0
	}
	if number < 0 {
		number = len(q.observed) - 1
	}
	return q.observed[number].Rival
}

// familiarities returns those with a question as the reference encodes it; nil: unknown.
func (l *lineUp) familiarities(reference []float32) *familiarities {
	q := &familiarities{observed: make([]fusion.Observed, len(l.experts)+1), known: reference != nil}
	for i, x := range l.experts {
		if len(x.Representatives) > 0 && reference != nil {
			q.observed[i].Familiarity = familiarity(reference, x.Representatives)
			q.observed[i].Kind = fusion.Specialist
		}
	}
	fusion.Rivals(q.observed)
	return q
}

// specialists returns the experts of an inquiry that have a domain, where only the most
// familiar of them are to be asked; else nil.
func (l *lineUp) specialists(q *inquiry) []int {
	if !q.chosenOnly || l.reference == nil {
		return nil
	}
	var all []int
	for _, at := range q.wanted {
		if at < len(l.experts) && len(l.experts[at].Representatives) > 0 && q.unused[at] == "" {
			all = append(all, at)
		}
	}
	if len(all) <= q.most {
		return nil
	}
	return all
}

// askFamiliar asks the few of the specialists that are the most familiar with the
// question: the reference encodes it first, which tells. The others are skipped. Two
// encoder passes one after the other take less time than eight that share the
// machine.
//
// If the reference fails, familiarity is unknown, and all specialists are asked. If its
// queue is full or time is up, no specialist is asked either: a full server must not do
// more work than usual.
func (p *pass) askFamiliar(ctx context.Context, specialists []int) {
	defer p.end()
	encoded := p.encode(ctx, p.reference)
	if encoded.err != nil && (ctx.Err() != nil || run.Overloaded(encoded.err)) {
		reason := fmt.Sprintf(
			"%s, which tells who is familiar with the question, could not encode it in time",
			p.reference.name(),
		)
		if ctx.Err() == nil {
			reason = fmt.Sprintf(
				"the queue of %s, which tells who is familiar with the question, is full; try again in a moment",
				p.reference.name(),
			)
		}
		for _, at := range specialists {
			p.answers <- finding{source: p.sources[at], at: at, cause: encoded.err, reason: reason}
		}
		return
	}
	if encoded.err != nil &&
		!slices.ContainsFunc(
			p.asked,
			func(at int) bool { return at < len(p.experts) && p.experts[at].base },
		) { // no source says it
		p.observer.Source(
			ctx,
			p.reference.name(),
			StatusFailed,
			fmt.Errorf("encoding the question for familiarity: %w", encoded.err),
		)
	}
	if encoded.err == nil {
		specialists = p.chooseFamiliar(encoded.vector, specialists)
	}
	for _, at := range specialists {
		p.start(ctx, at)
	}
}

// chooseFamiliar returns the specialists to ask; the others are reported as skipped.
func (p *pass) chooseFamiliar(question []float32, specialists []int) []int {
	observed := make([]fusion.Observed, len(specialists))
	for i, at := range specialists {
		observed[i] = fusion.Observed{
			Column:      at,
			Kind:        fusion.Specialist,
			Familiarity: familiarity(question, p.experts[at].Representatives),
		}
	}
	var asked []int
	for _, o := range fusion.MostFamiliar(observed, p.most) {
		asked = append(asked, o.Column)
	}
	for _, o := range observed {
		if !slices.Contains(asked, o.Column) {
			p.answers <- finding{source: p.sources[o.Column], at: o.Column, status: StatusSkipped,
				familiarity: ptr(o.Familiarity)}
		}
	}
	return asked
}

// familiarity returns the mean inner product of a question with its nearest
// representatives, [R, len(question)].
func familiarity(question, representatives []float32) float64 {
	d := len(question)
	products := make([]float32, 0, len(representatives)/d)
	for ; len(representatives) >= d; representatives = representatives[d:] {
		products = append(products, innerProduct(question, representatives[:d]))
	}
	return fusion.Familiarity(products, nearestQuestions)
}

// innerProduct adds in four lanes: a single sum waits for itself.
func innerProduct(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	n := len(a) &^ 3
	b = b[:len(a)]
	for i := 0; i < n; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for i := n; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
