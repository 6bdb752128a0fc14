package encoder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// pairGraph is a graph that reads two texts as one, by the names of its inputs and outputs.
type pairGraph struct {
	file             string
	ids, mask, types string // types is "" where it takes none
	segments         bool   // types are 1 after the first separator, otherwise 0
	ofRow, ofToken   []string
	longest          int // tokens of the run that tests the graph
}

// readerGraph returns the description of the graph in a reader's bundle.
func readerGraph(b *models.Bundle) pairGraph {
	r := b.Manifest.Reader
	g := pairGraph{
		file: b.Path(r.Graph.File), ids: r.Graph.InputIDs, mask: r.Graph.AttentionMask, types: r.Graph.TokenTypeIDs,
		segments: r.Template == models.TemplateSQuAD, longest: r.MaxTokens.Pair,
		ofToken: []string{r.Graph.Start, r.Graph.End},
	}
	if r.Graph.Select != "" {
		g.ofRow = []string{r.Graph.Select}
	}
	return g
}

// rerankerGraph returns the description of the graph in a reranker's bundle.
func rerankerGraph(b *models.Bundle) pairGraph {
	r := b.Manifest.Reranker
	return pairGraph{
		file: b.Path(r.Graph.File), ids: r.Graph.InputIDs, mask: r.Graph.AttentionMask, types: r.Graph.TokenTypeIDs,
		segments: r.Segments, ofRow: []string{r.Graph.Score}, longest: r.Tokens,
	}
}

// pairSession is a pairGraph in ONNX Runtime. It is safe for concurrent use.
type pairSession struct {
	pairGraph
	inner runner
	sep   int32
	pad   int64
}

// openPairSession loads a graph and runs it once, to test it. The caller destroys its inner session. It fails if the
// graph cannot be loaded or the test run fails.
func openPairSession(g pairGraph, tokenizer *questionTokens, t target) (*pairSession, error) {
	inputs := []string{g.ids, g.mask}
	if g.types != "" {
		inputs = append(inputs, g.types)
	}
	s := &pairSession{pairGraph: g, sep: tokenizer.SEP(), pad: int64(tokenizer.Pad())}
	var err error
	s.inner, err = loadSession(g.file, inputs, slices.Concat(g.ofRow, g.ofToken), t)
	if err != nil {
		return nil, err
	}
	ids, _, err := tokenizer.EncodePair("what", "a", g.longest)
	if err == nil {
		_, err = s.runPairs(context.Background(), batcher.Question, [][]int32{ids})
	}
	if err != nil {
		return nil, errors.Join(err, s.inner.Destroy())
	}
	return s, nil
}

// runPairs runs the graph once on rows of token ids. For each row it returns the outputs of the row, then those of
// its tokens, one output after the other, without padding. It fails if a number is not finite. The lane does not
// matter.
func (s *pairSession) runPairs(ctx context.Context, _ batcher.Lane, rows [][]int32) ([][]float32, error) {
	inputs, longest := padRows(rows, s.pad)
	if s.types == "" {
		inputs = inputs[:2]
	} else if s.segments {
		for i, row := range rows {
			for k := slices.Index(row, s.sep) + 1; k < len(row); k++ {
				inputs[2][i*longest+k] = 1
			}
		}
	}
	var outputs []output
	for range s.ofRow {
		outputs = append(outputs, newOutput(len(rows)))
	}
	for range s.ofToken {
		outputs = append(outputs, newOutput(len(rows), longest))
	}
	if err := runGraph(ctx, s.inner, ort.NewShape(int64(len(rows)), int64(longest)), inputs, outputs); err != nil {
		return nil, fmt.Errorf("running %s on %d texts of up to %d tokens: %w", s.file, len(rows), longest, err)
	}
	all := make([][]float32, len(rows))
	for i, row := range rows {
		for k := range outputs {
			numbers := outputs[k].rowOutput(i)
			all[i] = append(all[i], numbers[:min(len(numbers), len(row))]...)
		}
		if !isFinite(all[i]) {
			return nil, fmt.Errorf("%s gave a logit that is NaN or infinite", s.file)
		}
	}
	return all, nil
}
