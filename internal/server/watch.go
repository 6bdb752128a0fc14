package server

import (
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/experts"
	"example.org/conclave/store"
)

// watcher is told by the store of changes that other processes made, lets searches see them, and shows the store's
// condition in /readyz.
type watcher struct{ *collection }

// Recalibrated lets searches use the new calibration and settings (store.Watcher).
func (w watcher) Recalibrated() { w.useNewCalibration() }

// ReadsPassages shows how the experts read the passages in /readyz (store.Watcher).
func (w watcher) ReadsPassages(r store.Reads) { w.tellReads(r) }

// Comes takes experts that are not in next out of the searches, before searches see next, which another process
// published (store.Watcher). After an error next must not be used: searches keep what they see.
func (w watcher) Comes(next store.Contents) error { return w.leaveOut(next) }

// Came adds experts that joined the collection to the searches, when searches see now, which another process
// published (store.Watcher). Failures are logged.
func (w watcher) Came(now store.Contents) { w.takeIn(now) }

// Is shows the store's condition in /readyz, and logs it, if it has changed. It notes whether the store has lost the
// collection (store.Watcher).
func (w watcher) Is(c store.Condition) {
	w.left.Store(c.Gone)
	component := schema.Component{Name: c.Of, Status: handlers.Ready, Warnings: c.Warnings}
	if c.Failed != "" {
		component.Status = handlers.Failed
		component.Detail = c.Failed
	}
	now := fmt.Sprint(component.Status, component.Detail, component.Warnings)
	if now == w.condition {
		return
	}
	w.api.Readiness().Set(component)
	switch {
	case c.Failed != "":
		w.log.Error("the "+c.Of+" cannot be searched", "cause", c.Failed)
	case c.Err != nil:
		w.log.Error("looking for what was written failed, and is tried again; searches see what they saw", "cause", c.Err)
	case len(c.Warnings) > 0:
		w.log.Warn("the "+c.Of, "warnings", c.Warnings)
	case w.condition != "":
		w.log.Info("the " + c.Of + " is whole")
	}
	w.condition = now
}

// useNewCalibration lets searches use the collection's newest calibration and settings. If these cannot be used,
// searches go on with those before; the log or /readyz says why.
func (s *collection) useNewCalibration() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.renewLineUp(); err != nil {
		s.log.Warn("the newest calibration cannot be used", "cause", err)
	} else if s.assembly.Refused() == "" {
		s.log.Info("searches use another calibration")
	}
}

// leaveOut stops searching the experts that the next generation does not have, or whose vectors another encoder made,
// before searches see that generation, and waits for searches under way. It verifies the new vectors first, so that
// no search waits for that; damaged ones are logged. It returns an error if such an expert cannot be removed: the
// generation must not be used then.
func (s *collection) leaveOut(next store.Contents) error {
	if err := next.VerifyVectors(s.running); err != nil {
		if s.running.Err() != nil {
			return err
		}
		s.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
	}
	for _, name := range s.absentNames() {
		if !hasExpert(next, name) {
			s.removeAbsent(name)
		}
	}
	// Experts with a head come first: the encoder of their owner is closed with the last
	// expert that uses it.
	headsFirst := slices.SortedStableFunc(
		slices.Values(s.searchedExperts()),
		func(a, b *experts.Expert) int { return strings.Compare(b.Owner(), a.Owner()) },
	)
	for _, e := range headsFirst {
		why := next.CheckEncoders(e)
		if why == nil {
			continue
		}
		removed, err := s.stopSearching(e.Name())
		if err != nil {
			return err
		}
		// A search that began before could ask the next generation.
		if err := s.awaitEarlierLineUps(s.running); err != nil {
			return err
		}
		s.log.Warn("an expert left the collection", "expert", e.Name(), "cause", why)
		if err := s.assembly.Experts.CloseUnused(removed); err != nil {
			s.log.Error("closing the encoder of an expert that left", "expert", e.Name(), "cause", err)
		}
	}
	return nil
}

// takeIn starts searching the experts of the collection that are configured and not searched yet. One that cannot be
// searched is logged and not tried again until its fingerprint changes.
func (s *collection) takeIn(now store.Contents) {
	searched := s.searchedExperts()
	for _, x := range now.Experts() {
		if slices.ContainsFunc(searched, func(e *experts.Expert) bool { return e.Name() == x.Name }) ||
			!s.config.Searches(x.Name) || s.refused[x.Name] == x.Fingerprint {
			continue
		}
		if err := s.takeInOne(now, x.Name); err != nil {
			s.refused[x.Name] = x.Fingerprint
			s.log.Warn("an expert that joined the collection cannot be searched", "expert", x.Name, "cause", err)
		}
	}
}

// takeInOne loads an expert that joined the collection and starts searching it. It fails, and closes the expert again,
// if its encoder is not the one of the stored vectors, an index is below its recall floor, or searches cannot use it.
func (s *collection) takeInOne(now store.Contents, name string) error {
	e, err := s.LoadMore(name)
	if err != nil {
		return err
	}
	err = now.CheckEncoders(e)
	if err == nil {
		err = now.CheckRecall(assembly.Floors(s.config.Index))
	}
	if err == nil {
		err = s.startSearching(e)
	}
	if err != nil {
		if closing := s.assembly.Experts.CloseUnused(e); closing != nil {
			err = fmt.Errorf("%w; closing its encoder: %w", err, closing)
		}
	}
	return err
}
