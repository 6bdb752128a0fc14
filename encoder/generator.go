package encoder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/encoder/generation"
	"example.org/conclave/encoder/unigram"
	"example.org/conclave/internal/disk"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/t5"

	ort "github.com/yalue/onnxruntime_go"
)

// Generator writes answers to questions from passages, by Fusion-in-Decoder (Izacard &
// Grave 2021). It is safe for concurrent use; Close it to free its memory.
type Generator struct {
	runtime          *Runtime
	name             string
	shape            models.Generator
	tokenizer        *unigram.Tokenizer
	encoder, decoder runner
	// The decoder's inputs of each step, those of the whole answer, and its outputs.
	stepIn, crossed, stepOut []string
	provider                 string // CPU or CUDA
	fallback                 error
	keeps                    bool          // what is the same for a whole answer stays on the device
	turn                     chan struct{} // held by the one answer that is being written

	mu     sync.RWMutex // held for writing to close
	closed bool
}

// Asking is a request to a Generator.
type Asking struct {
	Question string
	Passages []Text // at least one
	// MaxTokens bounds the answer.
	MaxTokens int
	// Memory bounds the bytes that the answer takes in addition to the model; 0: no bound.
	Memory int64
	// Each, unless nil, is called with the text so far whenever that has grown. For a
	// generator with beams it is called once, with the answer.
	Each func(text string)
}

// GeneratedText is a generator's answer.
type GeneratedText struct {
	Text   string
	Tokens int // without the one that ends it
	// Complete says that the model ended the answer, and not MaxTokens.
	Complete bool
	// LogProbability is of the answer's tokens, given the passages.
	LogProbability float64
	// Shares is how the attention of the answer's tokens is spread over the passages,
	// as they were given; they add up to 1.
	Shares []float64
	// Cut is how many passages were longer than the generator reads.
	Cut int
}

// OpenGenerator loads a bundle of kind generator and answers a question with it, to test its graphs. It fails if
// the bundle is of another kind, its files do not work or the runtime is closed. The caller closes the generator,
// before the runtime.
func (r *Runtime) OpenGenerator(b *models.Bundle, o Running) (_ *Generator, err error) {
	if b.Manifest.Generator == nil {
		return nil, fmt.Errorf("%s is of kind %s, and no generator", b.Manifest.Name, b.Manifest.Kind)
	}
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	g := &Generator{runtime: r, name: b.Manifest.Name, shape: *b.Manifest.Generator, turn: make(chan struct{}, 1)}
	err = g.loadTokenizer(b)
	if err == nil {
		g.provider, g.fallback, err = o.openWithFallback(
			b.Manifest.Precision, g.name, func(t target) error { return g.loadGraphs(b, t) },
		)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the generator %s: %w", g.name, err), g.Close())
	}
	return g, nil
}

// Provider returns where the graphs run: CPU or CUDA.
func (g *Generator) Provider() string { return g.provider }

// Fallback returns why Auto did not choose cuda; nil if it did, or the provider was not Auto.
func (g *Generator) Fallback() error { return g.fallback }

// loadTokenizer loads the tokenizer of the bundle and sets the names of the graphs' inputs and outputs. It fails if
// the file cannot be read or the tokenizer has more pieces than the model.
func (g *Generator) loadTokenizer(b *models.Bundle) error {
	path := b.Path(b.Manifest.Tokenizer)
	data, err := disk.ReadRegular(path, mostTokenizer)
	if err == nil {
		g.tokenizer, err = unigram.Parse(data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if g.tokenizer.Pieces() > g.shape.Vocabulary {
		return fmt.Errorf("%s has %d pieces, and the model %d rows", path, g.tokenizer.Pieces(), g.shape.Vocabulary)
	}
	g.stepIn, g.stepOut = []string{t5.InputIDs, t5.Beams}, []string{t5.Logits, t5.Attention}
	for i := range g.shape.Layers {
		g.crossed = append(g.crossed, t5.CrossKey(i), t5.CrossValue(i))
		g.stepIn = append(g.stepIn, t5.PastKey(i), t5.PastValue(i))
		g.stepOut = append(g.stepOut, t5.PresentKey(i), t5.PresentValue(i))
	}
	return nil
}

// loadGraphs loads the graphs and answers a question, which also loads a GPU's kernels. If it fails, it closes the
// graphs.
func (g *Generator) loadGraphs(b *models.Bundle, t target) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, g.closeGraphs())
		}
	}()
	encoder, err := loadSession(b.Path(g.shape.Encoder), []string{t5.InputIDs, t5.AttentionMask}, g.crossed, t)
	if err != nil {
		return err
	}
	g.encoder = encoder
	decoder, err := loadSession(b.Path(g.shape.Decoder), slices.Concat(g.stepIn, g.crossed), g.stepOut, t)
	if err != nil {
		return err
	}
	g.decoder = decoder
	g.keeps = t.provider == CUDA
	_, err = g.Answer(context.Background(), Asking{Question: "a", Passages: []Text{{Text: "a"}}, MaxTokens: 2})
	return err
}

// closeGraphs frees the graphs that are loaded. It returns the errors of freeing them.
func (g *Generator) closeGraphs() (err error) {
	for _, s := range []runner{g.encoder, g.decoder} {
		if s != nil {
			err = errors.Join(err, s.Destroy())
		}
	}
	g.encoder, g.decoder = nil, nil
	return err
}

// Name returns the name of the generator's bundle.
func (g *Generator) Name() string { return g.name }

// Close waits for answers that are being written and frees the model. A second call returns nil. It returns the errors
// of freeing the graphs.
func (g *Generator) Close() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	err = g.closeGraphs()
	g.runtime.encoderClosed()
	return err
}

// Answer writes an answer to a question from passages. Answers are written one after another, each on all of the
// generator's threads, so that there is memory for one; it waits for its turn. The error is ctx's if that ends
// first, a *MemoryError, *QuestionError or *ScriptError, batcher.ErrClosed after Close, one for no passage or
// MaxTokens below 1, or ONNX Runtime's.
func (g *Generator) Answer(ctx context.Context, a Asking) (GeneratedText, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return GeneratedText{}, batcher.ErrClosed
	}
	rows, cut, err := g.tokenRows(a)
	if err != nil {
		return GeneratedText{}, err
	}
	if err := g.checkMemory(a, rows); err != nil {
		return GeneratedText{}, err
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return GeneratedText{}, ctx.Err()
	}
	states, err := g.encodePassages(ctx, rows)
	if err != nil {
		return GeneratedText{}, fmt.Errorf("reading %d passages with %s: %w", len(rows), g.name, err)
	}
	options := generation.Options{
		Start:     int32(g.shape.Start),
		End:       g.tokenizer.End(),
		MaxTokens: a.MaxTokens,
		Beams:     g.shape.Beams,
	}
	written := ""
	if a.Each != nil {
		options.Each = func(tokens []int32) {
			if text := g.tokenizer.Decode(tokens); len(text) > len(written) {
				written = text
				a.Each(text)
			}
		}
	}
	decoding, err := g.newDecoding(states)
	if err != nil {
		return GeneratedText{}, err
	}
	defer decoding.close()
	found, err := generation.Generate(ctx, decoding, options)
	if err != nil {
		return GeneratedText{}, fmt.Errorf("writing an answer with %s: %w", g.name, err)
	}
	return GeneratedText{
		Text: g.tokenizer.Decode(found.Tokens), Tokens: len(found.Tokens), Complete: found.Complete,
		LogProbability: found.LogProbability, Shares: found.Shares, Cut: cut,
	}, nil
}

// tokenRows returns the tokens of each passage together with the question, in the words of Izacard & Grave's code,
// and how many passages lost their end. It returns a *QuestionError for a question that takes more than half of the
// limit of a passage's tokens, and a *ScriptError if a third or more of the question's tokens are unknown. It also
// fails if there is no passage.
func (g *Generator) tokenRows(a Asking) (rows [][]int32, cut int, err error) {
	if len(a.Passages) == 0 {
		return nil, 0, errors.New("there is no passage to answer from")
	}
	limit := g.shape.PassageTokens
	question := "question: " + a.Question
	alone, err := g.tokenizer.Encode(question, limit+1)
	if err != nil {
		return nil, 0, err
	}
	if len(alone) > limit/2 {
		return nil, 0, &QuestionError{Tokens: len(alone), Limit: limit}
	}
	asked, err := g.tokenizer.Encode(a.Question, limit)
	if err != nil {
		return nil, 0, err
	}
	unknown := 0
	for _, id := range asked {
		if id == g.tokenizer.Unknown() {
			unknown++
		}
	}
	// One token stands for any number of such characters in a row, the space
	// before them is another, and the last ends the text.
	if 3*unknown >= len(asked)-1 && unknown > 0 {
		return nil, 0, &ScriptError{Unknown: unknown, Tokens: len(asked) - 1}
	}
	for _, p := range a.Passages {
		row, err := g.tokenizer.Encode(question+" title: "+p.Title+" context: "+p.Text, limit+1)
		if err != nil {
			return nil, 0, err
		}
		if len(row) > limit {
			row = append(row[:limit-1], g.tokenizer.End())
			cut++
		}
		rows = append(rows, row)
	}
	return rows, cut, nil
}

// checkMemory returns a *MemoryError if an answer from these rows of tokens would take more memory than a.Memory; 0
// bounds nothing.
func (g *Generator) checkMemory(a Asking, rows [][]int32) error {
	tokens := 0
	for _, row := range rows {
		tokens += len(row)
	}
	needed := g.shape.AnswerBytes(tokens, a.MaxTokens)
	if a.Memory > 0 && needed > a.Memory {
		return &MemoryError{Passages: len(rows), Tokens: tokens, Needed: needed, Limit: a.Memory}
	}
	return nil
}

// readTokens is the most tokens of a run of the encoder, padding included. It bounds the memory that
// a run takes in addition to its results.
const readTokens = 4096

// states are what the decoder attends to: of each layer keys and values, each [heads,
// tokens, size], and which of the tokens are each passage's.
type states struct {
	tokens int
	from   []int // by passage
	to     []int
	cross  [][]float32 // keys and values in turn
}

// encodePassages returns the states of the passages' tokens, which the decoder attends to. It runs the encoder on
// passages of like length together. It fails if the graph does, or ctx ends.
func (g *Generator) encodePassages(ctx context.Context, rows [][]int32) (*states, error) {
	order := make([]int, len(rows))
	s := &states{from: make([]int, len(rows)), to: make([]int, len(rows))}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(rows[a]) - len(rows[b]) })
	for _, i := range order {
		s.from[i] = s.tokens
		s.tokens += len(rows[i])
		s.to[i] = s.tokens
	}
	for range 2 * g.shape.Layers {
		s.cross = append(s.cross, make([]float32, g.shape.Heads*s.tokens*g.shape.HeadSize))
	}
	for begin := 0; begin < len(order); {
		end := begin + 1
		for end < len(order) && (end+1-begin)*len(rows[order[end]]) <= readTokens {
			end++
		}
		if err := g.readSome(ctx, rows, order[begin:end], s); err != nil {
			return nil, err
		}
		begin = end
	}
	return s, nil
}

// readSome runs the encoder once, on the passages with the indexes in which, from the shortest to the longest, and
// writes their states to s, where they lie one after another. It fails if the graph does, or ctx ends.
func (g *Generator) readSome(ctx context.Context, rows [][]int32, which []int, s *states) (err error) {
	first, last := which[0], which[len(which)-1]
	longest := len(rows[last])
	kept := s.to[last] - s.from[first]
	numbers := make([]int64, 2*len(which)*longest)
	ids, mask := numbers[:len(which)*longest], numbers[len(which)*longest:]
	for i, p := range which {
		for k, id := range rows[p] {
			ids[i*longest+k] = int64(id)
			mask[i*longest+k] = 1
		}
	}
	outputs := make([]output, len(s.cross))
	whole := kept == s.tokens
	for i := range outputs {
		outputs[i].shape = ort.NewShape(int64(g.shape.Heads), int64(kept), int64(g.shape.HeadSize))
		if whole {
			outputs[i].data = s.cross[i]
		} else {
			outputs[i].data = make([]float32, g.shape.Heads*kept*g.shape.HeadSize)
		}
	}
	if err := runGraph(ctx, g.encoder, ort.NewShape(int64(len(which)), int64(longest)), [][]int64{ids, mask},
		outputs); err != nil ||
		whole {
		return err
	}
	for i, o := range outputs {
		for h := range g.shape.Heads {
			from := o.rowOutput(h)
			copy(s.cross[i][(h*s.tokens+s.from[first])*g.shape.HeadSize:], from)
		}
	}
	return nil
}
