package ann

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
)

// sparse compares a query with stored lists of weights of word pieces (SPLADE): the score is the sum of the products
// of the weights that both have. Its first file has the list of each ordinal, for Scores. Its second file has the same
// weights as postings by word piece (package bm25), for searches, which skip lists that cannot be among the hits. Both
// give the same scores to the last bit.
type sparse struct {
	*pairs
	words    *bm25.Index
	searcher *bm25.Searcher
}

// sparseMemory is how many bytes of postings a build keeps in memory before it writes them to temporary files.
const sparseMemory = 256 << 20

// buildSparse writes the postings of a file of pairs to graphPath. It fails if the file is damaged or ctx ends, and
// then leaves no file.
func buildSparse(ctx context.Context, d disk.Disk, vectorsPath, graphPath string, o BuildOptions) (err error) {
	p, err := openPairs(d, vectorsPath)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := p.Verify(ctx); err != nil {
		return err
	}
	b := bm25.NewBuilder(bm25.Params{Analysis: forms.Weighted})
	defer b.Discard()
	b.SpillTo(d, filepath.Dir(graphPath), sparseMemory)
	var ids []uint32
	var codes []uint8
	for i := range p.count {
		if i%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			o.Progress(i, p.count)
		}
		ids, codes = ids[:0], codes[:0]
		for _, x := range p.pairsOf(rank.Ordinal(i)) {
			ids, codes = append(ids, x>>codeBits), append(codes, uint8(x))
		}
		if err := b.AddWeighted(ids, codes); err != nil {
			return err
		}
	}
	o.Progress(p.count, p.count)
	return b.Write(d, graphPath)
}

// openSparse opens a file of pairs and its postings as an index. It fails if they do not belong together.
func openSparse(d disk.Disk, vectorsPath, graphPath string) (*sparse, error) {
	p, err := openPairs(d, vectorsPath)
	if err != nil {
		return nil, err
	}
	words, err := bm25.Open(d, graphPath)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	x := &sparse{pairs: p, words: words}
	if words.Docs() != p.count || words.Params().Analysis != forms.Weighted {
		return nil, errors.Join(
			fmt.Errorf("%s has %d lists and %s %d: rebuild it", vectorsPath, p.count, graphPath, words.Docs()),
			x.Close(),
		)
	}
	x.searcher, err = bm25.NewSearcher(bm25.Segment{Index: words})
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// weightedTerms returns the terms of a query for the search of postings, in the order of bm25.SortWeighted. It
// returns a *QueryError if the query is no list of pairs.
func weightedTerms(query []float32) ([]bm25.WeightedTerm, error) {
	if err := checkPairs(query); err != nil {
		return nil, &QueryError{err.Error()}
	}
	var terms []bm25.WeightedTerm
	for p := range slices.Chunk(query, pairNumbers) {
		terms = append(terms, bm25.WeightedTerm{ID: uint32(p[0]), Weight: p[1] * pairStep})
	}
	return bm25.SortWeighted(terms), nil
}

// Search returns up to o.K hits, the best first, by the sum of the products of the weights that the query and a list
// both have. Lists without a word piece of the query are no hits. It leaves out nothing, so o.Ef and o.Exact change
// nothing. It fails if the query or o is invalid, a file is damaged or ctx ends.
func (x *sparse) Search(ctx context.Context, query []float32, o SearchOptions) ([]rank.Hit, SearchStats, error) {
	stats := SearchStats{Exact: true}
	terms, err := weightedTerms(query)
	if err == nil {
		err = o.checkBounds(x.count)
	}
	if err == nil {
		err = x.Verify(ctx)
	}
	if err != nil {
		return nil, stats, err
	}
	var among bm25.Selection
	if o.Filter != nil {
		among = bm25.Selection{o.Filter.words}
	}
	hits, err := x.searcher.SearchWeighted(ctx, terms, o.K, among)
	if damage := (*bm25.DamageError)(nil); errors.As(err, &damage) {
		err = &DamageError{Path: damage.Path, What: damage.What}
	}
	stats.Scored = len(hits)
	return hits, stats, err
}

// SearchExact returns what Search does for each query, one after the other. It stops at the first query that fails. k
// is how many hits each gets.
func (x *sparse) SearchExact(ctx context.Context, queries [][]float32, k int) ([][]rank.Hit, error) {
	out := make([][]rank.Hit, len(queries))
	for i, q := range queries {
		var err error
		out[i], _, err = x.Search(ctx, q, SearchOptions{K: k})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Scores writes the scores of lists to out, which must have an element for each: 0 for a list without a word piece of
// the query, NaN for one that does not exist. All scores are NaN if the query is no list of pairs or the file is
// damaged.
func (x *sparse) Scores(query []float32, ordinals []rank.Ordinal, out []float32) {
	terms, err := weightedTerms(query)
	if err == nil {
		err = x.Verify(context.Background())
	}
	for i, o := range ordinals {
		out[i] = float32(math.NaN())
		if err == nil && int64(o) < int64(x.count) {
			out[i] = x.score(terms, o)
		}
	}
}

// score returns the score of list o: the sum of ScoreWeighted over the terms that the list has; 0 if it has none.
// terms must be in the order of SortWeighted.
func (x *sparse) score(terms []bm25.WeightedTerm, o rank.Ordinal) float32 {
	list := x.pairsOf(o)
	sum := 0.0
	for _, t := range terms {
		at, found := slices.BinarySearchFunc(list, t.ID, func(pair, id uint32) int { return int(pair>>codeBits) - int(id) })
		if found {
			sum += bm25.ScoreWeighted(t.Weight, uint8(list[at]))
		}
	}
	return float32(sum)
}

// BytesPerVector returns the mean size of a list and of its postings.
func (x *sparse) BytesPerVector() float64 {
	return x.pairs.BytesPerVector() + float64(x.words.Size())/float64(max(x.count, 1))
}

// Check reads both files and returns an error if one is damaged.
func (x *sparse) Check() error { return errors.Join(x.pairs.Check(), x.words.Check()) }

// Close unmaps both files. It returns the errors of both.
func (x *sparse) Close() error { return errors.Join(x.words.Close(), x.pairs.Close()) }
