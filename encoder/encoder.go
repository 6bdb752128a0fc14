package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"conclave/encoder/batcher"
	"conclave/models"
)

// Encoder is an open bundle. It is safe for concurrent use; Close it to free
// its memory and threads.
type Encoder struct {
	runtime   *Runtime
	bundle    *models.Bundle
	tokenizer *questionTokens
	provider  string
	fallback  error

	question, passage *session // the same where the towers are
	ensemble          *ensemble
	options           Options
	batcher           *batcher.Batcher

	from      *Encoder     // whose runs give the vectors; nil: its own. See share.go
	carries   int          // numbers that another encoder takes from the runs
	users     atomic.Int32 // encoders that need sessions and batcher open, itself too
	closeOnce sync.Once
}

// Open loads a bundle's tokenizer and graphs and tries them on one text. The
// bundle's files are taken as models.Load has verified them.
func (r *Runtime) Open(b *models.Bundle, o Options) (*Encoder, error) {
	if err := r.opened(); err != nil {
		return nil, err
	}
	e, err := r.openBundle(b, o)
	if err != nil {
		r.encoderClosed()
		return nil, fmt.Errorf("opening the expert %s: %w", b.Manifest.Name, err)
	}
	return e, nil
}

func (r *Runtime) openBundle(b *models.Bundle, o Options) (_ *Encoder, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &b.Manifest
	e := &Encoder{runtime: r, bundle: b, options: o}
	e.users.Store(1)
	if e.tokenizer, err = r.tokenizers.of(b); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.tokenizers.letGo(e.tokenizer)
			err = errors.Join(err, e.closeSessions())
		}
	}()
	if err = e.openTowers(o); err != nil {
		return nil, err
	}
	if m.Ensemble != nil {
		if e.ensemble, err = openEnsemble(b); err != nil {
			return nil, err
		}
		if _, err = e.ensemble.run(context.Background(), make([]float32, m.Dimension)); err != nil {
			return nil, err
		}
	}
	e.batcher = e.newBatcher()
	return e, nil
}

func (e *Encoder) newBatcher() *batcher.Batcher {
	config := batcher.Config{Infer: e.infer, Machine: e.runtime.machine}
	e.options.sizes(&config, e.provider, &e.bundle.Manifest)
	config.CacheNumbers += config.Cache * e.carries
	single(&config, e.question.oneByOne, e.passage.oneByOne)
	return batcher.New(config)
}

// openTowers loads the graphs on the provider that is asked for. With auto,
// whatever goes wrong with cuda is kept as the reason to use cpu.
func (e *Encoder) openTowers(o Options) error {
	if o.Provider == Auto {
		if e.fallback = e.openTowersOn(target{provider: CUDA, threads: o.Threads}); e.fallback == nil {
			return nil
		}
		o.Provider = CPU
	}
	return e.openTowersOn(target{provider: o.Provider, threads: o.Threads})
}

func (e *Encoder) openTowersOn(t target) error {
	m := &e.bundle.Manifest
	question, err := e.openTower(m.Question, t)
	if err != nil {
		return err
	}
	passage := question
	if m.Passage != m.Question {
		if passage, err = e.openTower(m.Passage, t); err != nil {
			return errors.Join(err, question.close())
		}
	}
	e.question, e.passage, e.provider = question, passage, t.provider
	return nil
}

// openTower loads a graph and runs it once, so that one that does not do what
// the manifest says is found now and not by the first question.
func (e *Encoder) openTower(g models.Graph, t target) (*session, error) {
	m := &e.bundle.Manifest
	ids, err := e.tokenizer.Encode("a", m.MaxTokens.Question)
	if err != nil {
		return nil, err
	}
	s, err := openSession(e.bundle.Path(g.File), g, m.Dimension, e.Late(), e.tokenizer.Pad(), t)
	if err != nil {
		return nil, err
	}
	vectors, err := s.encode(context.Background(), [][]int32{ids})
	switch {
	case err != nil:
	case e.Late():
		err = s.tryTokens(vectors[0], m.Dimension)
	case m.Normalise:
		err = s.tryLength(vectors[0])
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// tryLength wants a vector of unit length.
func (s *session) tryLength(vector []float32) error {
	if n := length(vector); math.Abs(n-1) > 1e-3 {
		return fmt.Errorf("%s gave a vector of length %g, but the manifest says normalise: true", s.file, n)
	}
	return nil
}

func length(vector []float32) float64 {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func (e *Encoder) infer(ctx context.Context, lane batcher.Lane, rows [][]int32) ([][]float32, error) {
	s, finish := e.question, weighted
	if lane == batcher.Passage {
		s, finish = e.passage, unweighted
	}
	vectors, pooled, err := s.encodeBoth(ctx, rows)
	if err != nil || !e.Late() {
		return vectors, err
	}
	for i, tokens := range vectors {
		vectors[i] = finish(tokens, e.Dimension())
		if e.carries > 0 {
			vectors[i] = slices.Concat(pooled[i], vectors[i])
		}
	}
	return vectors, nil
}

// Members is the vectors that the ensemble's members make of a question's
// vector, one after the other: EnsembleMembers × Dimension numbers. It is an
// error for an expert without an ensemble.
func (e *Encoder) Members(ctx context.Context, vector []float32) ([]float32, error) {
	if e.ensemble == nil {
		return nil, fmt.Errorf("the expert %s has no ensemble", e.Name())
	}
	return e.ensemble.run(ctx, vector)
}

// EnsembleMembers is how many members the ensemble has, 0 without one.
func (e *Encoder) EnsembleMembers() int {
	if e.ensemble == nil {
		return 0
	}
	return e.ensemble.members
}

// Name is the bundle's.
func (e *Encoder) Name() string { return e.bundle.Manifest.Name }

// Late says that a text has a vector for each of its tokens and not one for
// all; see EncodeQuestion and EncodePassages.
func (e *Encoder) Late() bool { return e.bundle.Manifest.Kind == models.KindLate }

// Dimension is the length of the vectors, of a Late encoder's each token's.
func (e *Encoder) Dimension() int { return e.bundle.Manifest.Dimension }

// Fingerprint is models.Bundle.Fingerprint.
func (e *Encoder) Fingerprint(side models.Side) string { return e.bundle.Fingerprint(side) }

// Provider is where the model runs, CPU or CUDA.
func (e *Encoder) Provider() string { return e.provider }

// Fallback says why Auto did not choose cuda. It is nil when it did, and when
// the provider was not Auto.
func (e *Encoder) Fallback() error { return e.fallback }

// Stats counts what went through the encoder's queue; encoders that Share have
// one.
func (e *Encoder) Stats() batcher.Stats {
	if e.from != nil {
		return e.from.Stats()
	}
	return e.batcher.Stats()
}

// SelfTest checks the tokenizer; see wordpiece.Tokenizer.SelfTest.
func (e *Encoder) SelfTest() error { return e.tokenizer.SelfTest() }

// Close answers the questions that wait, ends calls of EncodePassages with an
// error, and frees the model, or leaves that to the last of those that Share it.
func (e *Encoder) Close() (err error) {
	e.closeOnce.Do(func() {
		err = e.letGo()
		if e.from != nil {
			err = errors.Join(err, e.from.letGo())
		}
		e.runtime.tokenizers.letGo(e.tokenizer)
		e.runtime.encoderClosed()
	})
	return err
}

// letGo ends queue and sessions when nobody needs them any more.
func (e *Encoder) letGo() error {
	if e.users.Add(-1) > 0 {
		return nil
	}
	if e.batcher != nil {
		e.batcher.Close()
	}
	return e.closeSessions()
}

func (e *Encoder) closeSessions() error {
	var all []error
	if e.passage != nil && e.passage != e.question {
		all = append(all, e.passage.close())
	}
	if e.question != nil {
		all = append(all, e.question.close())
	}
	if e.ensemble != nil {
		all = append(all, e.ensemble.close())
	}
	return errors.Join(all...)
}
