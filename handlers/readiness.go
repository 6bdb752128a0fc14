package handlers

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"example.org/conclave/handlers/schema"
)

// absolutePath matches a path from the root in a text. It needs two elements or more, so that "and/or" does not match.
var absolutePath = regexp.MustCompile(
	`(^|[^\w/.:])((?:[A-Za-z]:)?(?:[/\\][^\s/\\"'` + "`" + `:;,()\[\]{}<>|]+){2,}[/\\]?)`,
)

// WithoutPaths returns the text of an error with each absolute path cut to its last element, for callers who may not
// know where files are on this machine.
func WithoutPaths(text string) string {
	return absolutePath.ReplaceAllStringFunc(text, func(found string) string {
		parts := absolutePath.FindStringSubmatch(found)
		return parts[1] + path.Base(strings.ReplaceAll(parts[2], `\`, "/"))
	})
}

// The states of a component.
const (
	Starting = "starting"
	Ready    = "ready"
	Failed   = "failed"
)

// Readiness holds the state of each part of a server. It is safe for concurrent use. The zero value has no parts.
type Readiness struct {
	mu       sync.Mutex
	parts    []schema.Component
	draining bool
}

// Set adds or replaces a component's state.
//
// /readyz needs no key, so paths of the machine are cut to their last element; the log has them whole.
func (r *Readiness) Set(c schema.Component) {
	c.Detail = WithoutPaths(c.Detail)
	c.Warnings = slices.Clone(c.Warnings)
	for i := range c.Warnings {
		c.Warnings[i] = WithoutPaths(c.Warnings[i])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.parts {
		if r.parts[i].Name == c.Name {
			r.parts[i] = c
			return
		}
	}
	r.parts = append(r.parts, c)
}

// Remove deletes a component.
func (r *Readiness) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts = slices.DeleteFunc(r.parts, func(c schema.Component) bool { return c.Name == name })
}

// Drain makes the server report "draining" from now on: it is shutting down.
func (r *Readiness) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// report returns the overall status ("ready", "starting", "failed" or "draining") and a copy of the components' states.
func (r *Readiness) report() (status string, parts []schema.Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	status = Ready
	for _, c := range r.parts {
		switch {
		case c.Status == Failed:
			status = Failed
		case c.Status != Ready && status == Ready:
			status = Starting
		}
	}
	if r.draining {
		status = "draining"
	}
	return status, slices.Clone(r.parts)
}
