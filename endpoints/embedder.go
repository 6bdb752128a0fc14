package endpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
)

// Options are a model that gives texts vectors, and how it is asked.
type Options struct {
	Server            Server
	Question, Passage Side
	Dimension         int  // that the server is asked for; 0: the model's own
	CutTo             int  // vectors are cut to so many numbers and scaled to unit length; 0: they are not
	Normalise         bool // vectors are scaled to unit length
	Batch             int  // texts of a request, at most
	RequestTokens     int  // tokens of a request, at most, as EstimateTokens has them
	Concurrency       int  // requests for passages at the same time
	// the time that a question's vector may take, at most: less if the question has less
	QuestionTime time.Duration
	Patience     time.Duration // how long a request for passages is repeated after failures
	FirstWait    time.Duration // before the first repetition; 0: half a second
	// Repeated is called before a request for passages is repeated, with its error and the wait. May be nil.
	Repeated     func(err error, wait time.Duration)
	CacheEntries int           // vectors of questions that are kept; 0: none
	ProbeAge     time.Duration // how old a probe may be before a question brings another one; 0: an hour
}

// Embedder asks one model for vectors. Its methods may be called by several goroutines. Close ends it.
type Embedder struct {
	options Options
	client  *client
	breaker *gobreaker.CircuitBreaker[[][]float32]
	flights singleflight.Group
	places  chan struct{}   // taken by requests for questions
	running context.Context // of requests that outlive their caller; Close ends it
	stop    context.CancelFunc

	mu        sync.Mutex
	probed    *Probe // the newest; nil: none yet
	probedAt  time.Time
	cache     *vectorCache
	dimension atomic.Int64 // 0: not known yet

	// texts of a request for passages; less than Batch for a slow server
	most atomic.Int64

	requests, failures, texts, bytes, tokens, cut atomic.Int64
}

// The circuit breaker: after so many failures one after the other nothing is asked for a while, and then one question.
const (
	mostFailures = 4
	restTime     = 10 * time.Second
)

// NewEmbedder returns an Embedder that has asked for nothing yet. dimension is the length of its vectors, 0 if that is
// not known. It fails if the address is invalid.
func NewEmbedder(o Options, dimension int) (*Embedder, error) {
	c, err := newClient(o.Server)
	if err != nil {
		return nil, err
	}
	o.FirstWait = cmp.Or(o.FirstWait, 500*time.Millisecond)
	o.ProbeAge = cmp.Or(o.ProbeAge, time.Hour)
	e := &Embedder{
		options: o, client: c, cache: newVectorCache(o.CacheEntries), places: make(chan struct{}, mostRequests),
	}
	e.dimension.Store(int64(dimension))
	e.most.Store(int64(o.Batch))
	e.running, e.stop = context.WithCancel(context.Background())
	e.breaker = gobreaker.NewCircuitBreaker[[][]float32](gobreaker.Settings{
		Timeout:     restTime,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= mostFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		IsSuccessful: func(err error) bool {
			refused, ok := errors.AsType[*Error](err)
			return err == nil || ok && !refused.Again // the server answers, and refuses this text
		},
	})
	return e, nil
}

// Close ends the requests that nobody waits for any more. Calls under way return an error. It returns nil.
func (e *Embedder) Close() error {
	e.stop()
	e.client.http.CloseIdleConnections()
	return nil
}

// Dimension returns the length of the vectors; 0 if no answer has told it yet.
func (e *Embedder) Dimension() int { return int(e.dimension.Load()) }

// Stats counts what was sent since the Embedder was made.
type Stats struct {
	Requests, Texts, Bytes int64 // that were answered
	Failures               int64 // requests
	Tokens                 int64 // as the server counted them; estimated where it does not say
	Cut                    int64 // texts that were refused, and of which a part was accepted
}

// Stats returns the counts.
func (e *Embedder) Stats() Stats {
	return Stats{
		Requests: e.requests.Load(), Texts: e.texts.Load(), Bytes: e.bytes.Load(), Failures: e.failures.Load(),
		Tokens: e.tokens.Load(), Cut: e.cut.Load(),
	}
}

// count adds an answered request, its texts, their bytes and its tokens to the counts. If tokens is not above 0, the
// tokens are estimated from the texts.
func (e *Embedder) count(texts []string, tokens int64) {
	bytes := 0
	estimated := 0
	for _, text := range texts {
		bytes += len(text)
		estimated += EstimateTokens(text)
	}
	if tokens <= 0 {
		tokens = int64(estimated)
	}
	e.requests.Add(1)
	e.texts.Add(int64(len(texts)))
	e.bytes.Add(int64(bytes))
	e.tokens.Add(tokens)
}

// tokenBytes is how many bytes of a text are counted as a token: less than most tokenizers have on the mean, so that
// what fits by the estimate fits.
const tokenBytes = 3

// EstimateTokens returns about how many tokens a text has, rather too many, with those around it.
func EstimateTokens(text string) int { return len(text)/tokenBytes + 3 }

// Passages returns the vectors of texts, in their order, as requests of at most Batch texts and RequestTokens tokens.
// Concurrency requests run at a time, and each is repeated after failures, for Patience. A text that the server refuses
// is cut at half of its length, several times if need be; Stats counts it. The error is a *TextError, or ctx's.
func (e *Embedder) Passages(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(e.options.Concurrency)
	for begin := 0; begin < len(texts); {
		end := begin + 1
		for tokens := EstimateTokens(texts[begin]); end < len(texts) && end-begin < e.options.Batch; end++ {
			tokens += EstimateTokens(texts[end])
			if tokens > e.options.RequestTokens {
				break
			}
		}
		first := begin
		group.Go(func() error { return e.fill(within, first, texts[first:end], out[first:end]) })
		begin = end
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, ctx.Err()
}

// TextError is the error of a text that has no vector.
type TextError struct {
	Text    int  // its index; of several that were sent together the first
	Refused bool // the server refuses this text, alone and cut
	Err     error
}

// Error returns the text of the cause.
func (e *TextError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TextError) Unwrap() error { return e.Err }

// mostCuts is how often a text is cut at half of its length after the server refused it.
const mostCuts = 4

// fill sets out to the vectors of texts, whose first has the index first. It repeats failed requests, sends texts that
// are refused together, or take too long, in halves, and a single one that is refused cut.
func (e *Embedder) fill(ctx context.Context, first int, texts []string, out [][]float32) error {
	if most := int(e.most.Load()); len(texts) > most {
		return e.fillHalves(ctx, first, texts, out)
	}
	vectors, err := e.ask(ctx, texts)
	if err == nil {
		copy(out, vectors)
		return nil
	}
	refused, ok := errors.AsType[*Error](err)
	tooMuch := ok && (refused.Status == 400 || refused.Status == 413 || refused.Status == 422)
	switch {
	case ok && refused.Late && len(texts) > 1:
		e.most.Store(int64(len(texts) / 2)) // the next requests are smaller, too
		return e.fillHalves(ctx, first, texts, out)
	case tooMuch && len(texts) > 1:
		return e.fillHalves(ctx, first, texts, out)
	case tooMuch:
		text := texts[0]
		for range mostCuts {
			text = text[:runeStart(text, len(text)/2)]
			if text == "" {
				break
			}
			vectors, again := e.ask(ctx, []string{text})
			if again == nil {
				e.cut.Add(1)
				out[0] = vectors[0]
				return nil
			}
		}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &TextError{first, tooMuch, err}
}

// fillHalves is fill for each half of several texts, one after the other. It fails if one of the halves does, with the
// other's vectors perhaps set.
func (e *Embedder) fillHalves(ctx context.Context, first int, texts []string, out [][]float32) error {
	half := len(texts) / 2
	if err := e.fill(ctx, first, texts[:half], out[:half]); err != nil {
		return err
	}
	return e.fill(ctx, first+half, texts[half:], out[half:])
}

// runeStart returns the offset of the first byte of the character that has the byte at offset at, so that a text can be
// cut there. The text must have that byte.
func runeStart(text string, at int) int {
	for at > 0 && text[at]&0xC0 == 0x80 {
		at--
	}
	return at
}

// mostStrange is how many answers to a request may be such that they are not understood.
const mostStrange = 3

// ask returns the finished vectors of passages by one request, which it repeats after failures that may pass, with
// growing waits, for Patience.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	var last error
	strange := 0
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = e.options.FirstWait
	waits.MaxInterval = 30 * time.Second
	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		vectors, _, err := e.embed(ctx, passage, texts, false)
		if err == nil {
			err = e.finish(vectors)
		}
		last = err
		refused, ok := errors.AsType[*Error](err)
		if ok && refused.Strange {
			strange++
		}
		switch {
		case err == nil:
			return vectors, nil
		case !ok || !refused.Again || strange >= mostStrange || refused.Late && len(texts) > 1:
			return nil, backoff.Permanent(err)
		case refused.After > 0:
			return nil, &backoff.RetryAfterError{Duration: refused.After}
		}
		return nil, err
	}, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(e.options.Patience), backoff.WithNotify(
		func(_ error, wait time.Duration) {
			if e.options.Repeated != nil {
				e.options.Repeated(last, wait)
			}
		}))
	switch {
	case err == nil:
		return vectors, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, last
}

// errLate is for the circuit breaker: the vector is not there in time.
var errLate = &Error{Reason: "its server answers too late for questions", Again: true}

// The request for a question goes on for at most lateness times the time that a question may take, and so many at the
// same time.
const (
	lateness     = 4
	mostRequests = 64
)

// questionShare is the part of a question's remaining time that its vector may take: 3/4, so that it can be searched.
const questionShare = 0.75

// unhurried is the time from which on nobody waits for an answer, as in an evaluation.
const unhurried = 15 * time.Second

// Question returns the vector of a question, which the caller may change. It may take a share of the time that ctx
// leaves, and at most QuestionTime; a request goes on without its caller, and what comes is kept for the next. Where
// ctx leaves more than unhurried, a request is repeated as those for passages. The error is an *Error,
// context.DeadlineExceeded if the vector is late, or ctx's.
func (e *Embedder) Question(ctx context.Context, text string) ([]float32, error) {
	if v := e.cache.get(text); v != nil {
		return v, nil
	}
	end, ends := ctx.Deadline()
	if !ends || time.Until(end) > unhurried {
		return e.patientQuestion(ctx, text)
	}
	may := min(time.Duration(questionShare*float64(time.Until(end))), e.options.QuestionTime)
	within, cancel := context.WithTimeout(ctx, may)
	defer cancel()
	done := e.flights.DoChan(text, func() (any, error) { return e.askQuestion(may, text) })
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
		return append([]float32(nil), r.Val.([]float32)...), nil
	case <-within.Done():
		return nil, within.Err()
	}
}

// askQuestion asks for the vector of a question, through the circuit breaker, and keeps it. If that takes longer than
// may, it returns context.DeadlineExceeded, and the request goes on.
func (e *Embedder) askQuestion(may time.Duration, text string) ([]float32, error) {
	type answer struct {
		vectors [][]float32
		err     error
	}
	vectors, err := e.breaker.Execute(func() ([][]float32, error) {
		select {
		case e.places <- struct{}{}:
		default:
			return nil, &Error{Reason: "too many questions wait for its server", Busy: true, Again: true}
		}
		answers := make(chan answer, 1)
		go func() {
			defer func() { <-e.places }()
			ctx, cancel := context.WithTimeout(e.running, min(e.options.Server.Timeout, lateness*e.options.QuestionTime))
			defer cancel()
			vectors, err := e.askWithProbes(ctx, text)
			if err == nil {
				e.cache.put(text, vectors[0])
			}
			answers <- answer{vectors, err}
		}()
		timer := time.NewTimer(may)
		defer timer.Stop()
		select {
		case a := <-answers:
			return a.vectors, a.err
		case <-timer.C:
			return nil, errLate
		}
	})
	switch {
	case err == nil:
		return vectors[0], nil
	case errors.Is(err, errLate):
		return nil, context.DeadlineExceeded
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return nil, &Error{
			Reason: fmt.Sprintf("its server failed lately, and is asked again after %v", restTime), Again: true,
		}
	case errors.Is(err, context.Canceled):
		return nil, &Error{Reason: "the server is shutting down"}
	}
	return nil, err
}

// patientQuestion returns the vector of a question that nobody waits for, as of an evaluation, and keeps it: a request
// is repeated after failures.
func (e *Embedder) patientQuestion(ctx context.Context, text string) ([]float32, error) {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = e.options.FirstWait
	var last error
	vectors, err := backoff.Retry(ctx, func() ([][]float32, error) {
		vectors, err := e.askWithProbes(ctx, text)
		last = err
		refused, ok := errors.AsType[*Error](err)
		if err != nil && (!ok || !refused.Again) {
			return nil, backoff.Permanent(err)
		}
		if ok && refused.After > 0 {
			return nil, &backoff.RetryAfterError{Duration: refused.After}
		}
		return vectors, err
	}, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(e.options.Patience))
	switch {
	case err == nil:
		e.cache.put(text, vectors[0])
		return append([]float32(nil), vectors[0]...), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, last
}
