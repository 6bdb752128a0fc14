package overload

import (
	"errors"
	"os"
	"time"
)

// SlowError is the error of a client that sends its request, or takes its answer, too slowly.
type SlowError struct {
	What string // "the body did not arrive in time"
	Err  error
}

// Error returns What, with Err behind it if there is one.
func (e *SlowError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns Err; nil if there is none.
func (e *SlowError) Unwrap() error { return e.Err }

// Slow returns a *SlowError with this text if err is a connection's deadline that passed (os.ErrDeadlineExceeded), and
// nil otherwise.
func Slow(what string, err error) *SlowError {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return &SlowError{what, err}
}

// patience is how long any client may keep the server waiting.
const patience = time.Second

// credit is the most time that a client can be ahead by sending faster than the least rate.
const credit = 10 * time.Second

// Pace measures how fast a client sends a body: the bytes that came, and the time that the server waited for them. The
// clock stands while nothing is read, for example while earlier bytes are being stored. It is not safe for concurrent
// use.
type Pace struct {
	reading bool // the client is waited for
	since   time.Time
	waited  time.Duration // before that
	came    int64         // bytes
}

// Begin starts the clock: the server waits for the client from now on. End must follow before the next Begin.
func (p *Pace) Begin() {
	p.reading = true
	p.since = time.Now()
}

// End stops the clock, after the client has sent this many bytes.
func (p *Pace) End(came int) {
	p.reading = false
	p.waited += time.Since(p.since)
	p.came += int64(came)
}

// Until returns the time at which the client is too slow: it may be waited for as long as grace, and in addition as
// long as the bytes that it has sent take at bytesASecond. ok is false while the clock does not run; end is of no use
// then.
func (p *Pace) Until(grace time.Duration, bytesASecond int) (end time.Time, ok bool) {
	given := grace + time.Duration(float64(p.came)/float64(bytesASecond)*float64(time.Second))
	return p.since.Add(given - p.waited), p.reading
}
