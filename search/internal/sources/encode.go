package sources

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// encoding is the vector of a question by one encoder, computed once for all experts that share it.
type encoding struct {
	once     sync.Once
	begun    atomic.Bool // an encoder runs, or has run
	done     atomic.Bool // the fields below are set
	vector   []float32
	err      error
	cut      bool    // only the beginning of the question was read
	readable float64 // QuestionEncoder.Readable of the question, by which vector was multiplied
	took     float64 // milliseconds
}

// encodeQuestion returns the question's vector by the encoder of an expert. The first caller of the experts that share
// an encoder runs it, under its own ctx; the others wait, whatever theirs is. The result is never nil and the same for
// all of them. A failure is in err of what it returns.
func (p *Findings) encodeQuestion(ctx context.Context, x *Dense) *encoding {
	e := &p.encodings[x.encoder]
	e.once.Do(func() {
		e.begun.Store(true)
		defer e.done.Store(true)
		for _, at := range p.asked {
			if at < len(p.Panel.Experts) && p.Panel.Experts[at].encoder == x.encoder {
				x = p.Panel.Experts[at]
				break
			}
		}
		e.err = run.Guard(func() (err error) {
			check := learned.CheckVector
			if x.Model.Info.Kind == reply.KindSparse {
				check = checkPairs
			}
			e.vector, err = p.encodeBy(ctx, x.Model, check, &e.took)
			if err != nil {
				return err
			}
			_, e.cut = x.Model.Encoder.QuestionTokens(p.Inquiry.Question)
			e.readable = x.Model.Encoder.Readable(p.Inquiry.Question)
			if e.readable < 1 && x.Model.Info.Kind != reply.KindSparse { // which has no word pieces of the others
				for i := range e.vector {
					e.vector[i] *= float32(e.readable)
				}
			}
			return nil
		})
	})
	return e
}

// EncodeNow encodes the question by an expert if no source has done that yet, and returns the error of encoding. It
// returns context.DeadlineExceeded at once if a source's encoding is still running.
func (p *Findings) EncodeNow(ctx context.Context, x *Dense) error {
	if e := &p.encodings[x.encoder]; e.begun.Load() && !e.done.Load() {
		return context.DeadlineExceeded
	}
	return p.encodeQuestion(ctx, x).err
}

// encodeBy runs an expert's encoder on the question, as a stage whose time is stored in took, and returns the vector.
// It returns a nil vector and an error if the encoder or check fails.
func (p *Findings) encodeBy(
	ctx context.Context,
	x *learned.Expert,
	check func(vector []float32, dimension int) error,
	took *float64,
) (vector []float32, err error) {
	err = p.Panel.Run.Stage(ctx, x.Name, run.StageEncode, took, func() error {
		vector, err = x.Encoder.EncodeQuestion(ctx, p.Inquiry.Question)
		if err != nil {
			return fmt.Errorf("encoding the question: %w", err)
		}
		return check(vector, x.Info.Dimension)
	})
	if err != nil {
		return nil, err
	}
	return vector, nil
}

// Encoded returns the question's vector by the panel's reference; nil if there is no reference, or the vector is not
// ready or could not be computed. It never waits.
func (p *Findings) Encoded() []float32 {
	if p.Panel.Reference == nil {
		return nil
	}
	if e := &p.encodings[p.Panel.Reference.encoder]; e.done.Load() && e.err == nil {
		return e.vector
	}
	return nil
}

// checkPairs returns an error unless a vector is a list of pairs (word piece, weight) of finite numbers. pair is how
// many numbers a pair has; the list may be empty.
func checkPairs(vector []float32, pair int) error {
	if pair > 0 && len(vector)%pair != 0 {
		return fmt.Errorf("the encoder gave %d numbers, which are no pairs", len(vector))
	}
	return learned.CheckVector(vector, 0)
}
