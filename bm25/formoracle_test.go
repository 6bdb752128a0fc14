package bm25

import (
	"math"
	"strings"
)

// formOracle knows passages by what is in the vocabulary of each.
type formOracle struct {
	params  Params
	has     []map[string]float64
	lengths []float64
	n       float64
	average float64
}

func newFormOracle(params Params, own [][]string, gone map[int]bool) *formOracle {
	o := &formOracle{params: params}
	for i, texts := range own {
		has := map[string]float64{}
		length := 0.0
		before := ""
		for _, w := range texts {
			for _, term := range sightings[w].terms {
				has[term]++
				length++
				if before != "" {
					has[before+" "+term]++
				}
				before = term
			}
			for _, form := range sightings[w].forms {
				has[form]++
			}
		}
		if gone[i] {
			has, length = nil, 0
		}
		o.has, o.lengths = append(o.has, has), append(o.lengths, length)
		if length > 0 {
			o.n++
			o.average += length
		}
	}
	o.average /= o.n
	return o
}

func (o *formOracle) idf(entry string) (idf float64, known bool) {
	df := 0.0
	for _, has := range o.has {
		if has[entry] > 0 {
			df++
		}
	}
	return math.Log(1 + (o.n-df+0.5)/(df+0.5)), df > 0
}

func (o *formOracle) share(passage int, entry string) float64 {
	tf := o.has[passage][entry]
	if tf == 0 {
		return 0
	}
	return tf / (tf + o.params.K1*(1-o.params.B+o.params.B*o.lengths[passage]/o.average))
}

func (o *formOracle) scores(asked []string) []float64 {
	counts := map[string]float64{}
	type variant struct {
		count   float64
		entries []string
	}
	variants := map[string]*variant{}
	for _, w := range asked {
		for _, term := range sightings[w].terms {
			counts[term]++
		}
	}
	for _, w := range asked {
		for of, entries := range sightings[w].variants {
			v := variants[of]
			if v == nil {
				v = &variant{entries: entries}
				variants[of] = v
			}
			v.count++
		}
	}
	out := make([]float64, len(o.has))
	for term, count := range counts {
		idf, known := o.idf(term)
		for i := range out {
			if known {
				out[i] += count * idf * o.share(i, term)
			}
		}
	}
	for of, v := range variants {
		if _, asked := counts[v.entries[0]]; asked {
			continue // the joined form of two terms is a term of the question, too
		}
		own := 0.0
		idfs := map[string]float64{}
		for _, term := range strings.Fields(of) {
			idfs[term], _ = o.idf(term)
			own += idfs[term]
		}
		weights := map[string]float64{}
		for _, entry := range v.entries {
			if idf, known := o.idf(entry); known {
				weights[entry] = 0.9 * v.count * min(own, idf*float64(len(strings.Fields(of))))
			}
		}
		for i := range out {
			best := 0.0
			for entry, weight := range weights {
				best = max(best, weight*o.share(i, entry))
			}
			for _, term := range strings.Fields(of) {
				best -= counts[term] * idfs[term] * o.share(i, term)
			}
			out[i] += max(0, best)
		}
	}
	return out
}
