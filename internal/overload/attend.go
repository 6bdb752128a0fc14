package overload

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// connectionKey is the key of the connection in a request's context.
type connectionKey struct{}

// WithConnection returns a context from which ConnectionOf returns c. It is for http.Server.ConnContext.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// ConnectionOf returns the connection that WithConnection put into ctx; nil if there is none.
func ConnectionOf(ctx context.Context) *Connection {
	c, _ := ctx.Value(connectionKey{}).(*Connection)
	return c
}

// Attend returns a handler that stops a connection's clock while next works, and lets it run while next reads the body
// or writes the answer. It asks for the connection to be closed after a health check, and after a request whose body
// could end in two places (request smuggling).
func Attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := ConnectionOf(r.Context())
		if c == nil {
			next.ServeHTTP(w, r)
			return
		}
		if c.probe || r.ProtoMajor == 1 && c.framedTwice(r) {
			// Others need the place of a health check. What follows a body whose end two
			// parties may see in two places is not to be taken for a request.
			w.Header().Set("Connection", "close")
		}
		defer AtWork(r.Context())()
		if r.Body != http.NoBody {
			r.Body = &attendedBody{r.Body, c}
		}
		next.ServeHTTP(&attendedWriter{w, c}, r)
	})
}

// framedTwice reports whether a request's body could end in two places (RFC 9112, section 6.1): the request has chunks
// and a length, or chunks before HTTP/1.1, or chunks with a header that c did not see whole.
func (c *Connection) framedTwice(r *http.Request) (twice bool) {
	chunked := len(r.TransferEncoding) > 0
	c.changeClock(func(time.Time) {
		header, _, whole := bytes.Cut(c.header, []byte("\r\n\r\n"))
		twice = chunked && !whole
		if chunked || !r.ProtoAtLeast(1, 1) {
			for line := range bytes.Lines(header) {
				name, _, _ := bytes.Cut(line, []byte(":"))
				twice = twice || bytes.EqualFold(name, []byte("Content-Length")) && chunked ||
					bytes.EqualFold(name, []byte("Transfer-Encoding")) && !chunked
			}
		}
		c.header = nil
	})
	return twice
}

// AtWork stops the clock that counts how long the server waits for a request's caller, until done is called, once.
// Calls may overlap: the clock runs again when all are done. It does nothing if ctx has no connection.
func AtWork(ctx context.Context) (done func()) {
	c := ConnectionOf(ctx)
	if c == nil {
		return func() {}
	}
	c.changeClock(func(time.Time) {
		c.working = c.working + 1
		c.begun = true
	})
	return func() { c.changeClock(func(time.Time) { c.working-- }) }
}

// awaitCaller lets the clock run while the server waits for a request's caller, until happened is called, once. It
// must be called between AtWork and its done.
func (c *Connection) awaitCaller() (happened func()) {
	c.changeClock(func(time.Time) { c.working-- })
	return func() { c.changeClock(func(time.Time) { c.working++ }) }
}

// attendedBody is a request's body that lets the connection's clock run while it is read.
type attendedBody struct {
	io.ReadCloser
	connection *Connection
}

// Read reads from the body, and counts the time as waiting for the caller and the bytes as sent by it. It returns the
// error of the body.
func (b *attendedBody) Read(p []byte) (int, error) {
	c := b.connection
	c.changeClock(func(time.Time) { c.working-- })
	n, err := b.ReadCloser.Read(p)
	c.changeClock(func(time.Time) {
		c.creditSent(n)
		c.working++
	})
	return n, err
}

// attendedWriter is a http.ResponseWriter that lets the connection's clock run while it writes.
type attendedWriter struct {
	http.ResponseWriter
	connection *Connection
}

// Write writes to the response, and counts the time as waiting for the caller. It returns the error of the writer
// below.
func (w *attendedWriter) Write(p []byte) (int, error) {
	defer w.connection.awaitCaller()()
	return w.ResponseWriter.Write(p)
}

// FlushError flushes the response, and counts the time as waiting for the caller.
func (w *attendedWriter) FlushError() error {
	defer w.connection.awaitCaller()()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap returns the writer below, for http.ResponseController.
func (w *attendedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
