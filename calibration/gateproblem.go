package calibration

import (
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"
)

// askedForms are the forms in which a question is asked when a gate is fitted:
// as it is, and without its most familiar expert. They do not depend on the other
// questions, so that all folds share them.
type askedForms []gateForm

func formsOf(questions []Question, specialists int) ([]askedForms, error) {
	all := make([]askedForms, len(questions))
	err := inParallel(len(questions), func(i int) error {
		for _, q := range []*Question{&questions[i], withoutMostFamiliar(&questions[i])} {
			if q == nil {
				continue
			}
			form, err := formOf(q.asked(specialists))
			if err != nil {
				return fmt.Errorf("question %q: %w", q.ID, err)
			}
			all[i] = append(all[i], form)
		}
		return nil
	})
	return all, err
}

// withoutMostFamiliar returns the question without its most familiar expert. Most users' questions are unlike
// those of any expert's domain, which development questions of these domains do not show.
// Nil with fewer than three specialists.
func withoutMostFamiliar(q *Question) *Question {
	nearest := -1
	specialists := 0
	for i, s := range q.Sources {
		if s.Kind != fusion.Specialist {
			continue
		}
		specialists++
		if nearest < 0 || s.Familiarity > q.Sources[nearest].Familiarity {
			nearest = i
		}
	}
	if specialists < 3 {
		return nil
	}
	out := *q
	out.Sources = append(append([]fusion.Observed(nil), q.Sources[:nearest]...), q.Sources[nearest+1:]...)
	return &out
}

// formOf returns a question in the form that the loss reads. If no candidate answers, it has no
// scores, since there is nothing to fit on.
func formOf(q *Question) (gateForm, error) {
	g := gateForm{features: fusion.FeaturesOf(q.Table, q.Sources), sources: slices.Clone(q.Sources)}
	columns, scores := make([]int, len(q.Sources)), make([][]float64, len(q.Sources))
	for i, s := range q.Sources {
		if s.Column < 0 || s.Column >= q.Table.Sources() {
			return g, fmt.Errorf("source %d of %d", s.Column, q.Table.Sources())
		}
		columns[i] = s.Column
		g.sources[i].Column = i
		scores[i] = make([]float64, 0, q.Table.Len())
	}
	q.Table.Each(fusion.Exact, func(row int, own []float64) {
		if q.Table.Best(row, columns) == 0 { // none of these sources found it
			return
		}
		if q.Relevant[q.Table.Ordinal(row)] > 0 {
			g.answers = append(g.answers, g.candidates)
		}
		for i, column := range columns {
			scores[i] = append(scores[i], own[column])
		}
		g.candidates++
	})
	if len(g.answers) > 0 {
		g.scores = scores
	}
	return g, nil
}

// problemOf returns the loss over those forms that a candidate answers. It leaves the
// forms as they are.
func problemOf(forms []askedForms) *gateProblem {
	p := &gateProblem{ridge: gateRidge, origin: gateStart()}
	for of, all := range forms {
		for _, q := range all {
			for _, s := range q.sources {
				p.phrases, p.late = p.phrases || s.Kind == fusion.Phrases, p.late || s.Kind == fusion.Late
			}
			if len(q.answers) == 0 {
				continue
			}
			q.of = of
			f := &q.features
			f.Lexical, f.Late, f.Dense = slices.Clone(f.Lexical), slices.Clone(f.Late), slices.Clone(f.Dense)
			for i := range f.Dense {
				f.Dense[i] = slices.Clone(f.Dense[i])
			}
			p.questions = append(p.questions, q)
		}
	}
	p.standardise()
	return p
}

// standardise gives every feature mean 0 and deviation 1 over the questions,
// so that one ridge fits all; a feature that never changes is left alone.
func (p *gateProblem) standardise() {
	p.mean, p.deviation = make([]float64, parameters), make([]float64, parameters)
	rows, squares := make([]float64, parameters), make([]float64, parameters)
	each := func(visit func(at int, value *float64)) {
		for i := range p.questions {
			f := &p.questions[i].features
			for _, x := range f.Dense {
				for j := range x {
					visit(atDense+j, &x[j])
				}
			}
			for j := range f.Lexical {
				visit(atLexical+j, &f.Lexical[j])
			}
			for j := range f.Late {
				visit(atLate+j, &f.Late[j])
			}
		}
	}
	each(func(at int, v *float64) { rows[at]++; p.mean[at] += *v })
	for j := range p.mean {
		p.mean[j] /= max(rows[j], 1)
	}
	each(func(at int, v *float64) { d := *v - p.mean[at]; squares[at] += d * d })
	for j := range squares {
		p.deviation[j] = math.Sqrt(squares[j] / max(rows[j], 1))
		if p.deviation[j] < 1e-9 {
			p.deviation[j] = 1
		}
	}
	each(func(at int, v *float64) { *v = (*v - p.mean[at]) / p.deviation[at] })
}
