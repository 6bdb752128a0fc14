package handlers

import (
	"log/slog"
	"net/http"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/internal/wording"

	"github.com/go-chi/chi/v5/middleware"
)

// withExchange wraps next in middleware that gives every request an exchange and, when it ends in whatever way, writes
// one log line and counts the request's metrics.
func (a *API) withExchange(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.options.Now()
		r, x := front.WithExchange(r)
		x.Arrived = time.Now()
		x.RequestID = front.RequestID(r.Header.Values("X-Request-ID"))
		x.Refusal = a.refusalOf(r.URL.Path)
		if parent := spanOf(r); parent.IsValid() {
			x.TraceID = parent.TraceID().String()
			x.ParentID = parent.SpanID().String()
			x.SpanID = front.RandomHex(8)
		}
		w.Header().Set("X-Request-ID", x.RequestID)
		rec := &front.Recorder{ResponseWriter: w}
		a.running.Add(1)
		a.options.Metrics.inFlight.Inc()
		defer func() {
			a.options.Metrics.inFlight.Dec()
			a.running.Add(-1)
		}()
		r, ended := a.startSpan(r, x)
		defer func() {
			// Also after a panic that aborts the connection.
			took := a.options.Now().Sub(start)
			ended(rec.Status())
			a.options.Metrics.countRoute(r.Method, x, rec.Status(), took)
			a.logRequest(r, x, rec, took)
		}()
		next.ServeHTTP(rec, r)
	})
}

// logRequest writes the access log line of a request that was answered: at level Error for a status of 500 or more,
// other than 504 and the problem not_ready; at Debug for a health check that succeeded; otherwise at Info. The query
// string is not in it, since it holds the question; the question is, if Options.LogQuestions is set.
func (a *API) logRequest(r *http.Request, x *front.Exchange, rec *front.Recorder, took time.Duration) {
	level := slog.LevelInfo
	switch status := rec.Status(); {
	case status == http.StatusGatewayTimeout:
		level = slog.LevelInfo // the caller's own limit
	case status >= 500 && x.Code != "not_ready":
		level = slog.LevelError
	case x.Route != "" && front.IsProbePath(x.Route) && status < 400:
		level = slog.LevelDebug // probes come every few seconds
	}
	if !a.options.Logger.Enabled(r.Context(), level) {
		return
	}
	attributes := []slog.Attr{
		slog.String("request_id", x.RequestID),
		slog.String("method", wording.Shorten(r.Method)),
		slog.String("path", wording.Shorten(r.URL.Path)),
		slog.Int("status", rec.Status()),
		slog.Int64("bytes", rec.Bytes),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("client", middleware.GetClientIP(r.Context())),
	}
	if x.TraceID != "" {
		attributes = append(
			attributes, slog.String("trace_id", x.TraceID), slog.String("span_id", x.SpanID),
			slog.String("parent_id", x.ParentID),
		)
	}
	if x.Key != nil {
		attributes = append(attributes, slog.String("key", x.Key.Name))
	}
	if x.Code != "" {
		attributes = append(attributes, slog.String("code", x.Code))
	}
	attributes = append(attributes, x.Attributes...)
	if a.options.LogQuestions && x.Question != "" {
		attributes = append(attributes, slog.String("question", x.Question))
	}
	if x.Cause != nil {
		attributes = append(attributes, slog.String("cause", x.Cause.Error()))
	}
	a.options.Logger.LogAttrs(r.Context(), level, "request", attributes...)
}
