package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// RequestTimeout is how long Repeat waits for the answer to one attempt.
const RequestTimeout = 30 * time.Second

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// Backoff counts the pauses between attempts of one request: each is twice the one before, up to longestPause.
type Backoff struct{ Next time.Duration }

// NewBackoff returns the pauses of a request that was not repeated yet. The first is c.FirstPause.
func (c *Client) NewBackoff() *Backoff { return &Backoff{c.FirstPause} }

// Wait waits for the next pause. It returns the error of ctx if that ends first.
func (p *Backoff) Wait(ctx context.Context) error {
	next := p.Next
	p.Next = min(2*next, longestPause)
	return Sleep(ctx, next)
}

// Request is a request that changes nothing, or may be carried out twice.
type Request struct {
	Index        string // the index that a *BlockedError names
	Method, Path string
	Body         []byte
	Check        func(answer []byte) error // an ErrAnswer is tried again, another error ends it
}

// Repeat sends a request until an answer passes r.Check, the cluster refuses it, or patience is over, with a Backoff
// between attempts, and returns the answer. Statuses 429 and from 502 on, broken connections and an ErrAnswer of
// r.Check are tried again. A block is a *BlockedError at once, and an untrusted certificate or another error of
// r.Check ends it. After patience it returns the error of the last attempt.
func (c *Client) Repeat(ctx context.Context, patience time.Duration, r Request) (answer []byte, err error) {
	pauses := c.NewBackoff()
	since := time.Now()
	for {
		trying, cancel := context.WithTimeout(ctx, min(RequestTimeout, patience-time.Since(since)))
		answer, err = c.Do(trying, r.Method, r.Path, r.Body)
		cancel()
		if err == nil {
			err = r.Check(answer)
			if err == nil || !errors.Is(err, ErrAnswer) {
				return answer, err
			}
		}
		var status *StatusError
		var untrusted *tls.CertificateVerificationError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &untrusted):
			return nil, err
		case BlockedIn(r.Index, err) != nil:
			return nil, BlockedIn(r.Index, err)
		case errors.As(err, &status) && status.Status != 429 && status.Status < 502,
			time.Since(since)+pauses.Next > patience:
			return nil, err
		}
		if pauses.Wait(ctx) != nil {
			return nil, fmt.Errorf("%w; the last answer: %w", ctx.Err(), err)
		}
	}
}

// Sleep waits for d. It returns the error of ctx if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
