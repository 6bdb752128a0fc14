package ablation

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// searchSteps is the number of weights that the Bayesian oracle tries for a question (Li et al., 2021, section 6.2).
const searchSteps = 50

// drawn is the number of points of the cube that are drawn for each step; the most promising one is tried.
const drawn = 100

// noise is added to the variance of each point, so that equal points have a solution.
const noise = 1e-6

// bayesianMinimum returns the point of the unit cube with the least value among those of begin and those that Bayesian
// optimisation tries after them, steps in all (Frazier, 2018): a Gaussian process with a Matérn kernel of 5/2, whose
// length is the likeliest of a few, is fitted to the values so far, and the point with the greatest expected
// improvement is tried next. Of equal values the earliest counts. It fails if value does.
func bayesianMinimum(
	begin [][]float64,
	steps int,
	random *rand.Rand,
	value func(x []float64) (float64, error),
) ([]float64, error) {
	var points [][]float64
	var values []float64
	best := 0
	try := func(x []float64) error {
		v, err := value(x)
		if err != nil {
			return err
		}
		points, values = append(points, x), append(values, v)
		if v < values[best] {
			best = len(values) - 1
		}
		return nil
	}
	for _, x := range begin {
		if err := try(x); err != nil {
			return nil, err
		}
	}
	for len(points) < steps {
		process := likeliestProcess(points, values)
		var next []float64
		most := math.Inf(-1)
		for range drawn {
			x := make([]float64, len(begin[0]))
			for i := range x {
				x[i] = random.Float64()
			}
			if gain := process.improvement(x, values[best]); gain > most {
				next, most = x, gain
			}
		}
		if err := try(next); err != nil {
			return nil, err
		}
	}
	return points[best], nil
}

// process is a Gaussian process that was fitted to values at points.
type process struct {
	points      [][]float64
	length      float64
	mean, scale float64 // of the values
	factor      mat.Cholesky
	weights     mat.VecDense
}

// likeliestProcess returns the process, out of those with lengths of 0.1, 0.3, 1 and 3, under which the values at the
// points are the likeliest; nil if none could be fitted.
func likeliestProcess(points [][]float64, values []float64) *process {
	var best *process
	most := math.Inf(-1)
	for _, length := range []float64{.1, .3, 1, 3} {
		p, likelihood := newProcess(points, values, length)
		if p != nil && likelihood > most {
			best, most = p, likelihood
		}
	}
	return best
}

// newProcess returns the Gaussian process with this length of its kernel that is fitted to the values at the points,
// and the logarithm of the values' likelihood; nil if the kernel is singular. It keeps points.
func newProcess(points [][]float64, values []float64, length float64) (*process, float64) {
	n := len(points)
	p := &process{points: points, length: length}
	for _, v := range values {
		p.mean += v / float64(n)
	}
	for _, v := range values {
		p.scale += (v - p.mean) * (v - p.mean) / float64(n)
	}
	p.scale = max(math.Sqrt(p.scale), 1e-9)
	kernel := mat.NewSymDense(n, nil)
	y := mat.NewVecDense(n, nil)
	for i := range n {
		y.SetVec(i, (values[i]-p.mean)/p.scale)
		for j := i; j < n; j++ {
			kernel.SetSym(i, j, maternCovariance(points[i], points[j], length))
		}
		kernel.SetSym(i, i, 1+noise)
	}
	if !p.factor.Factorize(kernel) || p.factor.SolveVecTo(&p.weights, y) != nil {
		return nil, 0
	}
	return p, -mat.Dot(y, &p.weights)/2 - p.factor.LogDet()/2
}

// maternCovariance returns the covariance of the values at two points by the Matérn kernel of 5/2 with this length: 1
// for the same point.
func maternCovariance(a, b []float64, length float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	r := math.Sqrt(5*sum) / length
	return (1 + r + r*r/3) * math.Exp(-r)
}

// predict returns the mean and the standard deviation of the value at a point; those of all values if the equations
// cannot be solved.
func (p *process) predict(x []float64) (mean, deviation float64) {
	n := len(p.points)
	k := mat.NewVecDense(n, nil)
	for i, point := range p.points {
		k.SetVec(i, maternCovariance(x, point, p.length))
	}
	var solved mat.VecDense
	if p.factor.SolveVecTo(&solved, k) != nil {
		return p.mean, p.scale
	}
	variance := max(1-mat.Dot(k, &solved), 0)
	return p.mean + p.scale*mat.Dot(k, &p.weights), p.scale * math.Sqrt(variance)
}

// improvement returns the expected difference by which the value at a point is below the least one so far.
func (p *process) improvement(x []float64, least float64) float64 {
	mean, deviation := p.predict(x)
	if deviation == 0 {
		return max(least-mean, 0)
	}
	z := (least - mean) / deviation
	normal := distuv.UnitNormal
	return (least-mean)*normal.CDF(z) + deviation*normal.Prob(z)
}
