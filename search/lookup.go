package search

import (
	"fmt"

	"conclave/corpus"
)

// Experts describes the loaded experts, in the order of the configuration, and
// after them late interaction.
func (e *Engine) Experts() []ExpertInfo {
	infos := make([]ExpertInfo, len(e.experts))
	for i := range e.experts {
		infos[i] = e.experts[i].Info
	}
	if e.late != nil {
		infos = append(infos, e.late.Info)
	}
	return infos
}

// Expert describes one expert; an unknown name is an *Error of kind NotFound.
func (e *Engine) Expert(name string) (ExpertInfo, error) {
	if e.late != nil && name == e.late.Name {
		return e.late.Info, nil
	}
	i, ok := e.byName[name]
	if !ok {
		return ExpertInfo{}, e.noExpert(name)
	}
	return e.experts[i].Info, nil
}

func (e *Engine) noExpert(name string) error {
	return &Error{Kind: NotFound, Code: "expert_not_found", Detail: fmt.Sprintf("there is no expert %s: %s", quote(name), e.knownExperts())}
}

// Limits returns the limits in force.
func (e *Engine) Limits() Limits { return e.limits }

// Defaults returns what a request gets that does not say otherwise.
func (e *Engine) Defaults() Defaults { return e.defaults }

// Generation is the number of the newest generation, and how many passages it
// has.
func (e *Engine) Generation() (number uint64, passages int) {
	view := e.pin()
	defer view.letGo()
	return view.Generation(), view.Passages().Len()
}

// Passage returns a passage and its version; an unknown id is an *Error of
// kind NotFound.
func (e *Engine) Passage(id string) (corpus.Passage, string, error) {
	if err := e.begin(); err != nil {
		return corpus.Passage{}, "", err
	}
	defer e.running.Done()
	view := e.pin()
	defer view.letGo()
	var passage corpus.Passage
	var ok bool
	err := guard(func() error {
		ordinal, found, err := view.Passages().Ordinal(id)
		if ok = found; err == nil && found {
			passage, err = view.Passages().Passage(ordinal)
		}
		return err
	})
	if err == nil && !ok {
		return corpus.Passage{}, "", &Error{Kind: NotFound, Code: "unknown_passage", Detail: fmt.Sprintf("there is no passage %s", quote(id))}
	}
	if err != nil {
		return corpus.Passage{}, "", &Error{Kind: Unavailable, Code: "unavailable",
			Detail: fmt.Sprintf("passage %s could not be read; the server's log says why", quote(id)), Err: fmt.Errorf("reading passage %s: %w", quote(id), err)}
	}
	return passage, passage.Version(), nil
}
