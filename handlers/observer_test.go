package handlers

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search/reply"
)

// TestSlowSearches: a search that took longer than the operator wants is logged with its
// stages and without its question.
func TestSlowSearches(t *testing.T) {
	var log bytes.Buffer
	o := Observer{Metrics: NewMetrics(), Logger: slog.New(slog.NewJSONHandler(&log, nil)), Slow: 100 * time.Millisecond}
	answer := reply.Response{
		Question: "secret",
		Fusion:   "gate",
		TookMS:   99.9,
		Sources:  []reply.Source{{Name: "base", Took: reply.Took{Encode: 70.5}}},
	}
	o.Answer(t.Context(), answer)
	if log.Len() > 0 {
		t.Errorf("99.9 ms are slow: %s", log.String())
	}
	answer.TookMS = 100
	o.Answer(t.Context(), answer)
	for _, want := range []string{`"level":"WARN"`, `"msg":"slow search"`, `"took_ms":100`, `encode-base;dur=70.500`, `"fusion":"gate"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Error(log.String())
	}
	log.Reset()
	o.Slow = 0
	o.Answer(t.Context(), answer)
	if log.Len() > 0 {
		t.Errorf("nothing is asked for: %s", log.String())
	}
}
