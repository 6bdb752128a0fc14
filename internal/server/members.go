package server

import (
	"slices"

	"example.org/conclave/store"
)

// named returns the loaded expert of a name, searched or not; nil: there is none.
func (x *Experts) named(name string) *Expert {
	for _, e := range slices.Concat(x.opened, x.silent) {
		if e.name == name {
			return e
		}
	}
	return nil
}

// without returns experts but one.
func without(all []*Expert, e *Expert) []*Expert {
	return slices.DeleteFunc(slices.Clone(all), func(other *Expert) bool { return other == e })
}

func (a *Assembly) isAbsent(name string) bool {
	return slices.ContainsFunc(a.absent, func(x absentExpert) bool { return x.name == name })
}

// hasExpert reports whether there are vectors of an expert.
func hasExpert(c store.Contents, name string) bool {
	return slices.ContainsFunc(c.Experts(), func(f store.Expert) bool { return f.Name == name })
}

// searched returns the experts that are searched.
func (s *Server) searched() []*Expert {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assembly.Experts.opened // never changed in place
}

func (s *Server) absentNames() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.assembly.absent {
		names = append(names, x.name)
	}
	return names
}

// loadMore loads one more expert, of which the caller says what becomes of it, on the owner
// that the collection has for it.
func (s *Server) loadMore(name string) (*Expert, error) {
	contents, done := s.assembly.Store.Contents()
	s.assembly.Experts.stored = contents.Experts()
	s.assembly.Experts.owners = owners(s.assembly.Experts.stored)
	done()
	return s.assembly.Experts.loadMore(name)
}

// join lets searches ask one more expert.
func (s *Server) join(e *Expert) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.assembly
	opened, absent := a.Experts.opened, a.absent
	a.Experts.opened = append(slices.Clone(opened), e)
	a.absent = a.absentBut(e.name)
	if err := s.renew(); err != nil {
		a.Experts.opened, a.absent = opened, absent
		return err
	}
	s.tellExpert(e.name)
	return nil
}

// stopSearching lets no further search ask an expert. It returns the expert, which is nil when
// it was not loaded; its encoder may be in use until drained returns.
func (s *Server) stopSearching(name string) (*Expert, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.assembly
	removed := a.Experts.named(name)
	if removed != nil && slices.Contains(a.Experts.silent, removed) {
		a.Experts.silent = without(a.Experts.silent, removed)
		return removed, nil
	}
	if removed == nil {
		return nil, nil
	}
	opened := a.Experts.opened
	a.Experts.opened = without(opened, removed)
	if err := s.renew(); err != nil {
		a.Experts.opened = opened
		return nil, err
	}
	s.api.Readiness().Remove("expert " + name)
	return removed, nil
}

// forget removes an absent expert, which left the collection, from answers.
func (s *Server) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.assembly.isAbsent(name) {
		return
	}
	s.assembly.absent = s.assembly.absentBut(name)
	if err := s.renew(); err != nil {
		s.log.Error("answers still name an expert that left the collection", "expert", name, "cause", err)
	}
	s.api.Readiness().Remove("expert " + name)
	s.tellWritable()
}

func (a *Assembly) absentBut(name string) []absentExpert {
	return slices.DeleteFunc(slices.Clone(a.absent), func(x absentExpert) bool { return x.name == name })
}

// renew lets searches use the experts and the calibration that are there now. Called
// with mu held.
func (s *Server) renew() error {
	if err := s.assembly.renew(); err != nil {
		return err
	}
	s.tellCalibration()
	return nil
}

// retain takes back an expert whose encoder the collection still needs.
func (s *Server) retain(e *Expert) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.assembly.Experts.silent = append(s.assembly.Experts.silent, e)
}
