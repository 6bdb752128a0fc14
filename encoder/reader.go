package encoder

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.org/conclave/models"
)

// Reader marks the words of passages that answer a question (Karpukhin et al.
// 2020, DPR, section 6.1). It is safe for concurrent use; Close it to free its
// memory and threads.
type Reader struct{ pairs }

// Reading is the result of a reader for one passage.
type Reading struct {
	// Select is the logit that the passage answers. Of a reader without selection
	// it is how far the best span's score is above that of [CLS], which SQuAD 2's
	// readers mark where there is no answer (Devlin et al. 2019, section 4.3).
	Select float64
	// Spans are the words that may be the answer, the best first, at most
	// bestSpans, each once. None for a passage without text.
	Spans []Span
	// Starts and Ends are the logarithms of the sums of exp(logit) over the text.
	// They normalise logits to probabilities, over one passage or several.
	Starts, Ends float64
	// Cut says that the text is longer than what was read.
	Cut bool
}

// Span is words of a passage's text: bytes, and the sum of the logits that the
// answer starts with the first and ends with the last.
type Span struct {
	Begin, End int
	Score      float64
	Start      float64 // of Score, the part of the beginning
}

const (
	// bestSpans is how many spans of a passage are returned.
	bestSpans = 20
	// mostWindows is the most windows that are read of one passage.
	mostWindows = 16
	// scoredTokens is how many tokens of question and passage together are read to score a passage.
	scoredTokens = 160
)

// OpenReader loads the tokenizer and the graph of a reader's bundle and tests them. It fails if the bundle is of
// another kind, its tokenizer is not BERT's WordPiece, a file does not work or the runtime is closed. The caller
// closes the reader, before the runtime.
func (r *Runtime) OpenReader(b *models.Bundle, o Running) (*Reader, error) {
	if b.Manifest.Kind != models.KindReader {
		return nil, fmt.Errorf("%s is no reader: it is of kind %s", b.Manifest.Name, b.Manifest.Kind)
	}
	x := new(Reader)
	err := x.openPairs(r, b, o, readerGraph(b))
	if err == nil && x.tokenizer.words == nil {
		_, _, err = x.tokenizer.Located("", 1)
		err = errors.Join(err, x.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("opening the reader %s: %w", b.Manifest.Name, err)
	}
	return x, nil
}

// Read reads passages for a question and returns a Reading of each, in their order. Questions and titles lose what
// is beyond their limits. A text that does not fit is read in overlapping windows, at most mostWindows, which are
// batched with those of other callers; Reading.Cut says that even these were too few. A Reading does not depend on
// the other passages: logits within 1e-4. Errors are as for EncodeQuestion.
func (x *Reader) Read(ctx context.Context, question string, passages []Text) ([]Reading, error) {
	return x.read(ctx, question, passages, x.bundle.Manifest.Reader.MaxTokens.Pair, mostWindows)
}

// Score returns the relevance of each passage for a question, in their order: Reading.Select of its beginning, one
// window of at most scoredTokens tokens with the question. For long passages that takes a fraction of Read's time.
// Errors are as for EncodeQuestion.
func (x *Reader) Score(ctx context.Context, question string, passages []Text) ([]Relevance, error) {
	readings, err := x.read(ctx, question, passages, min(scoredTokens, x.bundle.Manifest.Reader.MaxTokens.Pair), 1)
	if err != nil {
		return nil, err
	}
	scores := make([]Relevance, len(readings))
	for i, r := range readings {
		scores[i] = Relevance{Score: r.Select, Cut: r.Cut}
	}
	return scores, nil
}

// read returns a Reading of each passage for Read and Score, from at most `windows` windows of at most `pair` tokens of
// question and passage together. It notes how long that took for Expect. It fails if a text cannot be tokenised, the
// graph fails, or ctx ends.
func (x *Reader) read(
	ctx context.Context,
	question string,
	passages []Text,
	pair, windows int,
) ([]Reading, error) {
	asked, err := x.firstPieces(question, x.bundle.Manifest.Reader.MaxTokens.Question)
	if err != nil {
		return nil, err
	}
	taken := x.startClock(len(passages))
	reads := make([]passageRead, len(passages))
	group, ctx := errgroup.WithContext(ctx)
	for i, p := range passages {
		reads[i], err = x.cutWindows(asked, p, pair, windows)
		if err != nil {
			break
		}
		for n, w := range reads[i].windows {
			group.Go(func() (err error) {
				reads[i].logits[n], err = x.batcher.Question(ctx, w.ids)
				return err
			})
		}
	}
	err = errors.Join(err, group.Wait())
	taken(err)
	if err != nil {
		return nil, fmt.Errorf("reading %d passages with %s: %w", len(passages), x.Name(), err)
	}
	readings := make([]Reading, len(passages))
	for i := range reads {
		readings[i] = reads[i].mergeWindows(x.bundle.Manifest.Reader.LongestSpan)
	}
	return readings, nil
}

// firstPieces returns the ids of the first limit pieces of a text, without special tokens and white space at its ends.
// It fails if the text cannot be tokenised.
func (x *Reader) firstPieces(text string, limit int) ([]int32, error) {
	ids, err := x.tokenizer.Encode(strings.TrimSpace(text), limit+2)
	if err != nil {
		return nil, err
	}
	return ids[1 : len(ids)-1], nil
}
