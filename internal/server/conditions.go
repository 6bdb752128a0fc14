package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/store"
)

const (
	// conditionsEvery is how often the store of several collections is asked how it is, and conditionsTime how long it
	// has to say so.
	conditionsEvery = 5 * time.Second
	conditionsTime  = 10 * time.Second
)

// watchStore shows the condition of the store and of all its collections, closed ones too, in /readyz, at once and
// then every conditionsEvery, until ctx is done. It blocks.
func (r *registry) watchStore(ctx context.Context) {
	again := time.NewTicker(conditionsEvery)
	defer again.Stop()
	shown := map[string]string{} // components in /readyz, as text
	for {
		asking, cancel := context.WithTimeout(ctx, conditionsTime)
		whole, byName := r.catalogue.Conditions(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		r.showComponents(conditionsShown(whole, byName, r.hidesNames()), shown)
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// showComponents shows components in /readyz and logs those that changed. It removes those shown before that are not
// among them. shown maps the name of each component shown before to its text; showComponents updates it.
func (r *registry) showComponents(components []schema.Component, shown map[string]string) {
	now := map[string]bool{}
	for _, c := range components {
		now[c.Name] = true
		text := fmt.Sprint(c.Status, c.Detail, c.Warnings)
		if shown[c.Name] == text {
			continue
		}
		r.readiness.Set(c)
		switch {
		case c.Status == handlers.Failed:
			r.log.Error("the "+c.Name+" cannot be searched", "cause", c.Detail)
		case len(c.Warnings) > 0:
			r.log.Warn("the "+c.Name, "warnings", c.Warnings)
		case shown[c.Name] != "":
			r.log.Info("the " + c.Name + " is whole")
		}
		shown[c.Name] = text
	}
	for name := range shown {
		if !now[name] {
			r.readiness.Remove(name)
			r.log.Info("the " + name + " is whole")
			delete(shown, name)
		}
	}
}

// conditionsShown returns the components of /readyz for a store and its collections, given by name: one for the
// store, which has failed if no collection can be searched, and one with warnings for each collection that has any,
// in the order of names. If apart is set, it leaves out the collections, whose names others must not see, and says
// how many have warnings. It returns nil if the store has no condition (whole.Of is "").
func conditionsShown(whole store.Condition, byName map[string]store.Condition, apart bool) []schema.Component {
	if whole.Of == "" {
		return nil
	}
	all := schema.Component{Name: whole.Of, Status: handlers.Ready, Warnings: whole.Warnings}
	var names []string
	failed := 0
	why := ""
	for name, c := range byName {
		if c.Failed != "" {
			failed++
			why = c.Failed
		}
		if c.Failed != "" || len(c.Warnings) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case whole.Failed != "":
		all.Status = handlers.Failed
		all.Detail = whole.Failed
	case failed > 0 && failed == len(byName):
		all.Status = handlers.Failed
		all.Detail = fmt.Sprintf("none of the %d collections can be searched; one of them: %s", failed, why)
	}
	if apart && len(names) > 0 {
		all.Warnings = append(slices.Clone(all.Warnings), fmt.Sprintf(
			"%d collections are not whole: GET /v1/collections/NAME/readyz tells a key of its own", len(names)))
	}
	out := []schema.Component{all}
	for _, name := range names {
		if apart {
			break
		}
		warnings := slices.Clone(byName[name].Warnings)
		if byName[name].Failed != "" {
			warnings = append([]string{"cannot be searched: " + byName[name].Failed}, warnings...)
		}
		out = append(out, schema.Component{
			Name: whole.Of + " of " + name, Status: handlers.Ready, Warnings: warnings,
		})
	}
	return out
}
