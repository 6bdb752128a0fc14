package evaluation

import (
	"strings"

	"example.org/conclave/search"
)

// ExactMatch returns 1 where said is one of the answers after normalising, else 0, as SQuAD's
// script defines it (Rajpurkar et al. 2016, section 6.1).
func ExactMatch(said string, answers []string) float64 {
	for _, a := range answers {
		if search.NormaliseAnswer(said) == search.NormaliseAnswer(a) {
			return 1
		}
	}
	return 0
}

// TokenF1 returns the largest harmonic mean of precision and recall over the words that an
// answer shares with one of answers, as SQuAD's script defines it.
func TokenF1(said string, answers []string) (best float64) {
	words := strings.Fields(search.NormaliseAnswer(said))
	for _, a := range answers {
		left := map[string]int{}
		wanted := strings.Fields(search.NormaliseAnswer(a))
		for _, w := range wanted {
			left[w]++
		}
		same := 0
		for _, w := range words {
			if left[w] > 0 {
				left[w]--
				same++
			}
		}
		switch {
		case len(words) == 0 && len(wanted) == 0:
			best = 1
		case same > 0:
			best = max(best, 2*float64(same)/float64(len(words)+len(wanted)))
		}
	}
	return best
}
