package handlers

import (
	"errors"
	"fmt"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
)

// Health is the answer of /livez, /readyz and /startupz when all is well.
type Health struct {
	Status     string             `json:"status"`
	Generation *uint64            `json:"generation,omitempty"`
	Passages   *int               `json:"passages,omitempty"`
	Components []schema.Component `json:"components,omitempty"`
	Backlog    *Backlog           `json:"backlog,omitempty"`
	Warnings   []string           `json:"warnings,omitempty"`
}

// Backlog describes the writes that searches do not see yet.
type Backlog struct {
	Changes  int   `json:"changes"`
	OldestMS int64 `json:"oldest_ms"`
	LogBytes int64 `json:"log_bytes"`
	Segments int   `json:"segments"`
}

// backlogOf returns the backlog as JSON answers have it.
func backlogOf(b store.Backlog) *Backlog {
	return &Backlog{Changes: b.Changes, OldestMS: b.Oldest.Milliseconds(), LogBytes: b.LogBytes, Segments: b.Segments}
}

// getLive answers GET /livez: always "ok", since the process runs and serves. It never fails.
func (a *API) getLive(*call, none) (Health, error) { return Health{Status: "ok"}, nil }

// getStarted answers GET /startupz: "ok" once the server has been able to answer questions, and the problem of
// CheckStarted before.
func (a *API) getStarted(c *call, _ none) (Health, error) {
	return Health{Status: "ok"}, a.CheckStarted()
}

// CheckStarted returns nil once the server has been able to answer questions, and a problem before.
func (a *API) CheckStarted() error {
	if a.options.Collections != nil && a.started.Load() {
		return nil
	}
	_, err := a.loadedEngine()
	return err
}

// MarkStarted records that a server of several collections is ready to open them (getStarted).
func (a *API) MarkStarted() { a.started.Store(true) }

// getReady answers GET /readyz: status "ready" if every component works, else a "not_ready" problem that lists the
// components: while the server starts, shuts down, or a component has failed. Warnings do not make it unready.
func (a *API) getReady(c *call, _ none) (health Health, err error) {
	return a.healthOf(a.options.Readiness, a.gate.HasBoundKeys()) // /readyz needs no key, so it tells no counts then
}

// getCollectionReady answers GET /v1/readyz, and the same of a collection by its name, which it opens. The answer is
// that of getReady, with the numbers of passages and changes. It returns a problem if the collection does not exist or
// cannot be opened.
func (a *API) getCollectionReady(c *call, _ none) (health Health, err error) {
	return a.healthOf(a.Readiness(), false)
}

// healthOf returns the health of the components of r, or a "not_ready" problem if one does not work. If apart, it
// leaves out the generation and the numbers of passages and changes.
func (a *API) healthOf(r *Readiness, apart bool) (health Health, err error) {
	status, parts := r.report()
	if status == Ready && a.CheckStarted() != nil {
		status = Starting
	}
	if status != Ready {
		detail := map[string]string{
			Starting:   "Models and index are still being loaded.",
			Failed:     "A component does not work.",
			"draining": "The server is shutting down.",
		}[status]
		p := schema.NewProblem("not_ready", detail)
		for _, c := range parts {
			if c.Status != Ready {
				p.Detail += fmt.Sprintf(" %s: %s.", c.Name, c.Status)
			}
		}
		p.Components = parts
		return health, p
	}
	health = Health{Status: Ready, Components: parts}
	if engine, err := a.loadedEngine(); err == nil && !apart {
		generation, passages := engine.Generation()
		health.Generation, health.Passages = &generation, &passages
	}
	if writer := a.writing.Load(); writer != nil {
		b := writer.Backlog()
		if !apart {
			health.Backlog = backlogOf(b)
		}
		switch {
		case errors.Is(b.Trouble, store.ErrOtherWriter):
			health.Warnings = append(
				health.Warnings,
				"nothing can be written: another writer changed the collection; end all writers but one, and restart it",
			)
		case errors.Is(b.Trouble, store.ErrUnsettled):
			health.Warnings = append(
				health.Warnings,
				"nothing can be written at the moment: the disk does not say whether what was indexed last would survive a power cut; the server goes on trying, and its log says why",
			)
		case b.Trouble != nil:
			health.Warnings = append(
				health.Warnings,
				"changes cannot be logged, indexed or merged at the moment; the server goes on trying, and its log says why",
			)
		}
	}
	for _, c := range parts {
		for _, warning := range c.Warnings {
			health.Warnings = append(health.Warnings, c.Name+": "+warning)
		}
	}
	return health, nil
}

// getMetrics answers GET /metrics with the metrics that the call's key may see. The error is always nil.
func (a *API) getMetrics(c *call) error {
	a.options.Metrics.handler(front.ExchangeOf(c.r.Context()).Key).ServeHTTP(c.w, c.r)
	return nil
}
