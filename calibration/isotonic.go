package calibration

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Isotonic is a non-decreasing function from a score to a chance. It is constant on each
// step and linear between two.
type Isotonic struct {
	Steps []Step `json:"steps" yaml:"steps"`
}

// Step is a range of scores that share a chance.
type Step struct {
	From   float64 `json:"from" yaml:"from"`
	To     float64 `json:"to" yaml:"to"`
	Chance float64 `json:"chance" yaml:"chance"`
}

// scoredOutcome is a score on any scale and whether it came true.
type scoredOutcome struct {
	Score   float64
	Correct bool
	Weight  float64 // how many outcomes it counts for; 0: one
}

// fitIsotonic returns the non-decreasing function with the least squared error, by
// pooling adjacent violators (Ayer et al., 1955; for chances: Zadrozny and
// Elkan, 2002). Equal scores get one chance.
func fitIsotonic(outcomes []scoredOutcome) (Isotonic, error) {
	if len(outcomes) == 0 {
		return Isotonic{}, fmt.Errorf("there are no outcomes to fit on")
	}
	sorted := slices.Clone(outcomes)
	slices.SortFunc(sorted, func(a, b scoredOutcome) int { return cmp.Compare(a.Score, b.Score) })
	type block struct{ from, to, correct, size float64 }
	var blocks []block
	for _, o := range sorted {
		if math.IsNaN(o.Score) || math.IsInf(o.Score, 0) {
			return Isotonic{}, fmt.Errorf("a score is %v", o.Score)
		}
		weight := weightOr1(o.Weight)
		b := block{from: o.Score, to: o.Score, size: weight, correct: weight * Outcome{Correct: o.Correct}.correct()}
		if n := len(blocks); n > 0 && blocks[n-1].from == o.Score {
			blocks[n-1].correct += b.correct
			blocks[n-1].size += b.size
			continue
		}
		blocks = append(blocks, b)
	}
	kept := blocks[:0]
	for _, b := range blocks {
		// Products of whole numbers, so that equal chances are seen as equal.
		for len(kept) > 0 && kept[len(kept)-1].correct*b.size >= b.correct*kept[len(kept)-1].size {
			last := kept[len(kept)-1]
			b = block{from: last.from, to: b.to, correct: last.correct + b.correct, size: last.size + b.size}
			kept = kept[:len(kept)-1]
		}
		kept = append(kept, b)
	}
	f := Isotonic{Steps: make([]Step, len(kept))}
	for i, b := range kept {
		f.Steps[i] = Step{From: b.from, To: b.to, Chance: b.correct / b.size}
	}
	return f, nil
}

// Of returns the chance at a score. Within a step it is the step's chance, between two
// steps it is interpolated linearly, and beyond the ends it is that of the end.
func (f Isotonic) Of(score float64) float64 {
	next, _ := slices.BinarySearchFunc(f.Steps, score, func(s Step, score float64) int { return cmp.Compare(s.To, score) })
	switch {
	case len(f.Steps) == 0:
		return 0
	case next == len(f.Steps):
		return f.Steps[next-1].Chance
	case next == 0 || f.Steps[next].From <= score:
		return f.Steps[next].Chance
	}
	below, above := f.Steps[next-1], f.Steps[next]
	part := (score - below.To) / (above.From - below.To)
	return below.Chance + part*(above.Chance-below.Chance)
}

// Validate checks that the steps ascend and the chances are chances.
func (f Isotonic) Validate() error {
	if len(f.Steps) == 0 {
		return fmt.Errorf("the isotonic function has no steps")
	}
	for i, s := range f.Steps {
		switch {
		case !(s.From <= s.To) || math.IsInf(s.From, 0) || math.IsInf(s.To, 0):
			return fmt.Errorf("step %d is from %v to %v", i+1, s.From, s.To)
		case !(s.Chance >= 0 && s.Chance <= 1):
			return fmt.Errorf("the chance of step %d is %v", i+1, s.Chance)
		case i > 0 && (s.From <= f.Steps[i-1].To || s.Chance < f.Steps[i-1].Chance):
			return fmt.Errorf("step %d does not rise above step %d", i+1, i)
		}
	}
	return nil
}
