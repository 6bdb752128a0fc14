package calibration

import (
	"encoding/json"
	"io"
	"maps"
	"slices"

	"example.org/conclave/fusion"
)

// evidenceLine is a question as the shipped gate is fitted on it (research/bench/gate).
type evidenceLine struct {
	ID     string              `json:"id"`
	Domain string              `json:"domain"`
	Kinds  []fusion.SourceKind `json:"kinds"`
	// The features that a gate reads, as FeaturesOf computes them: of every dense
	// source, of BM25, of late interaction.
	Dense   [][]float64 `json:"dense"`
	Lexical []float64   `json:"lexical"`
	Late    []float64   `json:"late"`
	Exact   float64     `json:"exact"`
	// Scores and Ranks have one list for each of Kinds, by the candidates' ordinals; the
	// rank is 0 where the source did not find the candidate. The candidates' grades are 0
	// where they do not answer. Missed are the grades of the answers that are no
	// candidates.
	Scores [][]float64 `json:"scores"`
	Ranks  [][]int     `json:"ranks"`
	Grades []float64   `json:"grades"`
	Missed []float64   `json:"missed"`
}

// Write writes the data that gates are fitted on, one line of JSON for each question, with
// so many specialists asked. It leaves out the ensembles' confidences, which need
// temperatures.
func (e *Evidence) Write(w io.Writer, specialists int) error {
	lines := json.NewEncoder(w)
	for i := range e.Questions {
		if err := lines.Encode(e.Questions[i].asked(specialists).line()); err != nil {
			return err
		}
	}
	return nil
}

func (q *Question) line() evidenceLine {
	features := fusion.FeaturesOf(q.Table, q.Sources)
	e := evidenceLine{
		ID:      q.ID,
		Domain:  q.Domain,
		Dense:   features.Dense,
		Lexical: features.Lexical,
		Late:    features.Late,
		Exact:   features.Exact,
		Scores:  make([][]float64, len(q.Sources)),
		Ranks:   make([][]int, len(q.Sources)),
		Missed:  []float64{},
	}
	columns := make([]int, len(q.Sources))
	for i, s := range q.Sources {
		columns[i] = s.Column
		e.Kinds = append(e.Kinds, s.Kind)
	}
	missed := maps.Clone(q.Relevant)
	q.Table.Each(fusion.Exact, func(row int, own []float64) {
		if q.Table.Best(row, columns) == 0 { // none of these sources found it
			return
		}
		for i, column := range columns {
			e.Scores[i] = append(e.Scores[i], own[column])
			e.Ranks[i] = append(e.Ranks[i], q.Table.Best(row, columns[i:i+1]))
		}
		e.Grades = append(e.Grades, q.Relevant[q.Table.Ordinal(row)])
		delete(missed, q.Table.Ordinal(row))
	})
	e.Missed = slices.AppendSeq(e.Missed, maps.Values(missed))
	slices.Sort(e.Missed)
	return e
}
