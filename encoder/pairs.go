package encoder

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// pairs runs a model that reads a question and a passage as one text: a Reader's or a
// Reranker's. It is safe for concurrent use; Close it to free its memory and threads.
type pairs struct {
	runtime   *Runtime
	bundle    *models.Bundle
	tokenizer *questionTokens
	session   *pairSession
	provider  string
	fallback  error
	batcher   *batcher.Batcher
	pace      pace
	closeOnce sync.Once
}

// openPairs loads the tokenizer and a graph of the bundle, tests it, and starts the queue. On a GPU it measures the
// sizes of runs. After an error nothing is loaded.
func (x *pairs) openPairs(r *Runtime, b *models.Bundle, o Running, g pairGraph) (err error) {
	o, err = o.withDefaults()
	if err != nil {
		return err
	}
	if err := r.checkOpen(); err != nil {
		return err
	}
	x.runtime, x.bundle = r, b
	x.tokenizer, err = r.tokenizers.loadTokenizer(b)
	if err == nil {
		err = x.open(o, g)
	}
	if err != nil {
		r.encoderClosed()
		return err
	}
	config := batcher.Config{Infer: x.session.runPairs, Machine: r.machine}
	o.CacheEntries = 0
	o.setBatchSizes(&config, x.provider, &b.Manifest)
	if x.provider == CUDA {
		measureRuns(&config, g.longest/2, g.longest, x.session.runPairs)
	}
	x.batcher = batcher.New(config)
	return nil
}

// open loads the graph on the wanted provider, or with Auto on the one that works. It fails if the graph cannot be
// loaded, or a test run of it fails.
func (x *pairs) open(o Running, g pairGraph) (err error) {
	m := &x.bundle.Manifest
	x.provider, x.fallback, err = o.openWithFallback(m.Precision, m.Name, func(t target) (err error) {
		x.session, err = openPairSession(g, x.tokenizer, t)
		return err
	})
	return err
}

// Name returns the name of the bundle.
func (x *pairs) Name() string { return x.bundle.Manifest.Name }

// Fingerprint returns the fingerprint of the bundle (models.Bundle.Fingerprint).
func (x *pairs) Fingerprint() string { return x.bundle.Fingerprint(models.Passage) }

// Provider returns where the graph runs: CPU or CUDA.
func (x *pairs) Provider() string { return x.provider }

// Fallback returns why Auto did not choose cuda; nil if it did, or the provider was not Auto.
func (x *pairs) Fallback() error { return x.fallback }

// Stats returns the counts of the queue.
func (x *pairs) Stats() batcher.Stats { return x.batcher.Stats() }

// startClock starts to measure how long a number of pairs takes with those that wait. The caller calls stop with the
// error when they are done. After an error other than a missed deadline nothing is noted.
func (x *pairs) startClock(pairs int) (stop func(error)) {
	began := time.Now()
	ahead := int(x.batcher.Stats().Waiting)
	return func(err error) {
		if err == nil || errors.Is(err, context.DeadlineExceeded) { // then it takes at least this long
			x.pace.note(ahead+pairs, time.Since(began), time.Now())
		}
	}
}

// Expect returns an estimate of the time until so many more passages are scored, after those that wait now. It is what
// passages took lately, and halves every paceHalves while none are scored; 0 before the first.
func (x *pairs) Expect(passages int) time.Duration {
	return x.pace.expect(int(x.batcher.Stats().Waiting)+passages, time.Now())
}

// Close answers the readings that wait and frees the graph. A second call returns nil. It fails if freeing does.
func (x *pairs) Close() (err error) {
	x.closeOnce.Do(func() {
		x.batcher.Close()
		err = x.session.inner.Destroy()
		x.runtime.encoderClosed()
	})
	return err
}

// KnownWords returns how many words a text has, how many of these the vocabulary has whole, and how many it does not
// know.
func (x *pairs) KnownWords(text string) (words, whole, unknown int) {
	w := x.tokenizer.Words(text)
	return w.All, w.Whole, w.Unknown
}
