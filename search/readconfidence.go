package search

import "math"

// ReadSignals names what a reader that has read the first passages says of whether the
// first one answers. The confidence with it is a function of these.
func ReadSignals() []string {
	return []string{"confidence", "select", "lead", "within"}
}

// readSignals returns the signals of a ranking that was read, with its confidence without
// the reader. There is at least one reading.
func readSignals(readings []Reading, confidence float64) []float64 {
	first := readings[0]
	others := math.Inf(-1)
	for _, r := range readings[1:] {
		others = max(others, r.Select)
	}
	lead := 0.0
	if len(readings) > 1 {
		lead = first.Select - others
	}
	within := leastLog
	if len(first.Spans) > 0 {
		within = max(first.Spans[0].Score-first.Starts-first.Ends, leastLog)
	}
	return []float64{logOdds(confidence), first.Select, lead, within}
}

// leastLog is the least logarithm of a probability that is a signal.
var leastLog = math.Log(1e-6)

// logOdds returns those of a probability that is no certainty.
func logOdds(p float64) float64 {
	p = min(max(p, 1e-3), 1-1e-3)
	return math.Log(p / (1 - p))
}
