package search

import (
	"testing"

	"example.org/conclave/fusion"
)

// TestMethods: a method lacks what a search by it is refused for, and nothing where it answers.
func TestMethods(t *testing.T) {
	s := newStage("AB", 60)
	s.config.LineUp.Defaults.Gate = nil
	e := s.engine(t)
	all := e.Methods()
	if len(all) != len(fusion.Methods())+1 || all[0].Name != MethodAuto {
		t.Fatalf("%+v", all)
	}
	lacking := map[string]bool{}
	for _, m := range all {
		_, err := e.Search(t.Context(), Caller{}, Request{Question: "bees", Fusion: Methods{Names: []string{m.Name}}})
		if (err == nil) != (m.Lacks == "") || err != nil && err.Error() != m.Lacks {
			t.Errorf("%+v, and a search: %v", m, err)
		}
		lacking[m.Name] = m.Lacks != ""
	}
	if !lacking[fusion.MethodGate] || lacking[fusion.MethodRRF] {
		t.Errorf("%v", lacking)
	}
}
