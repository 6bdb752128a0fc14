package calibration

import (
	"fmt"
	"math"
	"slices"

	"example.org/conclave/fusion"

	"gonum.org/v1/gonum/mat"
)

// askedForms are the forms of one question on which a gate is fitted: as it is, and without its most familiar expert.
// They do not depend on other questions, so all folds share them.
type askedForms []gateForm

// formsOf returns the forms of each question when at most so many specialists are asked. It fails if a source has no
// column in its question's table.
func formsOf(questions []Question, specialists int) ([]askedForms, error) {
	all := make([]askedForms, len(questions))
	err := inParallel(len(questions), func(i int) error {
		for _, q := range []*Question{&questions[i], withoutMostFamiliar(&questions[i])} {
			if q == nil {
				continue
			}
			form, err := formOf(q.withMostFamiliar(specialists))
			if err != nil {
				return fmt.Errorf("question %q: %w", q.ID, err)
			}
			all[i] = append(all[i], form)
		}
		return nil
	})
	return all, err
}

// withoutMostFamiliar returns a copy of the question without the specialist that is most familiar with it; nil with
// fewer than three specialists. Most users' questions are unlike those of any expert's domain, and development
// questions of these domains do not show how a gate does there.
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
	out.Sources = append(append([]fusion.ObservedSource(nil), q.Sources[:nearest]...), q.Sources[nearest+1:]...)
	return &out
}

// formOf returns the features of a question, its sources, and each source's scores of the candidates that one of them
// found, as the loss reads them. scores is nil if no candidate answers, since nothing can be fitted then. It fails if a
// source has no column in the table.
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
		if q.Table.BestRank(row, columns) == 0 { // none of these sources found it
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

// problemOf returns the problem of fitting a gate to these questions, each in the forms in which it is asked. Forms in
// which no candidate answers are left out. The features are copied and standardised; forms is not changed.
func problemOf(forms []askedForms) *gateProblem {
	p := &gateProblem{ridge: gateRidge, origin: gateStart()}
	for index, all := range forms {
		for _, q := range all {
			for _, s := range q.sources {
				p.phrases, p.late = p.phrases || s.Kind == fusion.Phrases, p.late || s.Kind == fusion.Late
				p.near = p.near || s.Kind == fusion.Near
			}
			if len(q.answers) == 0 {
				continue
			}
			q.index = index
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

// standardise replaces every feature by its difference from the mean over the questions, divided by the deviation, so
// that one ridge suits all, and keeps both in p.mean and p.deviation. A feature that is the same everywhere is only
// shifted to 0; its deviation counts as 1.
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

// coordinates transform the parameters for an optimiser: about an origin, in directions
// in which the curvature of the loss is the same.
type coordinates struct {
	p      *gateProblem
	origin []float64
	to     *mat.Dense // parameters = origin + to·u
	unit   float64    // how long the unit of u is where the loss curves by 1; 0: that is not known

	// The last point that was evaluated, with its slope and value: a line search asks
	// for the value first and, where that is good, for the slope.
	last, grad, slope []float64
	value             float64
}

// plainCoordinates returns coordinates that are the parameters minus origin.
func (p *gateProblem) plainCoordinates(origin []float64) *coordinates {
	n := len(origin)
	c := &coordinates{
		p:      p,
		origin: origin,
		to:     mat.NewDense(n, n, nil),
		grad:   make([]float64, n),
		slope:  make([]float64, n),
	}
	for i := range n {
		c.to.Set(i, i, 1)
	}
	return c
}

// curvature returns the second derivatives of the loss at x, from differences of the first.
func (p *gateProblem) curvature(x []float64) *mat.SymDense {
	const step = 1e-4
	n := len(x)
	aside := slices.Clone(x)
	here, found := make([]float64, n), make([]float64, n)
	p.loss(x, here)
	slopes := mat.NewDense(n, n, nil)
	for i := range x {
		aside[i] = x[i] + step
		p.loss(aside, found)
		aside[i] = x[i]
		for j := range found {
			slopes.Set(i, j, (found[j]-here[j])/step)
		}
	}
	curvature := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			curvature.SetSym(i, j, (slopes.At(i, j)+slopes.At(j, i))/2)
		}
	}
	return curvature
}

// curvedCoordinates returns coordinates about an origin in which the loss curves equally in every direction, so that
// BFGS needs fewer steps. curvature holds the second derivatives at the origin. The unit is such that the first step of
// BFGS, of length 1 down the slope, is Newton's. If the curvature cannot be factorised, it returns plainCoordinates.
func (p *gateProblem) curvedCoordinates(origin []float64, curvature mat.Symmetric) *coordinates {
	c := p.plainCoordinates(origin)
	var e mat.EigenSym
	if !e.Factorize(curvature, true) {
		return c // the optimiser is slower with these
	}
	e.VectorsTo(c.to)
	for j, curved := range e.Values(nil) {
		// The ridge alone gives this curvature. If the curvature is less, or negative, the
		// point is far from the minimum.
		size := 1 / math.Sqrt(max(math.Abs(curved), 2*p.ridge))
		for i := range origin {
			c.to.Set(i, j, size*c.to.At(i, j))
		}
	}
	c.evaluateAt(make([]float64, len(origin)))
	c.unit = mat.Norm(mat.NewVecDense(len(c.slope), c.slope), 2)
	if c.unit > 0 {
		c.to.Scale(c.unit, c.to)
	}
	c.last = nil
	return c
}

// parametersAt returns the gate's parameters at coordinates u.
func (c *coordinates) parametersAt(u []float64) []float64 {
	x := mat.NewVecDense(len(u), nil)
	x.MulVec(c.to, mat.NewVecDense(len(u), u))
	x.AddVec(x, mat.NewVecDense(len(u), c.origin))
	return x.RawVector().Data
}

// evaluateAt sets c.value and c.slope to the loss and its gradient, both at the coordinates u. It does nothing if u is
// the point of the call before.
func (c *coordinates) evaluateAt(u []float64) {
	if slices.Equal(c.last, u) {
		return
	}
	c.last = append(c.last[:0], u...)
	c.value = c.p.loss(c.parametersAt(u), c.grad)
	mat.NewVecDense(len(u), c.slope).MulVec(c.to.T(), mat.NewVecDense(len(u), c.grad))
}
