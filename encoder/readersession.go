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

// readerSession is a reader's graph in ONNX Runtime. It is safe for concurrent use.
type readerSession struct {
	file    string
	inner   runner
	types   bool // the graph takes token types
	squad   bool // that are 1 behind the first separator
	selects bool
	sep     int32
	pad     int64
}

// openReaderSession loads a reader's graph and runs it once, as openTower does.
func openReaderSession(b *models.Bundle, tokenizer *questionTokens, t target) (*readerSession, error) {
	m := &b.Manifest
	g := b.Manifest.Reader.Graph
	inputs, outputs := []string{g.InputIDs, g.AttentionMask}, []string{g.Start, g.End}
	if g.TokenTypeIDs != "" {
		inputs = append(inputs, g.TokenTypeIDs)
	}
	if g.Select != "" {
		outputs = append(outputs, g.Select)
	}
	s := &readerSession{
		file: b.Path(g.File), types: g.TokenTypeIDs != "", squad: m.Reader.Template == models.TemplateSQuAD, selects: g.Select != "",
		sep: tokenizer.SEP(), pad: int64(tokenizer.Pad()),
	}
	var err error
	s.inner, err = load(s.file, inputs, outputs, t)
	if err != nil {
		return nil, err
	}
	ids, _, err := tokenizer.EncodePair("what", "a", m.Reader.MaxTokens.Pair)
	if err == nil {
		_, err = s.run(context.Background(), batcher.Question, [][]int32{ids})
	}
	if err != nil {
		return nil, errors.Join(err, s.inner.Destroy())
	}
	return s, nil
}

// run runs the graph once on rows of token ids. For each row it returns select, if the
// graph has it, then the starts of the tokens, then their ends.
func (s *readerSession) run(ctx context.Context, _ batcher.Lane, rows [][]int32) ([][]float32, error) {
	inputs, longest := padded(rows, s.pad)
	if !s.types {
		inputs = inputs[:2]
	} else if s.squad {
		for i, row := range rows {
			for k := slices.Index(row, s.sep) + 1; k < len(row); k++ {
				inputs[2][i*longest+k] = 1
			}
		}
	}
	outputs := []output{newOutput(len(rows), longest), newOutput(len(rows), longest)}
	if s.selects {
		outputs = append(outputs, newOutput(len(rows)))
	}
	if err := run(ctx, s.inner, ort.NewShape(int64(len(rows)), int64(longest)), inputs, outputs); err != nil {
		return nil, fmt.Errorf("running %s on %d texts of up to %d tokens: %w", s.file, len(rows), longest, err)
	}
	all := make([][]float32, len(rows))
	for i, row := range rows {
		if s.selects {
			all[i] = append(all[i], outputs[2].row(i)...)
		}
		all[i] = append(append(all[i], outputs[0].row(i)[:len(row)]...), outputs[1].row(i)[:len(row)]...)
		if !finite(all[i]) {
			return nil, fmt.Errorf("%s gave a logit that is NaN or infinite", s.file)
		}
	}
	return all, nil
}
