package search

import "example.org/conclave/fusion"

// MethodInfo says of a fusion method whether it can answer here.
type MethodInfo struct {
	Name string `json:"name"`
	// Lacks says what keeps it from answering, as a request for it would be refused; "": nothing.
	Lacks string `json:"lacks,omitempty"`
}

// Methods lists the fusion methods, "auto" first.
func (e *Engine) Methods() []MethodInfo {
	names := []string{MethodAuto}
	for _, m := range fusion.Methods() {
		names = append(names, m.Name)
	}
	now := e.current.Load()
	all := make([]MethodInfo, len(names))
	for i, name := range names {
		all[i].Name = name
		if _, err := now.plan(&Request{Question: name, Fusion: Methods{Names: []string{name}}}); err != nil {
			all[i].Lacks = err.Error()
		}
	}
	return all
}
