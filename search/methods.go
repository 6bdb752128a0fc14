package search

import "example.org/conclave/fusion"

// MethodInfo says whether a fusion method can answer with the current line-up.
type MethodInfo struct {
	Name string `json:"name"`
	// Lacks is the error of a request for the method; "": it can answer.
	Lacks string `json:"lacks,omitempty"`
}

// Methods returns all fusion methods, "auto" first, and whether each can answer with the current line-up.
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
