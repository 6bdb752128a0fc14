package calibration

import "math"

// Bins is the number of bins of a reliability diagram and of the ECE.
const Bins = 10

// Bin holds the outcomes whose confidences lie in one tenth of 0 to 1.
type Bin struct {
	Low, High  float64 // closed at both ends; a confidence on an edge is in the lower bin
	Questions  int
	Accuracy   float64 // 0 when there are no questions
	Confidence float64 // their mean; 0 when there are no questions
}

// Reliability is the accuracy at each level of confidence.
type Reliability struct {
	Bins       [Bins]Bin
	Questions  int
	Accuracy   float64 // over all questions
	Confidence float64 // their mean
	// Outside counts the confidences below 0 or above 1. They are in no bin but
	// count among the questions, as in the code of MUF's authors.
	Outside int
}

// edge is the lower end of bin i. The authors of MUF have numpy's
// arange(0, 1.1, 0.1), whose third edge is 0.30000000000000004, so it is a
// product and not a quotient.
func edge(i int) float64 { return float64(i) * 0.1 }

// binOf is the first bin that has the confidence between its edges, or -1.
func binOf(confidence float64) int {
	for i := range Bins {
		if edge(i) <= confidence && confidence <= edge(i+1) {
			return i
		}
	}
	return -1
}

// NewReliability sorts outcomes into bins, as MUF's authors do (their function
// get_ece). No outcomes, and a confidence that is not a number, are errors.
func NewReliability(outcomes []Outcome) (Reliability, error) {
	var r Reliability
	if err := checkOutcomes(outcomes); err != nil {
		return r, err
	}
	r.fill(outcomes)
	return r, nil
}

func (r *Reliability) fill(outcomes []Outcome) {
	*r = Reliability{Questions: len(outcomes)}
	for i := range r.Bins {
		r.Bins[i].Low, r.Bins[i].High = edge(i), edge(i+1)
	}
	for _, o := range outcomes {
		r.Accuracy += o.correct()
		r.Confidence += o.Confidence
		i := binOf(o.Confidence)
		if i < 0 {
			r.Outside++
			continue
		}
		b := &r.Bins[i]
		b.Questions++
		b.Accuracy += o.correct()
		b.Confidence += o.Confidence
	}
	r.Accuracy /= float64(r.Questions)
	r.Confidence /= float64(r.Questions)
	for i := range r.Bins {
		if b := &r.Bins[i]; b.Questions > 0 {
			b.Accuracy /= float64(b.Questions)
			b.Confidence /= float64(b.Questions)
		}
	}
}

// ECE is the expected calibration error: the mean over questions of the gap
// between accuracy and mean confidence of the question's bin, Σ|B|/N·|acc(B) -
// conf(B)| (Li et al., 2021, section 3; Guo et al., 2017, equation 3).
func (r *Reliability) ECE() float64 { return r.gap(math.Abs) }

// SquaredECE is the same with squared gaps.
func (r *Reliability) SquaredECE() float64 {
	return r.gap(func(gap float64) float64 { return gap * gap })
}

func (r *Reliability) gap(size func(float64) float64) float64 {
	sum := 0.0
	for _, b := range r.Bins {
		sum += float64(b.Questions) * size(b.Accuracy-b.Confidence)
	}
	return sum / float64(max(r.Questions, 1))
}

// ECE is the expected calibration error of outcomes; see Reliability.ECE.
func ECE(outcomes []Outcome) (float64, error) {
	r, err := NewReliability(outcomes)
	return r.ECE(), err
}
