package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"conclave/calibration"
)

// surely is how many standard errors of the mean difference to the gate another
// method has to be ahead by. Of few questions one is often ahead by chance.
const surely = 2

// choose lets "auto" be the gate, or the best of the methods that are surely
// better: by the sum of top-1 and top-20. A method that the collection cannot
// answer by is passed over, with a note why.
func (f *fit) choose(answers func() error) (notes []string, err error) {
	for _, m := range ranked(f.methods) {
		f.record.Auto = m.method
		if err = answers(); err == nil {
			return notes, nil
		}
		notes = append(notes, fmt.Sprintf("%s is passed over, since this collection cannot answer by it: %v", m.method, err))
	}
	return notes, fmt.Errorf("no method can answer with this calibration, and nothing was written: %w", err)
}

// ranked are the methods in the order in which they are to be tried; the first
// that was measured is the gate.
func ranked(methods []methodFit) []methodFit {
	gate := methods[0]
	better, others := []methodFit{}, []methodFit{}
	for _, m := range methods[1:] {
		if m.ahead(gate) > surely {
			better = append(better, m)
		} else {
			others = append(others, m)
		}
	}
	byQuality := func(a, b methodFit) int { return cmp.Compare(b.quality(), a.quality()) }
	slices.SortStableFunc(better, byQuality)
	slices.SortStableFunc(others, byQuality)
	return slices.Concat(better, []methodFit{gate}, others)
}

// ahead is by how many of its standard errors the mean of the difference to
// another method's answers is above 0.
func (m methodFit) ahead(other methodFit) float64 {
	sum, squares, n := 0.0, 0.0, float64(len(m.answers))
	for i := range m.answers {
		d := worth(m.answers[i]) - worth(other.answers[i])
		sum += d
		squares += d * d
	}
	mean := sum / n
	if mean == 0 || n < 2 {
		return 0
	}
	return mean / math.Sqrt(max(squares/n-mean*mean, 0)/(n-1)) // one that is always ahead by the same: ±Inf
}

func (m methodFit) quality() float64 {
	sum := 0.0
	for _, a := range m.answers {
		sum += worth(a)
	}
	return sum / float64(len(m.answers))
}

// worth is 1 for an answer among the first 20, and 1 more for one in front.
func worth(a calibration.Answered) float64 {
	one := []calibration.Answered{a}
	return calibration.Accuracy(one, 1) + calibration.Accuracy(one, 20)
}
