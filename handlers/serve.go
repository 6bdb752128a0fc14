package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/overload"
)

// ServeOptions are timeouts and limits of connections. A zero duration means no limit unless its field says otherwise.
type ServeOptions struct {
	Connections       int           // that may be open; 0: any number
	Waiting           int           // further ones that may wait for a place, at least 1
	Probes            int           // further ones for health checks alone, at least 1
	HeaderBytes       int           // of a request's line and header; 0: net/http's 1 MiB
	ReadHeaderTimeout time.Duration // against clients that send their header by drops
	ReadTimeout       time.Duration // for header and body
	WriteTimeout      time.Duration // from the end of the header to the end of the answer
	IdleTimeout       time.Duration // between two requests of a connection
	DrainDelay        time.Duration // between "not ready" and closing the listener, for balancers to notice
	DrainTimeout      time.Duration // for requests under way at shutdown; 0: none
}

// afterCut is how long handlers have to notice that their connection was cut.
const afterCut = 5 * time.Second

// Serve serves the API on the listener until ctx ends, and closes the listener. Then it stops in order:
//
//  1. /readyz answers that the server is not ready, for o.DrainDelay;
//  2. the listener closes, and requests under way may end within o.DrainTimeout;
//  3. those that are left are cut off.
//
// When it returns, no request runs any more, so that models and files can be closed. It returns nil after a stop by
// ctx, and an error if a request was cut off or did not end, if serving failed, or for a listener that other machines
// can reach on a server without keys (Listen).
func (a *API) Serve(ctx context.Context, listener net.Listener, o ServeOptions) error {
	if err := a.checkListener(listener); err != nil {
		return errors.Join(err, listener.Close())
	}
	a.connections.Limit(o.Connections, o.Probes)
	a.readTimeout.Store(int64(o.ReadTimeout))
	a.writeTimeout.Store(int64(o.WriteTimeout))
	// Requests outlive ctx: they are drained, not cancelled.
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	a.requests.Store(&requests)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true) // for proxies that speak it behind their TLS
	server := &http.Server{
		Handler:           overload.Attend(a),
		Protocols:         &protocols,
		MaxHeaderBytes:    o.HeaderBytes,
		ReadHeaderTimeout: o.ReadHeaderTimeout,
		ReadTimeout:       o.ReadTimeout,
		WriteTimeout:      o.WriteTimeout,
		IdleTimeout:       o.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(a.options.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       overload.WithConnection,
		ConnState:         a.connections.Changed,
	}
	failed := make(chan error, 1)
	bounded := a.connections.Listen(listener, overload.ListenerOptions{
		Waiting: o.Waiting,
		Within:  o.ReadHeaderTimeout,
		IsProbe: a.gate.IsProbe,
		Refusal: connectionRefusal,
	})
	defer bounded.Wait()
	go func() { failed <- server.Serve(bounded) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}

	a.options.Readiness.Drain()
	level := slog.LevelInfo
	if a.CheckStarted() != nil {
		level = slog.LevelDebug // a start that failed says only why
	}
	a.options.Logger.Log(
		ctx, level, "shutting down", "requests", a.running.Load(), "drain_timeout", o.DrainTimeout.String(),
	)
	time.Sleep(o.DrainDelay)
	draining, stop := context.WithTimeout(requests, o.DrainTimeout)
	defer stop()
	accepting := func() error { // has ended by now, in the way it should
		if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	err := server.Shutdown(draining)
	if err == nil {
		return errors.Join(accepting(), a.waitForHandlers())
	}
	left := a.running.Load()
	cancel()
	err = errors.Join(server.Close(), accepting(), a.waitForHandlers())
	if left > 0 {
		err = errors.Join(fmt.Errorf("%d requests were cut off at shutdown", left), err)
	}
	return err
}

// connectionRefusal returns the HTTP/1 response for a connection that is refused since there are too many.
func connectionRefusal() []byte {
	p := schema.NewProblem("too_many_requests", "The server has as many open connections as it may have, and as many waiting ones: try again in a moment.")
	p.RequestID = front.RandomHex(16)
	text, err := json.Marshal(p)
	if err != nil { // it is made of strings
		return nil
	}
	return fmt.Appendf(
		nil,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nX-Request-ID: %s\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		p.Status, http.StatusText(p.Status), schema.TypeProblem, p.RequestID, len(text), text,
	)
}

// servingContext returns the context that ends when Serve cuts requests off. It returns the request's own if Serve does
// not run.
func (a *API) servingContext(r *http.Request) context.Context {
	if whole := a.requests.Load(); whole != nil {
		return *whole
	}
	return r.Context()
}

// waitForHandlers waits until no handler runs, which may be a moment after the last connection is closed. It returns an
// error if some still run after afterCut.
func (a *API) waitForHandlers() error {
	for deadline := time.Now().Add(afterCut); a.running.Load() > 0; {
		if time.Now().After(deadline) {
			return fmt.Errorf("%d requests did not end", a.running.Load())
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}
