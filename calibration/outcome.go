package calibration

import (
	"cmp"
	"math"
	"slices"
)

// Outcome is a confidence, 0 to 1, and whether it was right: whether the first passage, or any of the first k, answers.
type Outcome struct {
	Confidence float64
	Correct    bool
	Weight     float64 // how many questions it counts for; 0: one
}

// correctValue returns 1 if the outcome is correct, else 0.
func (o Outcome) correctValue() float64 {
	if o.Correct {
		return 1
	}
	return 0
}

// weightOf returns the weight; 1 if it is not set.
func (o Outcome) weightOf() float64 { return weightOr1(o.Weight) }

// weightOr1 returns a weight; 1 for 0.
func weightOr1(weight float64) float64 {
	if weight == 0 {
		return 1
	}
	return weight
}

// Summary has measures of confidences, each from 0 to 1.
type Summary struct {
	// ECE is the expected calibration error. A constant equal to the accuracy has one
	// of 0, so AUROC stands beside it.
	ECE float64
	// Brier is the mean squared difference between confidence and outcome. It
	// is a proper score: only the true chances minimise it.
	Brier float64
	// AUROC is nil when all outcomes are the same.
	AUROC *float64
}

// Summarise returns measures of confidences by their outcomes. Without outcomes all are 0.
func Summarise(outcomes []Outcome) Summary {
	s := Summary{ECE: ECE(outcomes)}
	all := 0.0
	for _, o := range outcomes {
		s.Brier += o.weightOf() * brierScore(o)
		all += o.weightOf()
	}
	s.Brier /= max(all, math.SmallestNonzeroFloat64)
	if area, ok := AUROC(outcomes); ok {
		s.AUROC = &area
	}
	return s
}

// brierScore returns the squared difference between the confidence and 1 or 0.
func brierScore(o Outcome) float64 {
	gap := o.Confidence - o.correctValue()
	return gap * gap
}

// ECE returns the expected calibration error: the mean over questions, by their weights, of the gap between accuracy
// and mean confidence of the question's bin (a tenth), Σ|B|/N·|acc(B) - conf(B)| (Li et al., 2021, equation 7; Guo et
// al., 2017, equation 3). A confidence outside 0 to 1 is in no bin and counts among the questions, as in the code of
// MUF's authors (their function get_ece). Without outcomes it is 0.
func ECE(outcomes []Outcome) float64 {
	var gaps [tenths]float64
	all := 0.0
	for _, o := range outcomes {
		all += o.weightOf()
		if bin := binOf(o.Confidence); bin >= 0 {
			gaps[bin] += o.weightOf() * (o.correctValue() - o.Confidence)
		}
	}
	sum := 0.0
	for _, gap := range gaps {
		sum += math.Abs(gap)
	}
	return sum / max(all, math.SmallestNonzeroFloat64)
}

// tenths is the number of bins of the ECE and of a reliability diagram.
const tenths = 10

// lowerEdge returns the lower end of bin i. The authors of MUF have numpy's
// arange(0, 1.1, 0.1), whose third edge is 0.30000000000000004, so it is a
// product and not a quotient.
func lowerEdge(i int) float64 { return float64(i) * 0.1 }

// binOf returns the index of the first bin whose edges enclose the confidence; -1 if none does.
func binOf(confidence float64) int {
	for i := range tenths {
		if lowerEdge(i) <= confidence && confidence <= lowerEdge(i+1) {
			return i
		}
	}
	return -1
}

// Bin holds the outcomes whose confidences lie in one tenth of 0 to 1. Its means are by weight.
type Bin struct {
	Questions  int     `json:"questions" yaml:"questions"`
	Confidence float64 `json:"confidence" yaml:"confidence"` // their mean
	Accuracy   float64 `json:"accuracy" yaml:"accuracy"`
}

// Reliability returns the accuracy at each level of confidence: the bins that hold outcomes,
// the lowest first.
func Reliability(outcomes []Outcome) []Bin {
	var bins [tenths]Bin
	var weights [tenths]float64
	for _, o := range outcomes {
		if i := binOf(o.Confidence); i >= 0 {
			bins[i].Questions++
			weights[i] += o.weightOf()
			bins[i].Confidence += o.weightOf() * o.Confidence
			bins[i].Accuracy += o.weightOf() * o.correctValue()
		}
	}
	for i := range bins {
		bins[i].Confidence /= weights[i]
		bins[i].Accuracy /= weights[i]
	}
	return slices.DeleteFunc(bins[:], func(b Bin) bool { return b.Questions == 0 })
}

// AUROC returns the probability that a right answer has a higher confidence than a wrong one,
// equal confidences counting half (the Mann-Whitney statistic): 0.5 for a constant, 1 if
// the confidences separate them. ok is false if all outcomes are the same.
func AUROC(outcomes []Outcome) (area float64, ok bool) {
	right, wrong, pairs := 0.0, 0.0, 0.0 // right ones so far
	for _, g := range byConfidence(outcomes) {
		lost := g.size - g.correct
		pairs += lost * (right + g.correct/2)
		right += g.correct
		wrong += lost
	}
	if right == 0 || wrong == 0 {
		return 0, false
	}
	return pairs / (right * wrong), true
}

// AccuracyAt returns the accuracy on the share of the questions with the highest confidences,
// rounded up to whole questions and at least one. If only some of several equally confident
// questions fit, it is the expectation of a random choice among them, so that the order of
// the outcomes does not matter. Without outcomes it is 0.
func AccuracyAt(outcomes []Outcome, share float64) float64 {
	wanted := math.Ceil(min(max(share, 0), 1)*float64(len(outcomes)) - 1e-9)
	wanted = max(wanted, 1)
	answered, correct := 0.0, 0.0
	for _, g := range byConfidence(outcomes) {
		taken := min(g.size, wanted-answered)
		answered += taken
		correct += g.correct * taken / g.size
		if answered == wanted {
			break
		}
	}
	return correct / max(answered, 1)
}

// AtLeast returns the share, of the outcomes that are correct or of those that are not, whose confidence is at least
// this. It is 0 without any.
func AtLeast(outcomes []Outcome, confidence float64, correct bool) float64 {
	n, all := 0, 0
	for _, o := range outcomes {
		if o.Correct != correct {
			continue
		}
		if all++; o.Confidence >= confidence {
			n++
		}
	}
	return float64(n) / float64(max(all, 1))
}

// tiedOutcomes are the number and correctness of the outcomes with one confidence.
type tiedOutcomes struct{ confidence, size, correct float64 }

// byConfidence returns outcomes grouped by confidence, the highest first.
func byConfidence(outcomes []Outcome) []tiedOutcomes {
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b Outcome) int { return cmp.Compare(b.Confidence, a.Confidence) })
	var groups []tiedOutcomes
	for _, o := range sorted {
		if n := len(groups); n == 0 || groups[n-1].confidence != o.Confidence {
			groups = append(groups, tiedOutcomes{confidence: o.Confidence})
		}
		g := &groups[len(groups)-1]
		g.size += o.weightOf()
		g.correct += o.weightOf() * o.correctValue()
	}
	return groups
}

// shareInterval returns Wilson's score interval of a share of n questions: in 95 of
// 100 samples it holds the share of all (Wilson, "Probable inference, the law of
// succession, and statistical inference", JASA 22, 1927). With no questions it is 0
// to 1.
func shareInterval(share float64, n int) (low, high float64) {
	const z = 1.959964 // of the normal distribution, 0.975
	if n < 1 {
		return 0, 1
	}
	m := float64(n)
	centre := share + z*z/(2*m)
	margin := z * math.Sqrt(share*(1-share)/m+z*z/(4*m*m))
	return max(0, (centre-margin)/(1+z*z/m)), min(1, (centre+margin)/(1+z*z/m))
}

// Threshold measures a "min_confidence" on held-out questions. Shares are 0 to 1.
type Threshold struct {
	MinConfidence float64 `json:"min_confidence" yaml:"min_confidence"`
	// Lost is the share of the right first passages that are not given.
	Lost float64 `json:"right_lost" yaml:"right_lost"`
	// TakenOut and Unanswerable are the shares of the questions without an answer that
	// get none: of those whose passages were taken out, and of the unanswerable ones
	// of the files (null where there are none).
	TakenOut     float64  `json:"taken_out_silent" yaml:"taken_out_silent"`
	Unanswerable *float64 `json:"unanswerable_silent" yaml:"unanswerable_silent,omitempty"`
}

// tolerable is the share of right first passages that may be lost for silence about what
// the collection does not have.
const tolerable = .1

// toleratedShares returns the shares of right first passages lost for which thresholds are reported.
func toleratedShares() []float64 { return []float64{.02, .05, tolerable, .2} }

// thresholdsFor returns the thresholds to report, in ascending order, with what each loses and gains: one half and, for
// each of toleratedShares, the highest threshold with two decimals that loses at most this share of right first
// passages. Unanswerable is nil in them if unanswerable is empty.
func thresholdsFor(answerable, takenOut, unanswerable []Outcome) []Threshold {
	lost := func(at float64) float64 { return shareOfLower(answerable, at, true) }
	levels := []float64{.5}
	for _, share := range toleratedShares() {
		hundredths := 99
		for hundredths > 0 && lost(float64(hundredths)/100) > share {
			hundredths--
		}
		levels = append(levels, float64(hundredths)/100)
	}
	slices.SortFunc(levels, cmp.Compare[float64])
	var all []Threshold
	for _, at := range slices.Compact(levels) {
		t := Threshold{MinConfidence: at, Lost: lost(at), TakenOut: shareOfLower(takenOut, at, false)}
		if len(unanswerable) > 0 {
			silent := shareOfLower(unanswerable, at, false)
			t.Unanswerable = &silent
		}
		all = append(all, t)
	}
	return all
}

// chosenThreshold returns the highest threshold that loses at most the share tolerable; the first if none does.
func chosenThreshold(all []Threshold) Threshold {
	best := all[0]
	for _, x := range all {
		if x.Lost <= tolerable {
			best = x
		}
	}
	return best
}

// shareOfLower returns the share, of the outcomes that are correct or of those that are not, whose confidence is lower
// than this. It is 0 without any.
func shareOfLower(outcomes []Outcome, confidence float64, correct bool) float64 {
	if !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Correct == correct }) {
		return 0
	}
	return 1 - AtLeast(outcomes, confidence, correct)
}
