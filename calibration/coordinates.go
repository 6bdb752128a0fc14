package calibration

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

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

// plain returns coordinates in which the parameters are as they are.
func (p *gateProblem) plain(origin []float64) *coordinates {
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

// curvature returns the second derivative of the loss, by differences of the first.
func (p *gateProblem) curvature(x []float64) *mat.SymDense {
	const step = 1e-4
	n := len(x)
	aside := slices.Clone(x)
	here, there := make([]float64, n), make([]float64, n)
	p.loss(x, here)
	slopes := mat.NewDense(n, n, nil)
	for i := range x {
		aside[i] = x[i] + step
		p.loss(aside, there)
		aside[i] = x[i]
		for j := range there {
			slopes.Set(i, j, (there[j]-here[j])/step)
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

// coordinates about an origin in which the loss curves the same in every
// direction, as far as the curvature is its own. Their unit is such that BFGS's
// first step, by 1 down the slope, is Newton's.
func (p *gateProblem) coordinates(origin []float64, curvature mat.Symmetric) *coordinates {
	c := p.plain(origin)
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
	c.at(make([]float64, len(origin)))
	c.unit = mat.Norm(mat.NewVecDense(len(c.slope), c.slope), 2)
	if c.unit > 0 {
		c.to.Scale(c.unit, c.to)
	}
	c.last = nil
	return c
}

// parameters returns those at u.
func (c *coordinates) parameters(u []float64) []float64 {
	x := mat.NewVecDense(len(u), nil)
	x.MulVec(c.to, mat.NewVecDense(len(u), u))
	x.AddVec(x, mat.NewVecDense(len(u), c.origin))
	return x.RawVector().Data
}

// at computes value and slope at u, unless they are known.
func (c *coordinates) at(u []float64) {
	if slices.Equal(c.last, u) {
		return
	}
	c.last = append(c.last[:0], u...)
	c.value = c.p.loss(c.parameters(u), c.grad)
	mat.NewVecDense(len(u), c.slope).MulVec(c.to.T(), mat.NewVecDense(len(u), c.grad))
}
