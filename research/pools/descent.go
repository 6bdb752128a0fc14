package pools

import (
	"math"
	"slices"

	"example.org/conclave/calibration"
	"example.org/conclave/fusion"
)

// Descent is the course of a gradient descent on the squared ECE: the temperatures, and the squared ECE at each.
type Descent struct {
	Temperatures []float64 `json:"temperatures"`
	SquaredECE   []float64 `json:"squared_ece"`
}

// The paper's descent (Yang et al., 2022, section 4.2), within the temperatures that it may
// reach.
const (
	firstTemperature   = fusion.DefaultCCETemperature
	descentStep        = 100
	lowestTemperature  = .01
	highestTemperature = 10
	descentSteps       = 100
	leastGain          = 1e-6
)

// bins is the number of bins of the confidences.
const bins = 10

// granular is what some granularities found for one question.
type granular struct {
	scores [][]float64 // of each granularity, the best first
	right  []bool      // its first passage answers
}

// granularOf returns what the named experts found for each question: the first scores, and whether the first passage
// answers.
func granularOf(e *calibration.Evidence, names []string) []granular {
	out := make([]granular, len(e.Questions))
	for i := range e.Questions {
		q := &e.Questions[i]
		for _, name := range names {
			column := slices.Index(e.Sources, name)
			out[i].scores = append(out[i].scores, q.Table.FirstScores(column, fusion.DefaultCCEDepth))
			out[i].right = append(out[i].right, q.AnsweredBy(column))
		}
	}
	return out
}

// surest chooses the granularity whose first passage is the most probable one at a temperature. o has that probability
// and whether the passage answers the question; slope is the derivative of the probability by the temperature. Without
// granularities, both are zero.
func (g *granular) surest(temperature float64) (o calibration.Outcome, slope float64) {
	best := -1.
	for i, scores := range g.scores {
		if p, s := fusion.TopProbability(scores, temperature); p > best {
			best = p
			slope = s
			o = calibration.Outcome{Confidence: p, Correct: g.right[i]}
		}
	}
	return o, slope
}

// rightValue returns 1 for a right answer and 0 for a wrong one.
func rightValue(o calibration.Outcome) float64 {
	if o.Correct {
		return 1
	}
	return 0
}

// squaredECE returns Σ|B|/K·(conf(B) - acc(B))² over ten bins, each with its lower end and without
// its upper, the last with both (Yang et al., 2022, section 3.2), and its gradient by the variable
// of the confidences' slopes. As in the paper, the gradient ignores that outcomes change bins and
// that another granularity becomes the surest.
func squaredECE(outcomes []calibration.Outcome, slopes []float64) (e, gradient float64) {
	var gap, slope, n [bins]float64
	for i, o := range outcomes {
		bin := min(int(o.Confidence*bins), bins-1)
		n[bin]++
		gap[bin] += o.Confidence - rightValue(o)
		slope[bin] += slopes[i]
	}
	all := float64(len(outcomes))
	for bin, size := range n {
		if size > 0 {
			mean := gap[bin] / size
			e += size / all * mean * mean
			gradient += 2 * size / all * mean * slope[bin] / size
		}
	}
	return e, gradient
}

// descent returns the paper's gradient descent: from T₀ 0.1, at most descentSteps steps of 100 gradients, within the
// bounds of a temperature, until the squared ECE changes by less than leastGain. With backtracking a step is halved
// until it lowers the squared ECE, and the descent ends where none does.
func descent(questions []granular, backtracking bool) (d Descent) {
	at := func(t float64) (e, gradient float64) {
		outcomes := make([]calibration.Outcome, len(questions))
		slopes := make([]float64, len(questions))
		for i := range questions {
			outcomes[i], slopes[i] = questions[i].surest(t)
		}
		return squaredECE(outcomes, slopes)
	}
	t := fusion.DefaultCCETemperature
	e, gradient := at(t)
	d.Temperatures, d.SquaredECE = []float64{t}, []float64{e}
	for range descentSteps {
		step := float64(descentStep)
		next := t
		there := e
		slope := gradient
		for {
			next = min(max(t-step*gradient, lowestTemperature), highestTemperature)
			there, slope = at(next)
			if !backtracking || there < e || math.Abs(next-t) < leastGain {
				break
			}
			step /= 2
		}
		gained := e - there
		if backtracking && gained <= 0 {
			break
		}
		t, e, gradient = next, there, slope
		d.Temperatures, d.SquaredECE = append(d.Temperatures, t), append(d.SquaredECE, e)
		if math.Abs(gained) < leastGain {
			break
		}
	}
	return d
}
