package handlers

import (
	"context"
	"log/slog"
	"time"

	"example.org/conclave/handlers/front"
	"example.org/conclave/search/reply"

	"go.opentelemetry.io/otel/trace"
)

// Observer is the engine's search.Observer. It counts stages in the metrics, and logs the cause of each source that
// failed with the request's id. Sources that were only slow or overloaded are not logged: under load there are many.
type Observer struct {
	Metrics *Metrics
	Logger  *slog.Logger // nil: no log
	// Slow is how long a search takes that is logged with its stages; 0: none is.
	Slow time.Duration
	// Tracer gets a span for each stage; nil: none.
	Tracer trace.Tracer
}

// Stage adds the time of a stage of a search to the histogram conclave_stage_seconds and, with a Tracer, to the trace
// as a span. It implements search.Observer.
func (o Observer) Stage(ctx context.Context, source, stage string, took time.Duration) {
	if o.Tracer != nil {
		traceStage(ctx, o.Tracer, source, stage, took)
	}
	o.Metrics.stages.WithLabelValues(source, stage).Observe(took.Seconds())
}

// Answer counts an answer as complete, degraded or abstained, records its confidence, and logs a search that took at
// least Slow with the times of its stages. It implements search.Observer.
func (o Observer) Answer(ctx context.Context, answer reply.Response) {
	outcome := "complete"
	switch {
	case len(answer.Degraded) > 0:
		outcome = "degraded"
	case answer.Abstained:
		outcome = "abstained"
	}
	o.Metrics.answers.WithLabelValues(outcome).Inc()
	if answer.Confidence != nil {
		o.Metrics.confidences.Observe(*answer.Confidence)
	}
	if o.Logger == nil || o.Slow == 0 || answer.TookMS < float64(o.Slow.Milliseconds()) {
		return
	}
	// Without its question: the request's line has that, where it is wanted.
	o.Logger.LogAttrs(
		ctx, slog.LevelWarn, "slow search", slog.String("request_id", front.ExchangeOf(ctx).RequestID),
		slog.Float64("took_ms", answer.TookMS), slog.String("fusion", answer.Fusion),
		slog.String("stages", serverTiming(answer)), slog.Any("degraded", answer.Degraded),
	)
}

// Source counts how a source of a search fared, and logs the cause if its status is "failed". It implements
// search.Observer.
func (o Observer) Source(ctx context.Context, source, status string, cause error) {
	o.Metrics.sources.WithLabelValues(source, status).Inc()
	if o.Logger == nil || cause == nil || status != "failed" {
		return
	}
	o.Logger.LogAttrs(ctx, slog.LevelWarn, "source failed", slog.String("request_id", front.ExchangeOf(ctx).RequestID),
		slog.String("source", source), slog.String("cause", cause.Error()))
}
