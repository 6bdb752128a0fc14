package evaluation

import (
	"example.org/conclave/search/reply"
)

// The oracles. Both choose among the experts alone, with what no method can
// know (Li et al., 2021, section 6.2, table 3; theirs searches for weights where
// OracleExpert here takes the best expert of each question).
const (
	OracleIndicator = "oracle: expert of the domain"
	OracleExpert    = "oracle: best expert"
	OracleSource    = "oracle: best source" // BM25 counts, too: no choice of one source can do better
)

// withOracles returns the outcomes of the methods and, if at least two experts are measured alone, after them those of
// the oracles, in the order of oracleMethods. own is the domain's own expert, which must be measured alone; with "" the
// outcomes of the indicator oracle are nil.
func withOracles(m *DomainResults, methods []Method, own string) [][]Outcome {
	experts, sources := []int{}, []int{}
	byName := map[string]int{}
	for i, method := range methods {
		if method.Kind != KindSource {
			continue
		}
		sources = append(sources, i)
		if isExpert(method) {
			experts = append(experts, i)
			byName[method.Source] = i
		}
	}
	out := append([][]Outcome{}, m.Outcomes...)
	if len(experts) < 2 {
		return out
	}
	var indicator []Outcome
	if own != "" {
		indicator = m.Outcomes[byName[own]]
	}
	out = append(out, indicator, m.bestSources(experts))
	if len(sources) > len(experts) {
		out = append(out, m.bestSources(sources))
	}
	return out
}

// oracleMethods returns the methods whose outcomes withOracles adds. It returns nil for fewer than two experts.
func oracleMethods(methods []Method) []Method {
	experts, words := 0, 0
	for _, m := range methods {
		if m.Kind == KindSource {
			if isExpert(m) {
				experts++
			} else {
				words++
			}
		}
	}
	if experts < 2 {
		return nil
	}
	out := []Method{{Name: OracleIndicator, Kind: KindOracle}, {Name: OracleExpert, Kind: KindOracle}}
	if words > 0 {
		out = append(out, Method{Name: OracleSource, Kind: KindOracle})
	}
	return out
}

// bestSources returns for each question the outcome of the best of the methods at these indexes: the one whose first
// relevant passage (or, if nothing is judged, first passage with an answer) ranks highest; of equal ones the one with
// the higher average precision, then the one named first. So no choice of one source for each question has a higher
// top-k accuracy, for any k.
func (m *DomainResults) bestSources(among []int) []Outcome {
	out := make([]Outcome, len(m.Questions))
	for q, asked := range m.Questions {
		for n, i := range among {
			candidate := m.Outcomes[i][q]
			if n == 0 || isBetter(candidate, out[q], asked.Judged) {
				out[q] = candidate
			}
		}
		out[q].Confidence = nil // it would be a different expert's for each question
	}
	return out
}

// isBetter reports whether outcome a is better than b: its first relevant passage (with judged false, its first passage
// with an answer) ranks higher or, if both rank alike, its average precision is greater. An outcome without such a
// passage is the worst.
func isBetter(a, b Outcome, judged bool) bool {
	first, than := a.First, b.First
	if !judged {
		first, than = a.FirstAnswer, b.FirstAnswer
	}
	if first != than {
		return first != 0 && (than == 0 || first < than)
	}
	return a.AP > b.AP
}

// isExpert reports whether a KindSource is an expert, and not BM25.
func isExpert(m Method) bool { return m.Source != reply.WordSource }
