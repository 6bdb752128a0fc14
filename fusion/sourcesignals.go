package fusion

import "math"

// SourceSignalNames returns the names of the numbers that SourceSignals returns for a source of this kind, in their
// order.
func SourceSignalNames(k SourceKind) []string {
	shared := []string{"relative_gap_tenth", "shared_with_words", "words_coverage", "log_words_top"}
	switch k {
	case Lexical:
		return []string{"log_words_top", "words_coverage", "relative_gap_second", "relative_gap_tenth", "highest_familiarity"}
	case Specialist:
		return append([]string{"first_score", "gap_second", "gap_tenth", "familiarity", "ahead_of_rivals", "behind_rivals",
			"first_score_times_ahead", "first_score_times_familiarity"}, shared...)
	}
	return append([]string{"first_score", "gap_second", "gap_tenth", "highest_familiarity"}, shared...)
}

// lowestScale is the least divisor of a lead: scores near zero are no measure of its
// size.
const lowestScale = .05

// SourceSignals returns the signals of sources[at] for this question, for the chance that its own first hit answers. It
// returns nil for phrases and nearness, for a source without hits, as late interaction is, and if words are not among
// the sources. The signals do not depend on which other experts were asked, as long as Rival is known. MUF's confidence
// is not among them: beside these it added nothing.
func SourceSignals(c *Candidates, sources []ObservedSource, f Features, at int) []float64 {
	s := sources[at]
	if f.Lexical == nil || s.Kind == Phrases || s.Kind == Near || c.columns[s.Column].hits == 0 {
		return nil
	}
	words := f.Lexical
	if s.Kind == Lexical {
		return []float64{words[wordsTop], words[wordsCoverage], words[wordsGapFirst], words[wordsGapTenth], s.Rival}
	}
	dense := f.Dense[0]
	for i, n := 0, 0; i <= at; i++ {
		if sources[i].Kind.Dense() {
			dense = f.Dense[n]
			n++
		}
	}
	first := c.headScores(s.Column)[0]
	signals := []float64{first, dense[gapFirst], dense[gapTenth]}
	if s.Kind == Specialist {
		ahead := s.Familiarity - s.Rival
		signals = append(signals, s.Familiarity, ahead, math.Min(ahead, 0), first*ahead, first*s.Familiarity)
	} else {
		signals = append(signals, s.Rival)
	}
	// A lead says more where scores are low: the same one is worth more to an
	// expert whose passages are all far away.
	return append(
		signals, dense[gapTenth]/math.Max(first, lowestScale), dense[sharedWords], words[wordsCoverage],
		words[wordsTop],
	)
}
