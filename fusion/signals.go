package fusion

import "math"

// SignalNames are what the confidence of a gated answer is read from, in the
// order of Signals.
func SignalNames() []string {
	return []string{
		"first_score", "gap_second", "gap_tenth", "sources_that_agree", "shared_with_words",
		"highest_familiarity", "log_words_top", "words_gap_second", "highest_confidence",
		"words_coverage",
	}
}

// Signals are what is known of a fused answer when it is given, for the chance
// that it is right: how high and how far ahead its first passage is, how many
// sources have that passage first too, how far experts and words agree, and
// how familiar the question is. The ranking has to hold at least ten items
// where there are so many candidates.
func Signals(c *Candidates, sources []Observed, r Ranking) []float64 {
	names := SignalNames()
	signals := make([]float64, len(names))
	if len(r.Items) == 0 {
		return signals
	}
	at := func(n int) float64 { return r.Items[min(n, len(r.Items)-1)].Score }
	first := r.Items[0]
	signals[0], signals[1], signals[2] = first.Score, first.Score-at(1), first.Score-at(headDepth-1)

	agree, asked := 0.0, 0.0
	for _, p := range first.Parts {
		if c.columns[p.Column].hits > 0 {
			asked++
			if p.Rank == 1 {
				agree++
			}
		}
	}
	signals[3] = agree / math.Max(asked, 1)

	f := FeaturesOf(c, sources)
	if f.Lexical != nil {
		signals[4], signals[6], signals[7] = f.Lexical[wordsShared], f.Lexical[wordsTop], f.Lexical[wordsGapFirst]
		signals[9] = f.Lexical[wordsCoverage]
	}
	if len(f.Dense) > 0 {
		signals[5] = f.Dense[0][highestFamiliarity]
	}
	for _, s := range sources {
		signals[8] = math.Max(signals[8], s.Confidence)
	}
	return signals
}

// SignalDepth is how many items Signals looks at.
const SignalDepth = headDepth
