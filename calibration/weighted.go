package calibration

import (
	"cmp"
	"math"
	"slices"
)

// WeightedOutcome is an outcome that counts for more or less than one, so that a
// mixture of questions can be measured whatever the number of each kind.
type WeightedOutcome struct {
	Outcome
	Weight float64
}

// WeightedECE is Reliability.ECE with outcomes that count differently.
func WeightedECE(outcomes []WeightedOutcome) float64 {
	var gaps [Bins]float64
	all := 0.0
	for _, o := range outcomes {
		all += o.Weight
		if bin := binOf(o.Confidence); bin >= 0 {
			gaps[bin] += o.Weight * (o.correct() - o.Confidence)
		}
	}
	sum := 0.0
	for _, gap := range gaps {
		sum += math.Abs(gap)
	}
	return sum / max(all, math.SmallestNonzeroFloat64)
}

// WeightedAUROC is AUROC with outcomes that count differently; a half where all
// came out the same.
func WeightedAUROC(outcomes []WeightedOutcome) float64 {
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b WeightedOutcome) int { return cmp.Compare(a.Confidence, b.Confidence) })
	below, right, wrong := 0.0, 0.0, 0.0 // wrong ones so far
	for from, to := 0, 0; from < len(sorted); from = to {
		tiedRight, tiedWrong := 0.0, 0.0
		for ; to < len(sorted) && sorted[to].Confidence == sorted[from].Confidence; to++ {
			if sorted[to].Correct {
				tiedRight += sorted[to].Weight
			} else {
				tiedWrong += sorted[to].Weight
			}
		}
		below += tiedRight * (wrong + tiedWrong/2)
		right += tiedRight
		wrong += tiedWrong
	}
	if right == 0 || wrong == 0 {
		return .5
	}
	return below / (right * wrong)
}
