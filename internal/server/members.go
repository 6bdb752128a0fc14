package server

import (
	"slices"

	"example.org/conclave/internal/experts"
	"example.org/conclave/store"
)

// withoutExpert returns a copy of all without e; all is not changed.
func withoutExpert(all []*experts.Expert, e *experts.Expert) []*experts.Expert {
	return slices.DeleteFunc(slices.Clone(all), func(other *experts.Expert) bool { return other == e })
}

// hasExpert reports whether the store has vectors of the named expert.
func hasExpert(c store.Contents, name string) bool {
	return slices.ContainsFunc(c.Experts(), func(f store.Expert) bool { return f.Name == name })
}

// searchedExperts returns the experts that searches use now. The slice must not be changed.
func (s *collection) searchedExperts() []*experts.Expert {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assembly.Experts.Searched // never changed in place
}

// absentNames returns the names of the experts that are left out because their bundles cannot be used.
func (s *collection) absentNames() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.assembly.Absent {
		names = append(names, x.Name)
	}
	return names
}

// LoadMore loads an expert that searches do not use yet. The expert shares vectors and encoders with those of the
// collection, as the store has them now. The caller passes it to startSearching, or closes it with
// Experts.CloseUnused. It fails if the bundle cannot be used.
func (s *collection) LoadMore(name string) (*experts.Expert, error) {
	contents, done := s.assembly.Store.Contents()
	s.assembly.Experts.Hold(contents.Experts())
	done()
	return s.assembly.Experts.LoadMore(name)
}

// startSearching lets searches use a loaded expert, and shows it in /readyz. If they cannot, it returns an error and
// changes nothing.
func (s *collection) startSearching(e *experts.Expert) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.assembly
	opened, absent := a.Experts.Searched, a.Absent
	a.Experts.Searched = append(slices.Clone(opened), e)
	a.Absent = a.AbsentBut(e.Name())
	if err := s.renewLineUp(); err != nil {
		a.Experts.Searched, a.Absent = opened, absent
		return err
	}
	s.tellExpert(e.Name())
	return nil
}

// stopSearching removes an expert from those that searches use and from /readyz, and returns it; nil if it was not
// loaded. Searches under way may use its encoder until awaitEarlierLineUps returns. The caller closes it. After an
// error it is still searched.
func (s *collection) stopSearching(name string) (*experts.Expert, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.assembly
	removed := a.Experts.Named(name)
	if removed != nil && slices.Contains(a.Experts.Silent, removed) {
		a.Experts.Silent = withoutExpert(a.Experts.Silent, removed)
		return removed, nil
	}
	if removed == nil {
		return nil, nil
	}
	opened := a.Experts.Searched
	a.Experts.Searched = withoutExpert(opened, removed)
	if err := s.renewLineUp(); err != nil {
		a.Experts.Searched = opened
		return nil, err
	}
	s.api.Readiness().Remove("expert " + name)
	return removed, nil
}

// removeAbsent removes an expert that is no longer in the collection from the experts that answers and /readyz list
// as missing. It does nothing if the expert is not listed, and logs errors.
func (s *collection) removeAbsent(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.assembly.IsAbsent(name) {
		return
	}
	s.assembly.Absent = s.assembly.AbsentBut(name)
	if err := s.renewLineUp(); err != nil {
		s.log.Error("answers still use an expert that was removed from the collection", "expert", name, "cause", err)
	}
	s.api.Readiness().Remove("expert " + name)
	s.tellWritable()
}

// renewLineUp makes searches use the experts, the settings and the calibration as they are now, and shows these in
// /readyz. It fails if the engine cannot use them; searches then go on as before. s.mu must be held.
func (s *collection) renewLineUp() error {
	if err := s.assembly.Renew(); err != nil {
		return err
	}
	s.tellCalibration()
	s.tellCollection()
	return nil
}

// retainEncoder keeps an expert loaded without searching it: new passages still need its vectors.
func (s *collection) retainEncoder(e *experts.Expert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assembly.Experts.Silent = append(s.assembly.Experts.Silent, e)
}
