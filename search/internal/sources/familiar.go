package sources

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// nearestQuestions is how many representatives of an expert a question is
// compared with: the mean over the ten nearest is its familiarity.
const nearestQuestions = 10

// Familiarities holds how familiar a question is to every expert of a line-up, asked or not, so that the chance of a
// source does not depend on which others were asked.
type Familiarities struct {
	observed []fusion.ObservedSource // by Dense.number, and last one for sources without a domain; nil: not computed
	// the reference's vector of the question was available; false: all familiarities are 0
	known bool
}

// highestRival returns the highest familiarity of the question to a specialist other than the expert with this number
// (Dense.number). With a negative number, of a source that is no expert, all specialists count. It returns 0 if
// familiarities were not computed or there is no such specialist.
func (q *Familiarities) highestRival(number int) float64 {
	if len(q.observed) == 0 {
		return 0
	}
	if number < 0 {
		number = len(q.observed) - 1
	}
	return q.observed[number].Rival
}

// Familiarities returns how familiar a question is to each expert, by the question's vector of the reference. It never
// returns nil; if the vector is nil, all familiarities are 0 and unknown.
func (p *Panel) Familiarities(reference []float32) *Familiarities {
	q := &Familiarities{observed: make([]fusion.ObservedSource, len(p.Experts)+1), known: reference != nil}
	for i, x := range p.Experts {
		if len(x.Model.Representatives) > 0 && reference != nil {
			q.observed[i].Familiarity = Familiarity(reference, x.Model.Representatives)
			q.observed[i].Kind = fusion.Specialist
		}
	}
	fusion.Rivals(q.observed)
	return q
}

// Specialists returns the specialists of an inquiry, as indexes of Sources, if only the q.MostSpecialists most familiar
// ones of them are to be asked. It returns nil if all sources are to be asked: the inquiry wants that, there is no
// reference to tell familiarity by, or there are no more specialists than that.
func (p *Panel) Specialists(q *Inquiry) []int {
	if !q.ChosenOnly || p.Reference == nil {
		return nil
	}
	var all []int
	for _, at := range q.Wanted {
		if at < len(p.Experts) && len(p.Experts[at].Model.Representatives) > 0 && q.Unused[at] == "" {
			all = append(all, at)
		}
	}
	if len(all) <= q.MostSpecialists {
		return nil
	}
	return all
}

// askFamiliar starts the q.MostSpecialists specialists most familiar with the question, by the reference's vector, and
// sends a skipped finding to p.answers for each other. It does not wait for them, and ends the work that the caller
// began (holdView). If the reference fails, it starts all; if its queue is full or time is up, none, and each gets a
// finding that says so.
func (p *Findings) askFamiliar(ctx context.Context, specialists []int) {
	defer p.releaseView()
	encoded := p.encodeQuestion(ctx, p.Panel.Reference)
	if encoded.err != nil && (ctx.Err() != nil || run.Overloaded(encoded.err)) {
		reason := fmt.Sprintf(
			"%s, which tells who is familiar with the question, could not encode it in time", p.Panel.Reference.Name(),
		)
		if ctx.Err() == nil {
			reason = fmt.Sprintf(
				"the queue of %s, which tells who is familiar with the question, is full; try again in a moment",
				p.Panel.Reference.Name(),
			)
		}
		for _, at := range specialists {
			p.answers <- Finding{Source: p.Panel.Sources[at], At: at, Cause: encoded.err, Reason: reason}
		}
		return
	}
	if encoded.err != nil &&
		!slices.ContainsFunc(
			p.asked, func(at int) bool { return at < len(p.Panel.Experts) && p.Panel.Experts[at].Base },
		) { // no source says it
		p.Panel.Run.Report.Source(
			ctx, p.Panel.Reference.Name(), reply.StatusFailed,
			fmt.Errorf("encoding the question for familiarity: %w", encoded.err),
		)
	}
	if encoded.err == nil {
		specialists = p.chooseFamiliar(encoded.vector, specialists)
	}
	for _, at := range specialists {
		p.askInBackground(ctx, at)
	}
}

// chooseFamiliar returns the specialists that are the most familiar with a question, at most Inquiry.MostSpecialists.
// For each of the others it sends a finding with StatusSkipped. question is the reference's vector.
func (p *Findings) chooseFamiliar(question []float32, specialists []int) []int {
	observed := make([]fusion.ObservedSource, len(specialists))
	for i, at := range specialists {
		observed[i] = fusion.ObservedSource{
			Column:      at,
			Kind:        fusion.Specialist,
			Familiarity: Familiarity(question, p.Panel.Experts[at].Model.Representatives),
		}
	}
	var asked []int
	for _, o := range fusion.MostFamiliar(observed, p.Inquiry.MostSpecialists) {
		asked = append(asked, o.Column)
	}
	for _, o := range observed {
		if !slices.Contains(asked, o.Column) {
			p.answers <- Finding{Source: p.Panel.Sources[o.Column], At: o.Column, Status: reply.StatusSkipped,
				Familiarity: run.Ptr(o.Familiarity)}
		}
	}
	return asked
}

// Familiarity returns the mean inner product of a question's vector with the nearestQuestions nearest representatives,
// with all if there are fewer, and 0 without any. representatives holds vectors of len(question) numbers one behind the
// other. question must not be empty.
func Familiarity(question, representatives []float32) float64 {
	d := len(question)
	products := make([]float32, 0, len(representatives)/d)
	for ; len(representatives) >= d; representatives = representatives[d:] {
		products = append(products, InnerProduct(question, representatives[:d]))
	}
	return fusion.Familiarity(products, nearestQuestions)
}

// InnerProduct returns the inner product of a with the first len(a) numbers of b. It panics if b is shorter. It adds in
// four lanes, which a processor does at the same time.
func InnerProduct(a, b []float32) float32 {
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
