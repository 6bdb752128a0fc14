// Package fusion makes one ranking out of the rankings of several sources, and
// can explain every score of it. Its functions are pure: no I/O, no clock, no
// state of their own.
//
// Vocabulary. A source is anything that ranks passages for a question: an
// expert (dense) or BM25 (lexicalColumn). Its hits are its ranking. The candidates
// are the passages that any source found. A source that did not find a
// candidate is completed: by its true score (exact), by the lowest score of
// its own list (min), or by nothing (none). A confidence is how sure an expert
// is of its ranking, 0 to 1. A weight is what a source's score is multiplied
// by; a contribution is what comes out, and the contributions of a candidate
// add up to its fused score.
//
// Methods: MUF and MUFSparse (Li et al., 2021, "Multi-task dense retrieval via
// model uncertainty fusion"), Hybrid (Karpukhin et al., 2020, and Ma et al.,
// 2021), Sum, and RRF (Cormack et al., 2009).
package fusion

import (
	"fmt"
	"math"
	"slices"

	"example.org/conclave/internal/rank"
)

// MaxSources is the most sources that can be fused at once.
const MaxSources = 255

// maxHits is the most hits of one source.
const maxHits = 1<<24 - 1

// Candidates is the table that every method reads: a row for each passage that
// any source found, a column for each source, with the source's own score.
//
// It is built once for a question and serves any number of methods. The rows
// are in the order of their ordinals, whatever the order of the sources. A fused
// score is a function of what the sources say of that passage, and of statistics
// that do not depend on the order of rows, so that it is the same to the last bit
// however the passages are numbered. The zero value is ready for Reset, and Reset
// keeps the memory. A Candidates is not safe for concurrent use.
type Candidates struct {
	ordinals []rank.Ordinal // of the rows, ascending
	cells    []cell         // row by row
	// by row: the passage was added by Admit; nil: none was
	admitted []bool
	columns  []column

	keys   []uint64  // scratch of Reset
	scores []float64 // scratch of the methods: a fused score for each row
	// scratch of highestRows
	kept []int32
	list []float64 // scratch of a normalisation

	byID func([]rank.Ordinal) // see OrderTies
}

// cell is one source's score for one candidate.
type cell struct {
	score  float32
	rank   int32 // in the source's own list, from 1; 0 when it was not found
	origin Origin
	// the source has no vector of the passage (rank.NoVector): there is no score, but perhaps an estimate
	noVector bool
}

// isCompleted reports whether the score is the true one, or an estimate, of a candidate that the source did not find.
func (x *cell) isCompleted() bool { return x.origin == FromExact || x.origin == FromEstimate }

// column is what is known of one source's own list.
type column struct {
	hits   int
	lowest float32 // the lowest score among its hits
}

// Origin says where a source's score for a candidate comes from.
type Origin uint8

// The origins of a score.
const (
	FromNone   Origin = iota // the source has no score: it contributes nothing
	FromHit                  // the source found the candidate
	FromExact                // the true score, fetched for a candidate that the source did not find
	FromMin                  // the lowest score of the source's own list
	FromScored               // the source finds nothing itself and scores what others found
	// the source has no vector of the candidate, and others say how high it would score it: see Estimate
	FromEstimate
)

// String returns the origin as the API prints it, such as hit; "none" for an unknown one.
func (o Origin) String() string {
	switch o {
	case FromHit:
		return "hit"
	case FromExact:
		return "exact"
	case FromMin:
		return "min"
	case FromScored:
		return "scored"
	case FromEstimate:
		return "estimated"
	}
	return "none"
}

// Origins returns all origins by what String returns of them.
func Origins() map[string]Origin {
	all := map[string]Origin{}
	for o := range FromEstimate + 1 {
		all[o.String()] = o
	}
	return all
}

// Reset fills the table with the hits of the sources: lists[i] becomes column i, and an empty list is a source that
// found nothing. A list must be in the order of its scores, with equal ones in any order, have each passage once, and
// only finite scores. Otherwise, or with more than MaxSources lists, Reset returns an error, and the table is empty. It
// also undoes Admit and OrderTies.
func (c *Candidates) Reset(lists [][]rank.Hit) error {
	c.ordinals = c.ordinals[:0]
	c.cells = c.cells[:0]
	c.columns = c.columns[:0]
	c.keys = c.keys[:0]
	c.admitted = nil
	c.byID = nil
	if len(lists) > MaxSources {
		return fmt.Errorf("%d sources to fuse, at most %d are possible", len(lists), MaxSources)
	}
	for source, hits := range lists {
		if err := CheckHits(hits); err != nil {
			return fmt.Errorf("source %d: %w", source, err)
		}
	}

	// One sort of (ordinal, source, position) brings the cells of a row
	// together; a map from ordinals to rows took twice as long.
	for source, hits := range lists {
		col := column{hits: len(hits)}
		if len(hits) > 0 {
			col.lowest = hits[len(hits)-1].Score
		}
		c.columns = append(c.columns, col)
		for position, hit := range hits {
			c.keys = append(c.keys, uint64(hit.Ordinal)<<32|uint64(source)<<24|uint64(position))
		}
	}
	slices.Sort(c.keys)
	for _, key := range c.keys {
		ordinal := rank.Ordinal(key >> 32)
		source := int(key >> 24 & 0xff)
		position := int(key & maxHits)
		if n := len(c.ordinals); n == 0 || c.ordinals[n-1] != ordinal {
			c.ordinals = append(c.ordinals, ordinal)
			c.cells = append(c.cells, make([]cell, len(lists))...)
		}
		at := &c.cells[len(c.cells)-len(lists)+source]
		if at.origin == FromHit {
			err := fmt.Errorf("source %d: passage %d is at rank %d and again at rank %d", source, ordinal, at.rank, position+1)
			c.ordinals, c.cells, c.columns = c.ordinals[:0], c.cells[:0], c.columns[:0]
			return err
		}
		*at = cell{score: lists[source][position].Score, rank: int32(position + 1), origin: FromHit}
	}
	return nil
}

// Admit adds a row for each passage that is not a candidate yet. No source has a score in it. Passages may be in any
// order and repeated. An admitted passage ranks as a candidate even if none of the fused sources found it.
func (c *Candidates) Admit(passages []rank.Ordinal) {
	if len(passages) == 0 {
		return
	}
	all := slices.Concat(c.ordinals, passages)
	slices.Sort(all)
	all = slices.Compact(all)
	cells := make([]cell, len(all)*len(c.columns))
	admitted := make([]bool, len(all))
	old := 0
	for row, ordinal := range all {
		if old < len(c.ordinals) && c.ordinals[old] == ordinal {
			copy(cells[row*len(c.columns):], c.cells[old*len(c.columns):(old+1)*len(c.columns)])
			old++
			continue
		}
		admitted[row] = true
	}
	c.ordinals, c.cells, c.admitted = all, cells, admitted
}

// CheckHits returns an error if hits cannot be fused: a score is not finite or higher than the one before it, or there
// are too many.
func CheckHits(hits []rank.Hit) error {
	if len(hits) > maxHits {
		return fmt.Errorf("%d hits, at most %d are possible", len(hits), maxHits)
	}
	for i, hit := range hits {
		if !isFinite(hit.Score) {
			return fmt.Errorf("the score at rank %d (passage %d) is %v", i+1, hit.Ordinal, hit.Score)
		}
		if i > 0 && hit.Score > hits[i-1].Score {
			return fmt.Errorf("rank %d (passage %d, score %v) belongs before rank %d (passage %d, score %v)",
				i+1, hit.Ordinal, hit.Score, i, hits[i-1].Ordinal, hits[i-1].Score)
		}
	}
	return nil
}

// Len returns the number of candidates.
func (c *Candidates) Len() int { return len(c.ordinals) }

// Ordinals returns the passages of all rows, ascending. They are not to be changed.
func (c *Candidates) Ordinals() []rank.Ordinal { return c.ordinals }

// Ordinal returns the passage of a row.
func (c *Candidates) Ordinal(row int) rank.Ordinal { return c.ordinals[row] }

// Sources returns the number of columns.
func (c *Candidates) Sources() int { return len(c.columns) }

// Missing appends to into the candidates for which a source has no score, ascending, and returns the result. Complete
// and Follow take the scores in this order.
func (c *Candidates) Missing(source int, into []rank.Ordinal) []rank.Ordinal {
	for row, ordinal := range c.ordinals {
		if c.cellAt(row, source).origin == FromNone {
			into = append(into, ordinal)
		}
	}
	return into
}

// Complete sets a source's true scores of the candidates that Missing lists, one each in that order; a candidate with
// the score rank.NoVector still has none. It returns an error and changes nothing if another score is not finite, or
// their number differs.
func (c *Candidates) Complete(source int, scores []float32) error {
	return c.fillColumn(source, scores, FromExact)
}

// Follow sets the scores of a source that finds no passages itself and only scores what the others found (late
// interaction). There is one for each candidate that Missing lists, in that order, and they count for every way to
// complete missing scores. A candidate with the score rank.NoVector still has none. It returns an error and changes
// nothing if another score is not finite, or their number differs.
func (c *Candidates) Follow(source int, scores []float32) error {
	return c.fillColumn(source, scores, FromScored)
}

// fillColumn sets a source's cells that have no score yet (FromNone) to the given scores and origin, in the order of
// the rows, except where a score is rank.NoVector. It returns an error and changes nothing if another score is not
// finite, or if there are not as many scores as such cells.
func (c *Candidates) fillColumn(source int, scores []float32, origin Origin) error {
	for i, score := range scores {
		if !isFinite(score) && score != rank.NoVector {
			return fmt.Errorf("exact score %d of %d is %v", i+1, len(scores), score)
		}
	}
	missing := 0
	for row := range c.ordinals {
		if c.cellAt(row, source).origin == FromNone {
			missing++
		}
	}
	if missing != len(scores) {
		return fmt.Errorf("%d exact scores for %d missing ones", len(scores), missing)
	}
	for row, next := 0, 0; next < len(scores); row++ {
		if at := c.cellAt(row, source); at.origin == FromNone {
			*at = cell{score: scores[next], origin: origin}
			if scores[next] == rank.NoVector {
				*at = cell{noVector: true}
			}
			next++
		}
	}
	return nil
}

// cellAt returns the cell of a row and a column, in place.
func (c *Candidates) cellAt(row, source int) *cell { return &c.cells[row*len(c.columns)+source] }

// isFinite reports whether x is neither NaN nor infinite.
func isFinite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// Only returns a table of the given columns, in that order, with the candidates that one of these sources found. All
// scores must have been completed. It fails if there is no such column.
func (c *Candidates) Only(columns []int) (*Candidates, error) {
	out := &Candidates{byID: c.byID}
	for _, column := range columns {
		if column < 0 || column >= len(c.columns) {
			return nil, fmt.Errorf("there is no source %d among %d", column, len(c.columns))
		}
		out.columns = append(out.columns, c.columns[column])
	}
	for row, ordinal := range c.ordinals {
		found := false
		for _, column := range columns {
			found = found || c.cellAt(row, column).origin == FromHit
		}
		if !found {
			continue
		}
		out.ordinals = append(out.ordinals, ordinal)
		for _, column := range columns {
			out.cells = append(out.cells, *c.cellAt(row, column))
		}
	}
	return out, nil
}

// StoredScore is the stored score of one source for one candidate, from an earlier search.
type StoredScore struct {
	Origin Origin  // FromHit, FromExact, FromScored or FromEstimate; FromNone: nothing
	Score  float32 // finite
	Rank   int     // of a hit, in the source's own list, from 1
}

// Restore fills the table with stored scores of candidates from an earlier search: scores[row][column]. A row's number
// becomes its passage. The ranks of a column must agree with its scores; its lowest score is that of the last hit
// given. It fails for more than MaxSources columns. Each row has to have as many scores as there are columns.
func (c *Candidates) Restore(columns int, scores [][]StoredScore) error {
	c.ordinals = c.ordinals[:0]
	c.cells = c.cells[:0]
	c.columns = make([]column, columns)
	c.admitted = nil
	c.byID = nil
	if columns > MaxSources {
		return fmt.Errorf("%d sources to fuse, at most %d are possible", columns, MaxSources)
	}
	for row, cells := range scores {
		c.ordinals = append(c.ordinals, rank.Ordinal(row))
		for at, s := range cells {
			c.cells = append(c.cells, cell{score: s.Score, rank: int32(s.Rank), origin: s.Origin})
			if s.Origin != FromHit {
				continue
			}
			if col := &c.columns[at]; col.hits == 0 || s.Score < col.lowest {
				col.lowest = s.Score
			}
			c.columns[at].hits++
		}
	}
	return nil
}
