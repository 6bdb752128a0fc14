package evaluation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.org/conclave/internal/questions"
)

// askedForm splits the name of a measure at a depth: nDCG@3, MAP@100, R@50, MRR@5, top-10.
var askedForm = regexp.MustCompile(`^(?i:(ndcg|map|mrr|r|recall|top)[@-]?)([1-9]\d{0,3})$`)

// AskedMetric returns the measure with a name such as nDCG@3 or MAP@100, at any depth. A ranking has to be as deep. It
// fails for any other name.
func AskedMetric(name string) (Metric, error) {
	found := askedForm.FindStringSubmatch(name)
	if found == nil {
		return Metric{}, fmt.Errorf("%q is no measure: nDCG@K, MAP@K, MRR@K, R@K and top-K are, with K from 1 to 9999", name)
	}
	k, err := strconv.Atoi(found[2])
	if err != nil {
		return Metric{}, err
	}
	m := Metric{depth: k, Tested: true}
	switch strings.ToLower(found[1]) {
	case "ndcg":
		m.Key, m.Heading = "ndcg", "nDCG@"
		m.Meaning = fmt.Sprintf("normalised discounted cumulative gain at %d, linear in the grade, as in trec_eval", k)
		m.measure = ndcg
	case "map":
		m.Key, m.Heading = "map", "MAP@"
		m.Meaning = fmt.Sprintf("mean average precision of the first %d, over all relevant passages, as map_cut of trec_eval", k)
		m.measure = func(ranking []string, j questions.Judgements, k int) float64 {
			return averagePrecision(ranking[:min(k, len(ranking))], j)
		}
	case "mrr":
		m.Key, m.Heading = "mrr", "MRR@"
		m.Meaning = fmt.Sprintf("mean reciprocal rank of the first relevant passage among the first %d", k)
		m.measure = func(ranking []string, j questions.Judgements, k int) float64 {
			first := firstRelevant(ranking, j)
			return isWithin(first, k) / float64(max(first, 1))
		}
	case "top":
		m.Key, m.Heading = "top", "top-"
		m.Meaning = fmt.Sprintf("share of questions with a relevant passage among the first %d", k)
		m.measure = func(ranking []string, j questions.Judgements, k int) float64 {
			return isWithin(firstRelevant(ranking, j), k)
		}
	default:
		m.Key, m.Heading = "recall", "R@"
		m.Meaning = fmt.Sprintf("share of the relevant passages among the first %d", k)
		m.measure = recallAt
	}
	m.Key += found[2]
	m.Heading += found[2]
	key := m.Key
	m.score = func(o *Outcome) float64 { return o.Asked[key] }
	return m, nil
}

// firstRelevant returns the rank of the first relevant passage, from 1; 0: there is none.
func firstRelevant(ranking []string, j questions.Judgements) int {
	return 1 + slices.IndexFunc(ranking, func(id string) bool { return j[id] > 0 })
}

// checkMetrics replaces o.Metrics by a list without those that are measured anyway or there twice. It returns an error
// for one that needs deeper rankings than o.Depth.
func (o *MeasureOptions) checkMetrics() error {
	have := map[string]bool{}
	for _, m := range Metrics() {
		have[m.Key] = true
	}
	o.Metrics = slices.DeleteFunc(slices.Clone(o.Metrics), func(m Metric) bool {
		twice := have[m.Key]
		have[m.Key] = true
		return twice
	})
	for _, m := range o.Metrics {
		if m.depth > o.Depth {
			return fmt.Errorf("%s needs rankings of %d passages, and these have %d", m.Heading, m.depth, o.Depth)
		}
	}
	return nil
}

// Columns returns the columns of the tables. Each metric that was asked for stands after the usual ones of its kind,
// such as nDCG. The list is new.
func (r *Report) Columns() []Metric {
	all := Metrics()
	kind := regexp.MustCompile(`^[a-z]+`)
	for _, m := range r.Asked {
		at := 0
		for i := range all {
			if kind.FindString(all[i].Key) == kind.FindString(m.Key) {
				at = i + 1
			}
		}
		all = slices.Insert(all, at, m)
	}
	return all
}

// measureKeys returns the keys of the metrics that were asked for.
func (o *MeasureOptions) measureKeys() []string {
	keys := []string{}
	for _, m := range o.Metrics {
		keys = append(keys, m.Key)
	}
	return keys
}
