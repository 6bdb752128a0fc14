package sites

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// answer is what a site said about an address, after redirects within the site.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	location *url.URL // where it redirects; nil if it does not
}

// TooLargeError says that a page, or what it unpacks to, has more bytes than are read.
type TooLargeError struct{ Most int64 }

// Error says how many bytes are read.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("it has more than the %d MiB that are read of one page (documents.file_bytes)", e.Most>>20)
}

// StatusError says with which status a site refused a page.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the site answers %d %s", e.Status, http.StatusText(e.Status))
}

// fetcher asks one site, politely: with a pause between requests, and again after a while if the site is busy.
type fetcher struct {
	client   *http.Client
	reach    *Reach
	agent    string
	limit    time.Duration // for one request
	attempts int           // at a page of a site that is busy or cannot be reached
	clock    Clock
	pace     time.Duration // between two requests, at least
	// waiting is Options.Waiting.
	waiting func(address string, pause time.Duration, reason string)

	mu   sync.Mutex // guards next
	next time.Time  // of the next request
}

// A Clock tells the time and waits. Tests substitute one that does not take any.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// systemClock returns the Clock of the machine.
func systemClock() Clock {
	return Clock{Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		wait := time.NewTimer(d)
		defer wait.Stop()
		select {
		case <-wait.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

const (
	firstPause  = time.Second     // before the second attempt; it doubles
	longestWait = 5 * time.Minute // that a site may ask for before the next attempt
)

// fetch asks for an address, again after a pause while the site is busy (429, 5xx) or cannot be reached, for as long as
// Retry-After says, up to longestWait. A body has most bytes. header is sent with each request; accept decides by the
// header of an answer whether its body is read. It returns the answer whatever its status. The error is that of the
// last attempt, or ctx's.
func (f *fetcher) fetch(
	ctx context.Context, u *url.URL, header http.Header, most int64, accept func(http.Header) error,
) (answer, error) {
	for attempt := 1; ; attempt++ {
		a, err := f.fetchOnce(ctx, u, header, most, accept)
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
		var refused *NetworkError
		var host *HostError
		var large *TooLargeError
		var left *leftOutError
		busy := err != nil && !errors.As(err, &refused) && !errors.As(err, &host) && !errors.As(err, &large) &&
			!errors.As(err, &left) || err == nil && (a.status == http.StatusTooManyRequests || a.status >= 500)
		if !busy || attempt >= f.attempts {
			return a, err
		}
		pause := firstPause << (attempt - 1)
		pause += rand.N(pause / 4) // so that several readers do not come back together
		if asked, ok := retryAfter(a.header, f.clock.Now()); ok {
			if asked > longestWait {
				return a, err
			}
			pause = max(pause, asked)
		}
		if f.waiting != nil {
			f.waiting(u.String(), pause, busyReason(a, err))
		}
		if err := f.clock.Sleep(ctx, pause); err != nil {
			return a, err
		}
	}
}

// busyReason returns for people why a page has to be asked for again: by the error of a request, or, if that is nil, by
// the answer.
func busyReason(a answer, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("it answers with %d %s", a.status, http.StatusText(a.status))
}

// retryAfter returns how long an answer asks to wait, by its header Retry-After; ok is false if it does not say that.
func retryAfter(header http.Header, now time.Time) (wait time.Duration, ok bool) {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// fetchOnce waits until the pace allows a request, and sends it. A redirect is not followed: the answer has its
// location. It fails if the address may not be asked, the site does not answer in time, or the body is too large.
func (f *fetcher) fetchOnce(
	ctx context.Context, u *url.URL, header http.Header, most int64, accept func(http.Header) error,
) (a answer, err error) {
	if err := f.reach.CheckHost(u); err != nil {
		return a, err
	}
	if err := f.awaitTurn(ctx); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return a, err
	}
	request.Header = header.Clone()
	request.Header.Set("User-Agent", f.agent)
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := f.client.Do(request)
	if err != nil {
		return a, withoutAddress(err)
	}
	defer func() { _ = response.Body.Close() }()
	a.status, a.header = response.StatusCode, response.Header
	if 300 <= a.status && a.status < 400 && a.status != http.StatusNotModified {
		a.location, err = redirection(u, response.Header.Get("Location"))
		return a, err
	}
	if a.status != http.StatusOK {
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
		return a, nil
	}
	if err := accept(response.Header); err != nil {
		return a, err
	}
	a.body, err = readBody(response, most)
	return a, withoutAddress(err)
}

// redirection returns where an answer redirects; an error if that is no address.
func redirection(from *url.URL, location string) (*url.URL, error) {
	to, err := from.Parse(location)
	if location == "" || err != nil {
		return nil, &leftOutError{LeftOutside, "it redirects to what is no address"}
	}
	return to, nil
}

// withoutAddress returns the cause of an error of net/http, which begins with the address that was asked. It returns
// nil for nil.
func withoutAddress(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it did not answer in time (documents.site.timeout)")
	}
	return err
}

// readBody returns the body of an answer, unpacked. If it has more than most bytes, it returns a *TooLargeError with
// those that were read.
func readBody(response *http.Response, most int64) ([]byte, error) {
	if response.ContentLength > most && most > robotsBytes { // of a robots.txt the beginning counts
		return nil, &TooLargeError{most}
	}
	var body io.Reader = response.Body
	switch encoding := strings.ToLower(response.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(io.LimitReader(response.Body, most))
		if err != nil {
			return nil, fmt.Errorf("it cannot be unpacked: %w", err)
		}
		body = unpacked
	default:
		return nil, &leftOutError{LeftType, fmt.Sprintf("it is encoded as %.40q, which was not asked for", encoding)}
	}
	return readAtMost(body, most)
}

// readAtMost returns all bytes of a reader; with a *TooLargeError the first ones, if there are more than most.
func readAtMost(in io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if int64(len(data)) > most {
		return data[:most], &TooLargeError{most}
	}
	return data, err
}

// awaitTurn waits until the next request may be sent. It fails only if ctx ends.
func (f *fetcher) awaitTurn(ctx context.Context) error {
	f.mu.Lock()
	now := f.clock.Now()
	wait := f.next.Sub(now)
	f.next = now.Add(max(0, wait) + f.pace)
	f.mu.Unlock()
	if wait <= 0 {
		return ctx.Err()
	}
	return f.clock.Sleep(ctx, wait)
}

// mediaTypeOf returns the media type that a header declares, in lower case and without parameters; "" if none is.
func mediaTypeOf(header http.Header) string {
	t, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return t
}
