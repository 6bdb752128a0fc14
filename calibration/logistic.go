package calibration

import (
	"fmt"
	"math"
)

// Logistic is a chance from signals: 1/(1 + exp(-(intercept + Σ c·x))). With
// one signal it is Platt's scaling.
type Logistic struct {
	Intercept float64 `json:"intercept" yaml:"intercept"`
	Signals   []Term  `json:"signals" yaml:"signals"`
}

// Term is one signal's part in the log-odds: its coefficient times its value.
type Term struct {
	Name        string  `json:"name" yaml:"name"`
	Coefficient float64 `json:"coefficient" yaml:"coefficient"`
}

// SignalOutcome is what was known of an answer, and whether it came true.
type SignalOutcome struct {
	Signals []float64
	Correct bool
}

// ridge is the penalty on half the squared coefficients, of signals brought to
// unit deviation, against a sum over questions: as good as none, but signals
// that repeat each other get one solution.
const ridge = 1e-3

// FitLogistic is the logistic function with the highest likelihood, by
// Newton's method. The targets are Platt's, (N₊+1)/(N₊+2) and 1/(N₋+2) in
// place of 1 and 0, so that signals which separate the outcomes do not give a
// certainty (Platt, 1999; Lin, Lin and Weng, 2007).
func FitLogistic(names []string, outcomes []SignalOutcome) (Logistic, error) {
	if len(outcomes) == 0 {
		return Logistic{}, fmt.Errorf("there are no outcomes to fit on")
	}
	positive := 0.0
	for i, o := range outcomes {
		if err := checkSignals(names, o.Signals); err != nil {
			return Logistic{}, fmt.Errorf("outcome %d of %d: %w", i+1, len(outcomes), err)
		}
		if o.Correct {
			positive++
		}
	}
	high, low := (positive+1)/(positive+2), 1/(float64(len(outcomes))-positive+2)

	mean, deviation := moments(len(names), outcomes)
	p := likelihood{rows: make([][]float64, len(outcomes)), targets: make([]float64, len(outcomes))}
	for i, o := range outcomes {
		row := make([]float64, len(names)+1)
		row[0] = 1
		for j, x := range o.Signals {
			row[j+1] = (x - mean[j]) / deviation[j]
		}
		p.rows[i], p.targets[i] = row, low
		if o.Correct {
			p.targets[i] = high
		}
	}
	b, err := p.maximise()
	if err != nil {
		return Logistic{}, err
	}
	l := Logistic{Intercept: b[0], Signals: make([]Term, len(names))}
	for j, name := range names {
		l.Signals[j] = Term{Name: name, Coefficient: b[j+1] / deviation[j]}
		l.Intercept -= b[j+1] / deviation[j] * mean[j]
	}
	return l, nil
}

func checkSignals(names []string, signals []float64) error {
	if len(signals) != len(names) {
		return fmt.Errorf("%d signals for the names %q", len(signals), names)
	}
	for j, x := range signals {
		if math.IsNaN(x) || math.Abs(x) > 1e150 { // their squares must be finite
			return fmt.Errorf("signal %s is %v", names[j], x)
		}
	}
	return nil
}

// moments are the mean and deviation of each signal; a constant one gets a
// deviation of 1.
func moments(n int, outcomes []SignalOutcome) (mean, deviation []float64) {
	mean, deviation = make([]float64, n), make([]float64, n)
	for j := range n {
		for _, o := range outcomes {
			mean[j] += o.Signals[j] / float64(len(outcomes))
		}
		for _, o := range outcomes {
			gap := o.Signals[j] - mean[j]
			deviation[j] += gap * gap / float64(len(outcomes))
		}
		deviation[j] = math.Sqrt(deviation[j])
		if deviation[j] <= 1e-12*math.Abs(mean[j]) || deviation[j] == 0 {
			deviation[j] = 1
		}
	}
	return mean, deviation
}

// LogOdds is the intercept plus the terms.
func (l Logistic) LogOdds(signals []float64) (float64, error) {
	if len(signals) != len(l.Signals) {
		return 0, fmt.Errorf("%d signals, and the calibration is for %d", len(signals), len(l.Signals))
	}
	sum := l.Intercept
	for i, t := range l.Signals {
		sum += t.Coefficient * signals[i]
	}
	if math.IsNaN(sum) {
		return 0, fmt.Errorf("the signals %v give no number", signals)
	}
	return sum, nil
}

// sigmoid is 1/(1 + exp(-x)) without overflow.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// likelihood is the penalised log-likelihood of a logistic function; column 0
// of the rows is 1 and not penalised.
type likelihood struct {
	rows    [][]float64
	targets []float64
}

// loss is the negative log-likelihood plus the penalty, to be minimised.
func (p *likelihood) loss(b []float64) float64 {
	sum := 0.0
	for i, row := range p.rows {
		z := dot(row, b)
		// ln(1 + exp(z)) - t·z, without overflow.
		sum += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - p.targets[i]*z
	}
	for _, x := range b[1:] {
		sum += ridge / 2 * x * x
	}
	return sum
}

// maximise finds the coefficients. The loss is convex, so Newton's steps,
// halved where they overshoot, lead to its only minimum.
func (p *likelihood) maximise() ([]float64, error) {
	b := make([]float64, len(p.rows[0]))
	loss := p.loss(b)
	for range 100 {
		gradient, hessian := p.slope(b)
		step, err := solve(hessian, gradient)
		if err != nil {
			return nil, err
		}
		decrease := dot(step, gradient)
		if decrease < 1e-12*float64(len(p.rows)) {
			return b, nil
		}
		next, size := make([]float64, len(b)), 1.0
		for {
			for j := range b {
				next[j] = b[j] - size*step[j]
			}
			if after := p.loss(next); after <= loss-1e-4*size*decrease {
				loss = after
				break
			}
			if size /= 2; size < 1e-9 {
				return b, nil // nothing left to gain in this precision
			}
		}
		b = next
	}
	return nil, fmt.Errorf("the logistic fit did not converge")
}

func (p *likelihood) slope(b []float64) (gradient []float64, hessian [][]float64) {
	n := len(b)
	gradient, hessian = make([]float64, n), make([][]float64, n)
	for j := range hessian {
		hessian[j] = make([]float64, n)
	}
	for i, row := range p.rows {
		chance := sigmoid(dot(row, b))
		weight := chance * (1 - chance)
		for j, x := range row {
			gradient[j] += (chance - p.targets[i]) * x
			for k := range j + 1 {
				hessian[j][k] += weight * x * row[k]
			}
		}
	}
	for j := range n {
		if j > 0 {
			gradient[j] += ridge * b[j]
			hessian[j][j] += ridge
		} else {
			hessian[j][j] += 1e-9
		}
		for k := range j {
			hessian[k][j] = hessian[j][k]
		}
	}
	return gradient, hessian
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// solve returns x with a·x = b for a symmetric positive definite a, by
// Cholesky's decomposition, which overwrites a's lower half.
func solve(a [][]float64, b []float64) ([]float64, error) {
	for j := range a {
		for k := range j + 1 {
			sum := a[j][k] - dot(a[j][:k], a[k][:k])
			if j != k {
				a[j][k] = sum / a[k][k]
				continue
			}
			if !(sum > 0) {
				return nil, fmt.Errorf("the logistic fit has no solution: its curvature is %v", sum)
			}
			a[j][j] = math.Sqrt(sum)
		}
	}
	x := make([]float64, len(b))
	for j := range a {
		x[j] = (b[j] - dot(a[j][:j], x[:j])) / a[j][j]
	}
	for j := len(a) - 1; j >= 0; j-- {
		for k := j + 1; k < len(a); k++ {
			x[j] -= a[k][j] * x[k]
		}
		x[j] /= a[j][j]
	}
	return x, nil
}
