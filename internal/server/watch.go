package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/store/folder"
)

// watchEvery is how often a server looks for what other processes changed: the
// collection's calibration and, where it only reads, the manifest.
const watchEvery = time.Second

// watch lets searches see what other processes change.
func (s *Server) watch() error {
	again := time.NewTicker(watchEvery)
	defer again.Stop()
	refused := map[string]string{}
	reported := ""
	for reads := uint64(0); ; {
		reads = s.tellReadsOf(reads)
		select {
		case <-again.C:
		case <-s.running.Done():
			return nil
		}
		if s.live == nil && s.assembly.Collection != nil {
			reported = s.tellReload(reported, s.reload(refused))
		}
		s.recalibrate()
	}
}

// recalibrate lets searches use the collection's calibration when it is another one
// than before. One that cannot be used changes nothing; /readyz says why.
func (s *Server) recalibrate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.assembly.recalibrated() {
		return
	}
	if err := s.renew(); err != nil {
		s.log.Warn("the newest calibration cannot be used", "cause", err)
	} else if s.assembly.Refused() == "" {
		s.log.Info("searches use another calibration")
	}
}

// tellReload states in /readyz how the last look went, and logs what is new of it.
// told is what the last call returned.
func (s *Server) tellReload(reported string, err error) string {
	now := ""
	component := handlers.Component{Name: "collection", Status: handlers.Ready}
	if err != nil {
		now = err.Error()
		component.Warnings = []string{"what was written since cannot be shown: " + now}
	}
	if now != reported {
		s.api.Readiness().Set(component)
		if err != nil {
			s.log.Error("looking for what was written failed, and is tried again; searches see what they saw", "cause", err)
		}
	}
	return now
}

// reload shows searches the newest generation. refused are experts that could not be
// taken in, with their vectors' fingerprints.
func (s *Server) reload(refused map[string]string) error {
	changed, err := s.assembly.Collection.Reload(s.leaveOut)
	if err != nil || !changed {
		return err
	}
	s.takeIn(refused)
	return nil
}

// leaveOut lets no search ask an expert that the next generation does not have, or
// whose vectors are another encoder's by now, before anybody sees it. What is new in
// it is read before, so that no search waits for that.
func (s *Server) leaveOut(next *folder.Generation) error {
	if err := next.VerifyVectors(s.running); err != nil {
		if s.running.Err() != nil {
			return err
		}
		s.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
	}
	for _, name := range s.absentNames() {
		if !hasExpert(next, name) {
			s.forget(name)
		}
	}
	// Experts with a head come first: the encoder of their owner is closed with the last
	// expert that uses it.
	headsFirst := slices.SortedStableFunc(
		slices.Values(s.searched()),
		func(a, b *Expert) int { return strings.Compare(b.Owner(), a.Owner()) },
	)
	for _, e := range headsFirst {
		why := next.CheckEncoders(e)
		if why == nil {
			continue
		}
		removed, err := s.stopSearching(e.name)
		if err != nil {
			return err
		}
		// A search that began before could ask the next generation.
		if err := s.drained(s.running); err != nil {
			return err
		}
		s.log.Warn("an expert left the collection", "expert", e.name, "cause", why)
		if err := s.assembly.Experts.closeUnused(removed); err != nil {
			s.log.Error("closing the encoder of an expert that left", "expert", e.name, "cause", err)
		}
	}
	return nil
}

// takeIn lets searches ask experts that joined the collection.
func (s *Server) takeIn(refused map[string]string) {
	g := s.assembly.Collection.Acquire()
	defer g.Release()
	searched := s.searched()
	for _, x := range g.Experts() {
		if slices.ContainsFunc(searched, func(e *Expert) bool { return e.name == x.Name }) ||
			len(s.config.Experts) > 0 && !s.named(x.Name) || refused[x.Name] == x.Fingerprint {
			continue
		}
		if err := s.takeInOne(g, x.Name); err != nil {
			refused[x.Name] = x.Fingerprint
			s.log.Warn("an expert that joined the collection cannot be searched", "expert", x.Name, "cause", err)
		}
	}
}

func (s *Server) takeInOne(g *folder.Generation, name string) error {
	e, err := s.loadMore(name)
	if err != nil {
		return err
	}
	err = g.CheckEncoders(e)
	if err == nil {
		err = g.CheckRecall(Floors(s.config.Index))
	}
	if err == nil {
		err = s.join(e)
	}
	if err != nil {
		if closing := s.assembly.Experts.closeUnused(e); closing != nil {
			err = fmt.Errorf("%w; closing its encoder: %w", err, closing)
		}
	}
	return err
}
