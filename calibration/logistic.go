package calibration

import (
	"fmt"
	"math"
	"slices"
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
	Weight  float64 // how many outcomes it counts for; 0: one
}

func (o *SignalOutcome) weight() float64 {
	if o.Weight == 0 {
		return 1
	}
	return o.Weight
}

// ridge is the penalty on half the squared coefficients, of signals brought to
// unit deviation, against a sum over questions: as good as none, but signals
// that repeat each other get one solution.
const ridge = 1e-3

// priorStrength is the ridge's where it pulls to a prior. One at which questions
// of a collection take over from it between some dozen and some hundred: see the
// curve in docs/experts.md.
const priorStrength = 30

// FitLogistic is the logistic function with the highest likelihood, by
// Newton's method; with a prior, the most likely one where its coefficients, and
// the log-odds in the middle of the signals, lie about the prior's. The targets are Platt's, (N₊+1)/(N₊+2) and 1/(N₋+2) in
// place of 1 and 0, so that signals which separate the outcomes do not give a
// certainty (Platt, 1999; Lin, Lin and Weng, 2007).
func FitLogistic(names []string, outcomes []SignalOutcome, prior *Logistic) (Logistic, error) {
	if len(outcomes) == 0 {
		return Logistic{}, fmt.Errorf("there are no outcomes to fit on")
	}
	positive, negative := 0.0, 0.0
	for i, o := range outcomes {
		if err := checkSignals(names, o.Signals); err != nil {
			return Logistic{}, fmt.Errorf("outcome %d of %d: %w", i+1, len(outcomes), err)
		}
		if o.Correct {
			positive += o.weight()
		} else {
			negative += o.weight()
		}
	}
	high, low := (positive+1)/(positive+2), 1/(negative+2)

	mean, deviation := moments(len(names), outcomes)
	p := likelihood{rows: make([][]float64, len(outcomes)), targets: make([]float64, len(outcomes)), weights: make([]float64, len(outcomes)),
		about: make([]float64, len(names)+1), ridge: ridge, level: 1e-9}
	if prior != nil {
		if err := prior.pull(&p, names, mean, deviation); err != nil {
			return Logistic{}, err
		}
	}
	for i, o := range outcomes {
		row := make([]float64, len(names)+1)
		row[0] = 1
		for j, x := range o.Signals {
			row[j+1] = (x - mean[j]) / deviation[j]
		}
		p.rows[i], p.targets[i], p.weights[i] = row, low, o.weight()
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

// pull lets the ridge pull to a prior, in terms of standardised signals.
func (l *Logistic) pull(p *likelihood, names []string, mean, deviation []float64) error {
	if len(l.Signals) != len(names) {
		return fmt.Errorf("the prior is for %d signals, not %d", len(l.Signals), len(names))
	}
	p.ridge, p.level, p.about[0] = priorStrength, priorStrength, l.Intercept
	for j, t := range l.Signals {
		if t.Name != names[j] {
			return fmt.Errorf("signal %d of the prior is %s, not %s", j+1, t.Name, names[j])
		}
		p.about[0] += t.Coefficient * mean[j]
		p.about[j+1] = t.Coefficient * deviation[j]
	}
	return nil
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
	all := 0.0
	for _, o := range outcomes {
		all += o.weight()
	}
	for j := range n {
		for _, o := range outcomes {
			mean[j] += o.Signals[j] * o.weight() / all
		}
		for _, o := range outcomes {
			gap := o.Signals[j] - mean[j]
			deviation[j] += gap * gap * o.weight() / all
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

// likelihood is the penalised log-likelihood of a logistic function: half of ridge
// times the squares of the coefficients' distances from about, and half of level
// times that of column 0, which is 1 in all rows.
type likelihood struct {
	rows    [][]float64
	targets []float64
	weights []float64
	about   []float64
	ridge   float64
	level   float64
}

// penalty is what the square of a coefficient's distance counts.
func (p *likelihood) penalty(j int) float64 {
	if j == 0 {
		return p.level
	}
	return p.ridge
}

// loss is the negative log-likelihood plus the penalty, to be minimised.
func (p *likelihood) loss(b []float64) float64 {
	sum := 0.0
	for i, row := range p.rows {
		z := dot(row, b)
		// ln(1 + exp(z)) - t·z, without overflow.
		sum += p.weights[i] * (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) - p.targets[i]*z)
	}
	for j, x := range b {
		sum += p.penalty(j) / 2 * (x - p.about[j]) * (x - p.about[j])
	}
	return sum
}

// maximise finds the coefficients. The loss is convex, so Newton's steps,
// halved where they overshoot, lead to its only minimum.
func (p *likelihood) maximise() ([]float64, error) {
	b := slices.Clone(p.about)
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
		weight := p.weights[i] * chance * (1 - chance)
		for j, x := range row {
			gradient[j] += p.weights[i] * (chance - p.targets[i]) * x
			for k := range j + 1 {
				hessian[j][k] += weight * x * row[k]
			}
		}
	}
	for j := range n {
		gradient[j] += p.penalty(j) * (b[j] - p.about[j])
		hessian[j][j] += p.penalty(j)
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
