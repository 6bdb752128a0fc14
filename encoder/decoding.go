package encoder

import (
	"context"
	"errors"
	"slices"

	ort "github.com/yalue/onnxruntime_go"
)

// decoderRun is the state of a generator's decoder while it writes one answer.
type decoderRun struct {
	g      *Generator
	states *states
	cross  []ort.Value
	bound  *boundSession // cross is on the decoder's device; nil: it is given to each run
	rows   int           // of past
	length int           // of past, in tokens
	past   [][]float32   // of each layer keys and values, each [rows, heads, length, size]
}

// newDecoding returns a decoder before the first token of an answer from the passages in s. The caller closes it. It
// fails if the device has no memory for the states.
func (g *Generator) newDecoding(s *states) (*decoderRun, error) {
	d := &decoderRun{g: g, states: s, rows: 1, past: make([][]float32, len(s.cross))}
	for _, values := range s.cross {
		v, err := ort.NewTensor(ort.NewShape(int64(g.shape.Heads), int64(s.tokens), int64(g.shape.HeadSize)), values)
		if err != nil {
			d.close()
			return nil, err
		}
		d.cross = append(d.cross, v)
	}
	if session, ok := g.decoder.(bindable); ok && g.keeps {
		b, err := bindInputs(session, g.crossed, d.cross, g.stepIn, g.stepOut)
		if err != nil {
			d.close()
			return nil, err
		}
		d.bound = b
	}
	return d, nil
}

// close frees the decoder's values; the graphs stay loaded. It must be called once.
func (d *decoderRun) close() {
	if d.bound != nil {
		d.bound.close()
	}
	destroyValues(d.cross)
}

// runDecoder runs the decoder's graph once on the inputs given, with the passages' states as further inputs, and writes
// to outputs. It fails if the graph does, or ctx ends.
func (d *decoderRun) runDecoder(ctx context.Context, given []ort.Value, outputs []output) error {
	if d.bound != nil {
		return d.bound.run(ctx, given, outputs)
	}
	return runOn(ctx, d.g.decoder, slices.Concat(given, d.cross), outputs)
}

// Step implements generation.Stepper: it reads one more token for each row; row i goes on from row from[i] of the step
// before. It returns for each row the logits of the vocabulary, and the shares of its attention to the passages. Both
// may be overwritten by the next step. It fails if the graph does, or ctx ends.
func (d *decoderRun) Step(ctx context.Context, tokens []int32, from []int) (logits, shares [][]float32, err error) {
	rows := make([][]int32, len(tokens))
	for i, t := range tokens {
		rows[i] = []int32{t}
	}
	return d.readTokens(ctx, rows, from)
}

// readTokens gives the decoder more tokens for each row, the same number for all and at least one. from has, for
// each row, the one of the rows before that it continues. It returns for each row the logits of the vocabulary
// after its last token, and how the attention of that token is shared among the passages. It keeps the new state
// for the next call; after an error the old one stays.
func (d *decoderRun) readTokens(
	ctx context.Context, tokens [][]int32, from []int,
) (logits, shares [][]float32, err error) {
	defer recoverPanic(&err)
	shape := &d.g.shape
	rows, more := len(tokens), len(tokens[0])
	var given []ort.Value
	defer func() { destroyValues(given) }()
	add := func(v ort.Value, failed error) {
		err = errors.Join(err, failed)
		if failed == nil {
			given = append(given, v)
		}
	}
	ids, beams := make([]int64, 0, rows*more), make([]int64, rows)
	for i, row := range tokens {
		beams[i] = int64(from[i])
		for _, t := range row {
			ids = append(ids, int64(t))
		}
	}
	idTensor, failed := ort.NewTensor(ort.NewShape(int64(rows), int64(more)), ids)
	add(idTensor, failed)
	beamTensor, failed := ort.NewTensor(ort.NewShape(int64(rows)), beams)
	add(beamTensor, failed)
	outputs := []output{newOutput(rows, more, shape.Vocabulary), newOutput(rows*more, d.states.tokens)}
	for _, values := range d.past {
		v, failed := ort.NewTensor(
			ort.NewShape(int64(d.rows), int64(shape.Heads), int64(d.length), int64(shape.HeadSize)), values,
		)
		add(v, failed)
		outputs = append(outputs, newOutput(rows, shape.Heads, d.length+more, shape.HeadSize))
	}
	if err != nil {
		return nil, nil, err
	}
	if err := d.runDecoder(ctx, given, outputs); err != nil {
		return nil, nil, err
	}
	d.rows = rows
	d.length = d.length + more
	for i := range d.past {
		d.past[i] = outputs[2+i].data
	}
	for i := range rows {
		all := outputs[0].rowOutput(i)
		logits = append(logits, all[(more-1)*shape.Vocabulary:])
		shares = append(shares, d.byPassage(outputs[1].rowOutput(i*more+more-1)))
	}
	return logits, shares, nil
}

// byPassage returns the sum of the attention to the tokens of each passage, in the order of the passages.
func (d *decoderRun) byPassage(attention []float32) []float32 {
	shares := make([]float32, len(d.states.from))
	for p := range shares {
		sum := 0.0
		for _, x := range attention[d.states.from[p]:d.states.to[p]] {
			sum += float64(x)
		}
		shares[p] = float32(sum)
	}
	return shares
}
