package calibration_test

import (
	"fmt"
	"math/rand/v2"

	"conclave/calibration"
)

// A fused answer's confidence, from one signal that says something: right with
// a chance of 0.1 + 0.8·signal, so 0.82 at 0.9.
func Example() {
	rng := rand.New(rand.NewPCG(1, 1))
	var questions []calibration.RankedQuestion
	for i := range 1000 {
		gap := rng.Float64()
		q := calibration.RankedQuestion{ID: fmt.Sprint("dev-", i), Signals: []float64{gap}}
		if rng.Float64() < .1+.8*gap {
			q.First = 1
		}
		questions = append(questions, q)
	}
	fit, err := calibration.FitConfidence([]string{"score gap"}, questions, 1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	chance, err := fit.Confidence.Of([]float64{.9})
	fmt.Printf("%s: %.2f %v\n", fit.Confidence.Kind, chance, err)

	confidences := make([]float64, len(fit.Outcomes))
	for i, o := range fit.Outcomes {
		confidences[i] = o.Confidence
	}
	bound, err := calibration.PerfectECE(confidences, len(confidences), .95, 500, 1)
	fmt.Println("as if perfect:", fit.HeldOut.ECE <= bound, err)
	fmt.Printf("gained on the surest half: %.2f\n", calibration.AccuracyAt(fit.Outcomes, .5)-fit.HeldOut.Accuracy)

	fmt.Println(calibration.Disjoint(
		calibration.QuestionFile{Name: "train", Questions: []calibration.QuestionKey{{ID: "t1", Text: "Who wrote Emma?"}}},
		calibration.QuestionFile{Name: "dev", Questions: []calibration.QuestionKey{{ID: "d1", Text: "who wrote Emma"}}},
	) != nil)
	// Output:
	// platt: 0.81 <nil>
	// as if perfect: true <nil>
	// gained on the surest half: 0.20
	// true
}
