package handlers

import (
	"context"
	"log/slog"
	"time"
)

// Observer is the engine's search.Observer: stages go to the metrics, and the
// cause of a source that failed goes to the log, beside the request's id. A
// source that was only slow or full is for the metrics alone; under load there
// are many.
type Observer struct {
	Metrics *Metrics
	Logger  *slog.Logger // nil: no log
}

// Stage implements search.Observer.
func (o Observer) Stage(_ context.Context, source, stage string, took time.Duration) {
	o.Metrics.stages.WithLabelValues(source, stage).Observe(took.Seconds())
}

// Source implements search.Observer.
func (o Observer) Source(ctx context.Context, source, status string, cause error) {
	o.Metrics.sources.WithLabelValues(source, status).Inc()
	if o.Logger == nil || cause == nil || status != "failed" {
		return
	}
	o.Logger.LogAttrs(ctx, slog.LevelWarn, "source failed", slog.String("request_id", exchangeOf(ctx).requestID),
		slog.String("source", source), slog.String("cause", cause.Error()))
}
