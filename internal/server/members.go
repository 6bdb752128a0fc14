package server

import (
	"slices"

	"example.org/conclave/internal/experts"
	"example.org/conclave/store"
)

// withoutExpert returns experts but one.
func withoutExpert(all []*experts.Expert, e *experts.Expert) []*experts.Expert {
	return slices.DeleteFunc(slices.Clone(all), func(other *experts.Expert) bool { return other == e })
}

// hasExpert reports whether there are vectors of an expert.
func hasExpert(c store.Contents, name string) bool {
	return slices.ContainsFunc(c.Experts(), func(f store.Expert) bool { return f.Name == name })
}

// searchedExperts returns the experts that are searched.
func (s *collection) searchedExperts() []*experts.Expert {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assembly.Experts.Searched // never changed in place
}

func (s *collection) absentNames() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.assembly.Absent {
		names = append(names, x.Name)
	}
	return names
}

// LoadMore loads one more expert, of which the caller says what becomes of it, on the owner
// that the collection has for it.
func (s *collection) LoadMore(name string) (*experts.Expert, error) {
	contents, done := s.assembly.Store.Contents()
	s.assembly.Experts.Hold(contents.Experts())
	done()
	return s.assembly.Experts.LoadMore(name)
}

// startSearching lets searches ask one more expert.
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

// stopSearching lets no further search ask an expert. It returns the expert, which is nil when
// it was not loaded; its encoder may be in use until drained returns.
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

// removeAbsent removes an absent expert, which left the collection, from answers.
func (s *collection) removeAbsent(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.assembly.IsAbsent(name) {
		return
	}
	s.assembly.Absent = s.assembly.AbsentBut(name)
	if err := s.renewLineUp(); err != nil {
		s.log.Error("answers still name an expert that left the collection", "expert", name, "cause", err)
	}
	s.api.Readiness().Remove("expert " + name)
	s.tellWritable()
}

// renewLineUp lets searches use the experts and the calibration that are there now. Called
// with mu held.
func (s *collection) renewLineUp() error {
	if err := s.assembly.Renew(); err != nil {
		return err
	}
	s.tellCalibration()
	s.tellCollection()
	return nil
}

// retainEncoder takes back an expert whose encoder the collection still needs.
func (s *collection) retainEncoder(e *experts.Expert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assembly.Experts.Silent = append(s.assembly.Experts.Silent, e)
}
