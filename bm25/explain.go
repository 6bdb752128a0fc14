package bm25

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"conclave/rank"
)

// Scores writes the score of each given passage into out, which must be as long
// as ordinals: the same number, to the last bit, that Search gives it, and 0
// for a passage without a term of the question. Ordinals may come in any order.
// A deleted passage is ErrNoPassage.
func (s *Searcher) Scores(question string, ordinals []rank.Ordinal, out []float32) error {
	if len(ordinals) != len(out) {
		return fmt.Errorf("%d passages are to be scored into room for %d", len(ordinals), len(out))
	}
	terms, err := s.understand(question)
	if err != nil {
		return err
	}
	type wanted struct {
		passage uint32
		at      int // place in out
	}
	bySegment := make(map[*segment][]wanted)
	for i, o := range ordinals {
		g, passage, err := s.locate(o)
		if err != nil {
			return err
		}
		bySegment[g] = append(bySegment[g], wanted{passage, i})
		out[i] = 0
	}
	if len(terms) == 0 {
		return nil
	}
	c := &cursor{}
	var sums []float64
	for i, g := range s.segments {
		list := bySegment[g]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b wanted) int { return cmp.Compare(a.passage, b.passage) })
		sums = append(sums[:0], make([]float64, len(list))...)
		for _, t := range terms {
			if t.records[i].df == 0 {
				continue
			}
			if err := c.reset(g.Index, g.scale, t.records[i], t.weight); err != nil {
				return err
			}
			for j, w := range list {
				rank, ok, err := c.find(w.passage)
				if err != nil {
					return err
				}
				if ok {
					sums[j] += c.scoreOf(rank)
				}
			}
		}
		for j, w := range list {
			out[w.at] = float32(sums[j])
		}
	}
	return nil
}

// TermScore is one term of the sum that a score is.
type TermScore struct {
	Term   string  // as analysed
	Count  int     // how often the question has it
	TF     int     // how often the passage has it
	DF     int     // passages that have it
	IDF    float32 // ln(1 + (N − DF + 0.5)/(DF + 0.5))
	Weight float32 // Count · IDF
	Norm   float32 // TF / (TF + k1·(1 − b + b·length/average)), from 0 to 1
	Score  float32 // Weight · Norm, to the last bit as it is added up
}

// Explanation is how a passage comes to its score for a question.
type Explanation struct {
	Score      float32     // what Search and Scores give
	Terms      []TermScore // what is added up, in that order
	Length     int         // terms in the passage
	Counted    int         // its length as it counts (see Params.ExactLengths)
	Statistics Statistics
	Params     Params
}

// Explain says how a passage comes to its score. A deleted passage is
// ErrNoPassage.
func (s *Searcher) Explain(question string, ordinal rank.Ordinal) (Explanation, error) {
	e := Explanation{Statistics: s.statistics, Params: s.params}
	g, passage, err := s.locate(ordinal)
	if err != nil {
		return e, err
	}
	b, err := g.Index.bytes(sectionLengths, 4*uint64(passage), 4)
	if err != nil {
		return e, err
	}
	length := binary.LittleEndian.Uint32(b)
	e.Length, e.Counted = int(length), int(s.params.indexedLength(length))
	terms, err := s.understand(question)
	if err != nil {
		return e, err
	}
	at := slices.Index(s.segments, g)
	sum := 0.0
	c := &cursor{}
	for _, t := range terms {
		if t.records[at].df == 0 {
			continue
		}
		if err := c.reset(g.Index, g.scale, t.records[at], t.weight); err != nil {
			return e, err
		}
		rank, ok, err := c.find(passage)
		if err != nil {
			return e, err
		}
		if !ok {
			continue
		}
		score := c.scoreOf(rank)
		sum += score
		e.Terms = append(e.Terms, TermScore{
			Term: t.text, Count: t.count, TF: int(g.Index.impacts[rank].tf), DF: int(t.df),
			IDF: t.idf, Weight: t.weight, Norm: float32(termScore(1, g.scale.ofRank[rank])), Score: float32(score),
		})
	}
	e.Score = float32(sum)
	return e, nil
}
